// SPDX-License-Identifier: BSD-3-Clause
// A device of LCI 2 with the memory that other ranks may write by it, and how programs wait there. Several threads may be
// at one.
#pragma once

#include <sched.h>
#include <lci.hpp>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

namespace bench {

class alignas(128) LciDevice {
 public:
  // Both are collective; all ranks open their devices in the same order.
  void open(std::byte* memory, std::size_t bytes, bool crowded) {
    crowded_ = crowded;
    handle_ = lci::alloc_device();
    registration_ = lci::register_memory_x(memory, bytes).device(handle_)();
    const lci::rmr_t own = lci::get_rmr(registration_);
    everywhere_.resize(static_cast<std::size_t>(lci::get_rank_n()));
    lci::allgather(&own, everywhere_.data(), sizeof own);
  }
  void close() {
    lci::deregister_memory(&registration_);
    lci::free_device(&handle_);
  }

  // A put from there to `offset` of that rank's memory, still to be called.
  auto put(int rank, std::byte* from, std::size_t bytes, lci::comp_t& done, std::size_t offset) {
    return lci::post_put_x(rank, from, bytes, done, offset, everywhere_[static_cast<std::size_t>(rank)])
        .device(handle_)
        .mr(registration_);
  }
  // Posts until it is taken, then waits until `done` says that its source may be used again.
  template <class Post>
  void finish(Post post, lci::comp_t& done) {
    lci::status_t status = post();
    while (status.is_retry()) pause(), status = post();
    if (!status.is_done()) take(done);
  }
  void take(lci::comp_t& queue) {
    while (lci::cq_pop(queue).is_retry()) pause();
  }
  void progress() { lci::progress_x().device(handle_)(); }
  [[nodiscard]] lci::device_t handle() const { return handle_; }

 private:
  void pause() {
    progress();
    if (crowded_) sched_yield();
  }

  bool crowded_ = false;
  lci::device_t handle_;
  lci::mr_t registration_;
  std::vector<lci::rmr_t> everywhere_;
};

// The provider and LCI's backends, for a report.
inline std::string lci_transport() {
  const char* const provider = std::getenv("FI_PROVIDER");
  return std::string("backends ") + LCI_NETWORK_BACKENDS_ENABLED +
         (provider != nullptr ? std::string(", FI_PROVIDER=") + provider : "");
}

}  // namespace bench
