// SPDX-License-Identifier: BSD-3-Clause
// The replies that a rank awaits. Each has an entry, known by a token that is never used twice, so that a reply
// that comes late, twice or from a stranger finds nothing. Protocol rule 11.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "arch/cpu.hpp"
#include "conduit/conduit.hpp"

namespace ompl {

class Fetches {
 public:
  // A token for a reply of `rank`; 0 if too many are awaited already. Any thread.
  uint64_t take(uint32_t rank) {
    for (std::size_t i = 0; i < kEntries; ++i) {
      const uint64_t token = next_.fetch_add(1, std::memory_order_relaxed);
      Entry& entry = entry_of(token);
      uint64_t free = 0;
      if (!entry.state.compare_exchange_strong(free, word(token, taken))) continue;
      entry.rank = rank;
      entry.state.store(word(token, awaited), std::memory_order_release);
      return token;
    }
    return 0;
  }

  // Any thread; outside bytes.
  void answer(uint32_t rank, const conduit::Signal& reply) {
    Entry& entry = entry_of(reply.token);
    uint64_t open = word(reply.token, awaited);
    if (reply.token == 0 || !entry.state.compare_exchange_strong(open, word(reply.token, taken)))
      return;
    const bool expected = entry.rank == rank;
    entry.value = reply.value;
    entry.refused = reply.offset != 0;
    entry.state.store(word(reply.token, expected ? answered : awaited));
  }

  enum class Answer { none, value, refused };
  // Whoever took the token: the answer, if it came; the token is then gone.
  Answer look(uint64_t token, uint64_t* value) {
    Entry& entry = entry_of(token);
    if (entry.state.load() != word(token, answered)) return Answer::none;
    *value = entry.value;
    const bool refused = entry.refused;
    entry.state.store(0);
    return refused ? Answer::refused : Answer::value;
  }

  // Whoever took the token: no answer is wanted any more.
  void abandon(uint64_t token) {
    Entry& entry = entry_of(token);
    uint64_t now = entry.state.load();
    while (now >> 2 == token) {  // else it is gone already
      if (now == word(token, taken)) {
        now = entry.state.load();  // an answer is being written: that takes a few instructions
      } else if (entry.state.compare_exchange_weak(now, 0)) {
        return;
      }
    }
  }

 private:
  enum State : uint64_t { taken = 1, awaited = 2, answered = 3 };
  struct alignas(arch::kCacheLine) Entry {
    std::atomic<uint64_t> state{0};  // token and State; 0: free
    uint32_t rank = 0;               // the rest: of whoever made the state taken
    bool refused = false;
    uint64_t value = 0;
  };
  static constexpr std::size_t kEntries = 1024;
  static constexpr uint64_t word(uint64_t token, State state) { return token << 2 | state; }
  Entry& entry_of(uint64_t token) { return entries_[token % kEntries]; }

  std::atomic<uint64_t> next_{1};
  std::array<Entry, kEntries> entries_;
};

}  // namespace ompl
