// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/ofi/provider.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "conduit/ofi/address.hpp"
#include "util/settings.hpp"
#include "util/status.hpp"

namespace ompl::conduit::ofi {
namespace {

constexpr uint32_t kApi = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);
constexpr std::size_t kCqData = sizeof(uint64_t);  // flag and source rank, see wire.hpp

// Without `demands` anything the provider has: to tell "absent" from "unsuitable".
Info make_hints(const Library& library, const std::string& provider, bool demands) {
  Info hints = library.copy(nullptr);
  hints->fabric_attr->prov_name = strdup(provider.c_str());  // fi_freeinfo() frees it
  if (!demands) {
    hints->domain_attr->mr_mode = ~3;  // every mode bit, neither FI_MR_BASIC nor FI_MR_SCALABLE
    hints->mode = ~uint64_t{0};
    return hints;
  }
  hints->caps = FI_MSG | FI_RMA;
  hints->ep_attr->type = FI_EP_MSG;
  hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
  hints->tx_attr->msg_order = FI_ORDER_WAW | FI_ORDER_SAW;
  hints->rx_attr->msg_order = FI_ORDER_WAW | FI_ORDER_SAW;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->domain_attr->cq_data_size = kCqData;
  hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_PROV_KEY;
  return hints;
}

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    return (ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >> 24) ==
           IN_LOOPBACKNET;
  }
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

// How well an entry suits: 0 not at all. IPv4 before IPv6, loopback last and never chosen unasked when
// there is another. Link-local addresses need an interface number at the other side: no.
int suitability(const fi_info& info, const std::string& wanted) {
  const auto* address = static_cast<const sockaddr*>(info.src_addr);
  if (address == nullptr || (address->sa_family != AF_INET && address->sa_family != AF_INET6)) return 0;
  const bool v6 = address->sa_family == AF_INET6;
  if (v6 && IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr)) return 0;
  const char* interface = info.domain_attr->name;
  if (!wanted.empty() && wanted != ip_text(address) && (interface == nullptr || wanted != interface))
    return 0;
  return (is_loopback(address) ? 1 : 3) + (v6 ? 0 : 1);
}

const fi_info* best(const fi_info* list, const std::string& interface) {
  const fi_info* found = nullptr;
  int found_suitability = 0;
  for (const fi_info* info = list; info != nullptr; info = info->next) {
    const int value = suitability(*info, interface);
    if (value > found_suitability) {
      found = info;
      found_suitability = value;
    }
  }
  return found;
}

// Null and a reason if the provider cannot be used.
Info query(const Library& library, const std::string& provider, const std::string& interface,
           std::string* reason) {
  const Info hints = make_hints(library, provider, true);
  fi_info* list = nullptr;
  const int result = library.getinfo(kApi, nullptr, nullptr, 0, hints.get(), &list);
  const Info owner = library.own(list);
  if (result == 0) {
    const fi_info* info = best(list, interface);
    if (info != nullptr && info->ep_attr->max_order_waw_size > 0) return library.copy(info);
    *reason = info != nullptr     ? "orders no writes"
              : interface.empty() ? "has no IP interface"
                                  : fmt::format("has no interface or address \"{}\"", interface);
    return library.own(nullptr);
  }
  fi_info* anything = nullptr;
  const Info loose = make_hints(library, provider, false);
  const bool present = library.getinfo(kApi, nullptr, nullptr, 0, loose.get(), &anything) == 0;
  library.own(anything).reset();
  *reason = present
                ? "has no connected endpoints that order writes, carry 8 bytes of CQ data and need no "
                  "registration of local memory"
                : "is not in this libfabric, or finds no device";
  return library.own(nullptr);
}

}  // namespace

int choose_provider(const Library& library, const Settings& settings, Info* out) {
  std::vector<std::string> candidates{"tcp", "net"};  // why this order: README.md
  if (!settings.ofi_provider.empty()) candidates = {settings.ofi_provider};
  std::string reasons;
  for (const std::string& provider : candidates) {
    std::string reason;
    if (provider.find(';') != std::string::npos) {
      reason = "is layered: it would reconnect in secret after a broken connection";
    } else {
      *out = query(library, provider, settings.ofi_interface, &reason);
      if (*out != nullptr) return OMPL_OK;
    }
    reasons += fmt::format("{}{} {}", reasons.empty() ? "" : "; ", provider, reason);
  }
  const uint32_t version = library.version();
  return fail(OMPL_ERR_UNSUPPORTED, "no provider of libfabric {}.{} can be used: {}", FI_MAJOR(version),
              FI_MINOR(version), reasons);
}

}  // namespace ompl::conduit::ofi
