// SPDX-License-Identifier: BSD-3-Clause
// A libfabric domain with one endpoint of type FI_EP_RDM, and puts over it to those of the other ranks. Every function throws
// std::runtime_error; by how many threads it may be called is what the provider was asked for.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <array>
#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/gathering.hpp"

namespace bench {

inline void check(ssize_t result, const char* what) {
  if (result < 0)
    throw std::runtime_error(std::string(what) + ": " + fi_strerror(static_cast<int>(-result)));
}

class alignas(128) Endpoint {
 public:
  // Collective with the other ranks; `memory` is what they may write.
  void open(fid_fabric* fabric, fi_info* info, void* memory, std::size_t bytes, uint64_t key,
            const Gathering& others) {
    check(fi_domain(fabric, info, &domain_, nullptr), "fi_domain");
    fi_cq_attr queue{};
    queue.format = FI_CQ_FORMAT_CONTEXT;
    check(fi_cq_open(domain_, &queue, &queue_, nullptr), "fi_cq_open");
    check(fi_mr_reg(domain_, memory, bytes, FI_REMOTE_WRITE, 0, key, 0, &memory_, nullptr),
          "fi_mr_reg");
    fi_av_attr table{};
    check(fi_av_open(domain_, &table, &addresses_, nullptr), "fi_av_open");
    check(fi_endpoint(domain_, info, &endpoint_, nullptr), "fi_endpoint");
    check(fi_ep_bind(endpoint_, &addresses_->fid, 0), "fi_ep_bind");
    check(fi_ep_bind(endpoint_, &queue_->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    check(fi_enable(endpoint_), "fi_enable");
    Card mine;
    check(fi_getname(&endpoint_->fid, mine.name.data(), &mine.length), "fi_getname");
    const bool by_address = (info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    mine.base = by_address ? reinterpret_cast<uint64_t>(memory) : 0;
    mine.key = fi_mr_key(memory_);
    for (const Card& card : others.all(mine)) {
      Peer& peer = peers_.emplace_back(Peer{.base = card.base, .key = card.key});
      if (static_cast<int>(peers_.size()) - 1 != others.rank() &&
          fi_av_insert(addresses_, card.name.data(), 1, &peer.to, 0, nullptr) != 1)
        throw std::runtime_error("fi_av_insert: another rank's address was not taken");
    }
  }
  ~Endpoint() {
    if (endpoint_ == nullptr) return;
    for (fid* each : {&endpoint_->fid, &queue_->fid, &addresses_->fid, &memory_->fid, &domain_->fid})
      fi_close(each);
  }

  // To this offset of the peer's memory.
  void write(int peer, const void* from, std::size_t to, std::size_t bytes) {
    const Peer& at = peers_[static_cast<std::size_t>(peer)];
    ++posted_;
    post("fi_write", [&] {
      return fi_write(endpoint_, from, bytes, nullptr, at.to, at.base + to, at.key, nullptr);
    });
  }
  // The same of a few bytes, which may be used again at once.
  void inject(int peer, const void* from, std::size_t to, std::size_t bytes) {
    const Peer& at = peers_[static_cast<std::size_t>(peer)];
    post("fi_inject_write",
         [&] { return fi_inject_write(endpoint_, from, bytes, at.to, at.base + to, at.key); });
  }
  // Until what was written before is done.
  void flush() {
    for (const long posted = posted_; completed_ < posted;) progress();
  }
  void progress() {
    std::array<fi_cq_entry, 16> done;
    const ssize_t found = fi_cq_read(queue_, done.data(), done.size());
    if (found > 0) completed_ += found;
    if (found < 0 && found != -FI_EAGAIN) check(found, "fi_cq_read");
  }

 private:
  struct Card {  // what the other ranks must know
    std::array<char, 256> name{};
    std::size_t length = 256;
    uint64_t base = 0, key = 0;
  };

  struct Peer {
    fi_addr_t to = FI_ADDR_UNSPEC;
    uint64_t base = 0, key = 0;
  };

  template <class Call>
  void post(const char* what, Call call) {
    ssize_t result = 0;
    while ((result = call()) == -FI_EAGAIN) progress();
    check(result, what);
  }

  fid_domain* domain_ = nullptr;
  fid_mr* memory_ = nullptr;
  fid_cq* queue_ = nullptr;
  fid_av* addresses_ = nullptr;
  fid_ep* endpoint_ = nullptr;
  std::vector<Peer> peers_;
  std::atomic<long> posted_ = 0, completed_ = 0;
};

}  // namespace bench
