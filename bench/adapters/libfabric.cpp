// SPDX-License-Identifier: BSD-3-Clause
// Adapter of libfabric: put + flag is fi_write of the data and fi_inject_write of the flag, which the target reads in its
// own memory while it drives progress. Where the provider does not keep writes in order (FI_ORDER_WAW) the flag waits for
// FI_DELIVERY_COMPLETE. Each thread has a domain and an endpoint of its own (FI_THREAD_DOMAIN: no locks); with OMNI_SHARED
// set all use one endpoint that libfabric locks (FI_THREAD_SAFE). FI_PROVIDER chooses the provider.
#include <rdma/fabric.h>

#include <vector>

#include "adapters/libfabric_endpoint.hpp"
#include "harness/window.hpp"
#include "harness/worker.hpp"

namespace {

using bench::check;

class Libfabric {
 public:
  Libfabric(const bench::Setup& setup, int /*argc*/, char** /*argv*/)
      : rank_(bench::launched_rank()),
        shared_(std::getenv("OMNI_SHARED") != nullptr),
        window_(setup),
        memory_(static_cast<std::byte*>(std::aligned_alloc(bench::kPage, window_.size()))),
        lines_(shared_ ? 1 : static_cast<std::size_t>(setup.threads)) {
    const bench::Meeting meeting(setup.control + ".meet", rank_);
    window_.place(memory_);
    info_ = find(FI_ORDER_WAW);
    if (info_ == nullptr) info_ = find(FI_ORDER_NONE);
    if (info_ == nullptr) throw std::runtime_error("fi_getinfo: no provider with FI_EP_RDM and FI_RMA");
    check(fi_fabric(info_->fabric_attr, &fabric_, nullptr), "fi_fabric");
    for (std::size_t i = 0; i < lines_.size(); ++i)
      lines_[i].open(fabric_, info_, memory_, window_.size(), 42 + i, meeting);
    (void)meeting.exchange(rank_);
  }
  ~Libfabric() {
    lines_.clear();
    fi_close(&fabric_->fid);
    fi_freeinfo(info_);
    std::free(memory_);
  }
  Libfabric(const Libfabric&) = delete;
  Libfabric& operator=(const Libfabric&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] bench::Description describe() const {
    const auto threading = info_->domain_attr->threading;
    return {"libfabric " + std::to_string(FI_MAJOR(fi_version())) + "." +
                std::to_string(FI_MINOR(fi_version())),
            std::string("provider ") + info_->fabric_attr->prov_name,
            static_cast<int>(lines_.size()),
            {{"thread level asked", shared_ ? "FI_THREAD_SAFE" : "FI_THREAD_DOMAIN"},
             {"thread level granted", fi_tostr(&threading, FI_TYPE_THREADING)},
             {"order of writes",
              ordered_ ? "kept by the provider" : "the flag waits for FI_DELIVERY_COMPLETE"}}};
  }

  [[nodiscard]] std::byte* source(int i) const { return window_.source(i); }
  [[nodiscard]] std::byte* target(int i) const { return window_.target(i); }
  void put(int i, std::size_t offset, std::size_t bytes) {
    at(i).write(source(i) + offset, window_.target_offset(i) + offset, bytes);
  }
  void put_alone(int i, std::size_t offset, std::size_t bytes) { put(i, offset, bytes); }
  void signal(int i) {
    if (!ordered_) flush(i);
    window_.next(i);
    at(i).inject(window_.at(window_.word_offset(i)), window_.flag_offset(i), sizeof(uint32_t));
  }
  void wait(int i) {
    window_.wait(i, [this, i] { at(i).progress(); });
  }
  void flush(int i) { at(i).flush(); }
  void look(int i) { at(i).progress(); }
  void attend() {
    for (bench::Endpoint& line : lines_) line.progress();
  }

 private:
  fi_info* find(uint64_t order) {
    fi_info* hints = fi_allocinfo();
    fi_info* found = nullptr;
    hints->ep_attr->type = FI_EP_RDM;
    hints->caps = FI_RMA;
    hints->tx_attr->msg_order = hints->rx_attr->msg_order = order;
    ordered_ = order != FI_ORDER_NONE;
    hints->tx_attr->op_flags = ordered_ ? FI_COMPLETION : FI_COMPLETION | FI_DELIVERY_COMPLETE;
    hints->domain_attr->threading = shared_ ? FI_THREAD_SAFE : FI_THREAD_DOMAIN;
    hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_PROV_KEY | FI_MR_ALLOCATED;
    const int result = fi_getinfo(FI_VERSION(1, 11), nullptr, nullptr, 0, hints, &found);
    fi_freeinfo(hints);
    return result == 0 ? found : nullptr;
  }

  bench::Endpoint& at(int i) { return lines_[shared_ ? 0 : static_cast<std::size_t>(i)]; }

  int rank_;
  bool shared_;
  bool ordered_ = false;
  bench::Window window_;
  std::byte* memory_;
  std::vector<bench::Endpoint> lines_;
  fi_info* info_ = nullptr;
  fid_fabric* fabric_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) { return bench::worker_main<Libfabric>(argc, argv); }
