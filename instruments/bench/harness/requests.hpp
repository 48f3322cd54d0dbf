// SPDX-License-Identifier: BSD-3-Clause
// Requests that a thread leaves with a communication thread, in order. One thread adds and waits, the other one takes.
#pragma once

#include <sched.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace bench {

struct Request {
  enum class What { put, signal, flush, send, receive };
  What what = What::put;
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

class alignas(128) Requests {
 public:
  // Waits while too many are under way.
  void add(const Request& request) {
    const uint64_t place = added_.load(std::memory_order_relaxed);
    while (place - done_.load(std::memory_order_acquire) >= kPlaces) sched_yield();
    requests_[place % kPlaces] = request;
    added_.store(place + 1, std::memory_order_release);
  }
  // Until all of them are done.
  void wait(bool crowded) const {
    while (done_.load(std::memory_order_acquire) != added_.load(std::memory_order_relaxed)) {
      if (crowded) sched_yield();
    }
  }

  // The communication thread: the oldest that is not done, or nullptr.
  [[nodiscard]] const Request* next() const {
    const uint64_t place = done_.load(std::memory_order_relaxed);
    return place == added_.load(std::memory_order_acquire) ? nullptr : &requests_[place % kPlaces];
  }
  void done() { done_.fetch_add(1, std::memory_order_release); }

 private:
  static constexpr uint64_t kPlaces = 64;
  std::array<Request, kPlaces> requests_;
  alignas(128) std::atomic<uint64_t> added_ = 0;
  alignas(128) std::atomic<uint64_t> done_ = 0;
};

}  // namespace bench
