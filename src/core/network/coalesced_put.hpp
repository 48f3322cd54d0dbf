// SPDX-License-Identifier: BSD-3-Clause
// A short put over the network that its context keeps until its next call, so that one request carries the put and
// the signal that follows it. Nobody can know of a put before a signal or a completing call of its context, or
// ompl_free or ompl_finalize of its rank; these send it. Network::hold() and the rest of coalesced_put.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "arch/copy.hpp"

namespace ompl {

struct CoalescedPut {
  static constexpr std::size_t kMost = 128;  // bytes

  // Written by the context's thread while it is none; taken by who sends it: that thread, or one that completes the
  // operations of all contexts. Which of that one's posts was lost its own thread has to learn.
  enum class State : uint32_t { none, held, taken, lost };
  std::atomic<State> state{State::none};
  int code = 0;  // of what was lost
  uint32_t rank = 0;
  uint64_t offset = 0;
  std::size_t length = 0;
  alignas(16) std::array<std::byte, kMost> data;

  // While it is none.
  void hold(const void* source, uint32_t to_rank, uint64_t to, std::size_t bytes) {
    rank = to_rank;
    offset = to;
    length = bytes;
    arch::copy(data.data(), source, bytes);
    give_back();
  }
  [[nodiscard]] bool any() const { return state.load(std::memory_order_relaxed) != State::none; }
  bool take() {
    State expected = State::held;
    return state.compare_exchange_strong(expected, State::taken, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }
  [[nodiscard]] bool lost() const { return state.load(std::memory_order_acquire) == State::lost; }
  // Of what was taken.
  void give_back() { state.store(State::held, std::memory_order_release); }
  void forget() { state.store(State::none, std::memory_order_release); }
  void lose(int error) {
    code = error;
    state.store(State::lost, std::memory_order_release);
  }
};

}  // namespace ompl
