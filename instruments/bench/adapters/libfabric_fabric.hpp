// SPDX-License-Identifier: BSD-3-Clause
// Which provider of libfabric is used, and what it was asked for.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>

#include <stdexcept>
#include <string>

#include "libfabric_endpoint.hpp"

namespace bench {

// A provider with endpoints of type FI_EP_RDM for writes, the one that FI_PROVIDER names.
class Fabric {
 public:
  // `threading` is what is asked for. Writes are kept in order by the provider if one has that.
  explicit Fabric(fi_threading threading) {
    info_ = find(threading, FI_ORDER_WAW);
    if (info_ == nullptr) info_ = find(threading, FI_ORDER_NONE);
    if (info_ == nullptr) throw std::runtime_error("fi_getinfo: no provider with FI_EP_RDM and FI_RMA");
    check(fi_fabric(info_->fabric_attr, &fabric_, nullptr), "fi_fabric");
  }
  ~Fabric() {
    fi_close(&fabric_->fid);
    fi_freeinfo(info_);
  }
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  [[nodiscard]] fid_fabric* fabric() const { return fabric_; }
  [[nodiscard]] fi_info* info() const { return info_; }
  [[nodiscard]] bool ordered() const { return ordered_; }
  [[nodiscard]] static std::string version() {
    return "libfabric " + std::to_string(FI_MAJOR(fi_version())) + "." +
           std::to_string(FI_MINOR(fi_version()));
  }
  [[nodiscard]] std::string provider() const {
    return std::string("provider ") + info_->fabric_attr->prov_name;
  }

 private:
  fi_info* find(fi_threading threading, uint64_t order) {
    fi_info* hints = fi_allocinfo();
    fi_info* found = nullptr;
    hints->ep_attr->type = FI_EP_RDM;
    hints->caps = FI_RMA;
    hints->tx_attr->msg_order = hints->rx_attr->msg_order = order;
    ordered_ = order != FI_ORDER_NONE;
    hints->tx_attr->op_flags = ordered_ ? FI_COMPLETION : FI_COMPLETION | FI_DELIVERY_COMPLETE;
    hints->domain_attr->threading = threading;
    hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_PROV_KEY | FI_MR_ALLOCATED;
    const int result = fi_getinfo(FI_VERSION(1, 11), nullptr, nullptr, 0, hints, &found);
    fi_freeinfo(hints);
    return result == 0 ? found : nullptr;
  }

  bool ordered_ = false;
  fi_info* info_ = nullptr;
  fid_fabric* fabric_ = nullptr;
};

}  // namespace bench
