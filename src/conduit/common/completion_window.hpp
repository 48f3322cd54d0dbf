// SPDX-License-Identifier: BSD-3-Clause
// Turns completions that arrive in any order into one number: "all operations up to here are done".
// A network conduit keeps one window for each pair (endpoint, rank).
#pragma once

#include <array>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace ompl::conduit {

// Tickets count from 1. At most Capacity of them are outstanding: a post that finds the window full is
// answered by a retry. Everything but completed() is called under the claim on the endpoint.
template <std::size_t Capacity = 128>
class CompletionWindow {
  static_assert(Capacity > 0 && (Capacity & (Capacity - 1)) == 0,
                "the slot of a ticket is its low bits");

 public:
  [[nodiscard]] bool full() const { return outstanding() >= Capacity; }
  [[nodiscard]] uint64_t outstanding() const { return issued_ - done_.load(std::memory_order_relaxed); }

  // The ticket that issue() will give: an operation is issued once its post succeeded.
  [[nodiscard]] uint64_t next() const { return issued_ + 1; }

  // Takes the next ticket. Not when full.
  uint64_t issue() {
    assert(!full());
    return ++issued_;
  }

  // The operation is complete. Once per ticket; tickets that close() has covered are ignored.
  void complete(uint64_t ticket) { complete(ticket, ticket); }

  // The same of all from `first` to `last`.
  void complete(uint64_t first, uint64_t last) {
    uint64_t done = done_.load(std::memory_order_relaxed);
    if (last <= done) return;
    assert(last <= issued_);
    if (first <= done + 1) {
      done = last;
    } else {
      for (uint64_t ticket = first; ticket <= last; ++ticket) finished_[ticket % Capacity] = true;
    }
    while (done < issued_ && finished_[(done + 1) % Capacity]) finished_[++done % Capacity] = false;
    done_.store(done, std::memory_order_release);
  }

  // The connection is broken: everything outstanding counts as complete.
  void close() {
    finished_.fill(false);
    done_.store(issued_, std::memory_order_release);
  }

  // Any thread.
  [[nodiscard]] uint64_t completed() const { return done_.load(std::memory_order_seq_cst); }

 private:
  uint64_t issued_ = 0;
  std::array<bool, Capacity> finished_{};  // of the tickets in (done, done + Capacity]
  std::atomic<uint64_t> done_{0};
};

}  // namespace ompl::conduit
