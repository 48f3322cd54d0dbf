// SPDX-License-Identifier: BSD-3-Clause
// Messages that are each verified to the last word: a put of 8 to 1,024 bytes, then a signal.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "conformance/world.hpp"

namespace ompl::conformance {

inline constexpr std::size_t kMostBytes = 1024;  // of a message
inline constexpr uint32_t kPlaces = 16;          // messages under way to a thread
inline constexpr uint32_t kAhead = 8;            // of the one that is taken

inline uint64_t word_of(uint32_t source, unsigned thread, uint32_t number, std::size_t place) {
  return (uint64_t{source} << 56 | uint64_t{thread} << 48 | number) * 0x9E3779B97F4A7C15 + place;
}

// Lengths on both sides of what fabrics treat differently: 32 and 256 bytes, a cache line.
inline std::size_t words_of(uint32_t number) {
  constexpr std::size_t kWords[] = {1, 4, 5, 16, 33, 128, 2, 64};
  return kWords[number % std::size(kWords)];
}

// What one thread does in exchange(). Returns how many messages arrived whole.
inline uint64_t exchange_with_neighbours(Rank& r, uint64_t own, uint64_t come, uint32_t messages) {
  const uint64_t taken = come + 4;
  uint64_t good = 0;
  uint64_t message[kMostBytes / 8];
  for (uint32_t i = 0; i < messages + kAhead; ++i) {
    if (i < messages) {
      if (i >= kPlaces) ok(r.wait(taken));
      for (std::size_t k = 0; k < words_of(i); ++k) message[k] = word_of(r.rank, r.thread, i, k);
      ok(r.put(message, r.right(), own + i % kPlaces * kMostBytes, words_of(i) * 8));
      ok(r.signal(r.right(), come));
    }
    if (i < kAhead) continue;
    const uint32_t number = i - kAhead;
    ok(r.wait(come));
    const auto* const arrived =
        reinterpret_cast<const uint64_t*>(r.own(own + number % kPlaces * kMostBytes));
    bool all = true;
    for (std::size_t k = 0; k < words_of(number); ++k)
      all = all && arrived[k] == word_of(r.left(), r.thread, number, k);
    good += all ? 1 : 0;
    ok(r.signal(r.left(), taken));
  }
  return good;
}

// Every thread of every rank sends so many messages to its namesake on the right. Returns how many arrived whole.
inline uint64_t exchange(World& world, unsigned threads, uint32_t messages) {
  const uint64_t data = world.allocate(threads * kPlaces * kMostBytes);
  const uint64_t flags = world.allocate(threads * 64);
  std::atomic<uint64_t> whole{0};
  world.run(
      [&](Rank& r) {
        whole += exchange_with_neighbours(r, data + r.thread * kPlaces * kMostBytes,
                                          flags + r.thread * 64, messages);
      },
      threads);
  return whole;
}

}  // namespace ompl::conformance
