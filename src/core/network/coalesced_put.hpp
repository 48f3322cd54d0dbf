// SPDX-License-Identifier: BSD-3-Clause
// A put over the network that its context keeps until its next call, so that one request carries the put and the
// signal that mostly follows it. Nobody can know of a put before a signal or a completing call of its context, or
// ompl_free or ompl_finalize of its rank; these send it. Sender::hold() and the rest of coalesced_put.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "arch/memory/copy.hpp"

namespace ompl {

class CoalescedPut {
 public:
  static constexpr std::size_t kShort = 128;  // bytes for which there is always a place

  // Written by the context's thread while it is none; taken by who sends it: that thread, or one that completes the
  // operations of all contexts. Which of that one's posts was lost its own thread has to learn.
  enum class State : uint32_t { none, held, taken, lost };

  [[nodiscard]] bool any() const { return state_.load(std::memory_order_relaxed) != State::none; }
  [[nodiscard]] bool lost() const { return state_.load(std::memory_order_acquire) == State::lost; }
  [[nodiscard]] int code() const { return code_; }
  [[nodiscard]] uint64_t offset() const { return offset_; }
  [[nodiscard]] std::size_t length() const { return length_; }
  [[nodiscard]] const std::byte* data() const { return data_; }

  // While it is none. `length` bytes for which make_room() found room.
  void hold(const void* source, uint64_t offset, std::size_t length) {
    hold_at(data_, source, offset, length);
  }
  // The same where all puts that are held are short and done when posted, so that there is always room.
  void hold_short(const void* source, uint64_t offset, std::size_t length) {
    hold_at(short_.data(), source, offset, length);
  }
  [[nodiscard]] const std::byte* short_data() const { return short_.data(); }
  bool take() {
    State expected = State::held;
    return state_.compare_exchange_strong(expected, State::taken, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  // Of what was taken.
  void give_back() { state_.store(State::held, std::memory_order_release); }
  void forget() { state_.store(State::none, std::memory_order_release); }
  void lose(int error) {
    code_ = error;
    state_.store(State::lost, std::memory_order_release);
  }

  // What was taken was posted, and is read until that ticket is complete on that slot.
  void in_use_until(uint32_t slot, uint64_t ticket) { busy_[current_] = {slot, ticket}; }
  // While it is none: chooses a place for `length` bytes that nothing reads any more, `is_complete(slot, ticket)` being
  // asked. False: all are read.
  template <class IsComplete>
  bool make_room(std::size_t length, IsComplete is_complete) {
    for (uint32_t i = 0; i < kPlaces; ++i) {
      const uint32_t place = (current_ + i) % kPlaces;
      Busy& busy = busy_[place];
      if (busy.ticket != 0 && !is_complete(busy.slot, busy.ticket)) continue;
      busy.ticket = 0;
      current_ = place;
      data_ = place == 0 && length <= kShort ? short_.data() : long_place(place, length);
      return true;
    }
    return false;
  }

 private:
  void hold_at(std::byte* place, const void* source, uint64_t offset, std::size_t length) {
    offset_ = offset;
    length_ = length;
    arch::copy(place, source, length);
    give_back();
  }

  static constexpr uint32_t kPlaces = 4;  // a stream of puts with signals has so many under way

  std::byte* long_place(uint32_t place, std::size_t length) {
    Long& mine = long_[place];
    if (mine.length < length) mine = {std::make_unique_for_overwrite<std::byte[]>(length), length};
    return mine.bytes.get();
  }

  struct Busy {
    uint32_t slot = 0;
    uint64_t ticket = 0;  // 0: free
  };
  struct Long {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t length = 0;
  };
  std::atomic<State> state_{State::none};
  int code_ = 0;  // of what was lost
  uint64_t offset_ = 0;
  std::size_t length_ = 0;
  uint32_t current_ = 0;
  alignas(16) std::array<std::byte, kShort> short_{};
  std::byte* data_ = short_.data();
  std::array<Busy, kPlaces> busy_{};
  std::array<Long, kPlaces> long_{};
};

}  // namespace ompl
