// SPDX-License-Identifier: BSD-3-Clause
// A long put between two ranks that are threads, for conduits that cut it into segments: what its posts are is for the
// conduit's own test to look at.
#pragma once

#include <algorithm>
#include <vector>

#include "conformance.hpp"

namespace ompl::conformance {

// Rank 0 puts `length` bytes to rank 1 as `send(rank, source, to, length, flag)` does, from its segment or from
// `own_memory`, three times. Around the last, before which every endpoint is connected, it calls before() and, once the
// receiver has looked at every byte, after().
template <class Send, class Before, class After>
void put_long(ThreadWorld& w, std::size_t length, bool own_memory, Send send, Before before,
              After after) {
  const uint64_t from = w.allocate(length);
  const uint64_t to = w.allocate(length);
  const uint64_t flag = w.allocate(64);
  constexpr uint64_t kRounds = 3;
  w.run([&](Rank& r) {
    for (uint64_t round = 1; round <= kRounds; ++round) {
      if (r.rank == 1) {
        ok(r.wait(flag));
        EXPECT_EQ(mismatch(r.own(to), length, round), length);
        ok(r.signal(0, flag));
        continue;
      }
      const std::vector<std::byte> content = pattern(length, round);
      std::ranges::copy(content, r.own(from));
      if (round == kRounds) before();
      send(r, own_memory ? content.data() : r.own(from), to, length, flag);
      ok(r.wait(flag));
      if (round == kRounds) after();
    }
  });
}

inline void put_then_signal(Rank& r, const std::byte* source, uint64_t to, std::size_t length,
                            uint64_t flag) {
  ok(r.put(source, 1, to, length));
  ok(r.signal(1, flag));
}

}  // namespace ompl::conformance
