// SPDX-License-Identifier: BSD-3-Clause
// Events, notifications and atomics: words of 64 bits. A count of an event stays below 2^32.
#include <array>
#include <atomic>

#include "prif/prif.hpp"

using namespace prif;

PRIF_API void caf_event_post(int image, intptr_t word, int /*ends_segment*/, int /*release*/) {
  note(caf::event_post(rank_of(image), static_cast<uint64_t>(word)), "event post");
}

PRIF_API void caf_event_wait(void* word, int64_t threshold, int /*ends_segment*/, int /*acquire*/,
                             int /*threads*/) {
  note(caf::event_wait(address_of(word), static_cast<uint32_t>(threshold)), "event wait");
}

// 32 bits of a lock: rank + 1 of who has it.
PRIF_API void ompl_prif_lock(int image, intptr_t word, int tries, int* acquired) {
  bool got = false;
  const int code = caf::lock(rank_of(image), static_cast<uint64_t>(word), tries != 0 ? &got : nullptr);
  note(code, "lock");
  *acquired = got ? 1 : 0;
}

PRIF_API void ompl_prif_unlock(int image, intptr_t word) {
  note(caf::unlock(rank_of(image), static_cast<uint64_t>(word)), "unlock");
}

PRIF_API void caf_event_query(void* word, int64_t* count) {
  int posted = 0;
  note(caf::event_query(caf::state().me, address_of(word), &posted), "event query");
  *count = posted;
}

namespace {

struct Op {
  int code;
  bool fetches;
};

// By Caffeine's numbers (caffeine-internal.h).
constexpr std::array<Op, 11> kOps{{{OMPL_ATOMIC_FETCH, true},
                                   {OMPL_ATOMIC_SET, false},
                                   {OMPL_ATOMIC_ADD, false},
                                   {OMPL_ATOMIC_AND, false},
                                   {OMPL_ATOMIC_OR, false},
                                   {OMPL_ATOMIC_XOR, false},
                                   {OMPL_ATOMIC_ADD, true},
                                   {OMPL_ATOMIC_AND, true},
                                   {OMPL_ATOMIC_OR, true},
                                   {OMPL_ATOMIC_XOR, true},
                                   {OMPL_ATOMIC_CSWAP, true}}};

void atomic(int number, int image, intptr_t word, int64_t* before, int64_t first, int64_t second) {
  const Op op = kOps.at(static_cast<std::size_t>(number));
  const bool swaps = op.code == OMPL_ATOMIC_CSWAP;  // then `first` is what is compared
  uint64_t old = 0;
  note(caf::atomic64(rank_of(image), static_cast<uint64_t>(word), op.code,
                     static_cast<uint64_t>(swaps ? second : first),
                     static_cast<uint64_t>(swaps ? first : 0), op.fetches ? &old : nullptr),
       "an atomic subroutine");
  if (op.fetches) *before = static_cast<int64_t>(old);
}

}  // namespace

PRIF_API void caf_atomic_int(int number, int image, intptr_t word, int64_t* before, int64_t first,
                             int64_t second) {
  atomic(number, image, word, before, first, second);
}

PRIF_API void caf_atomic_logical(int number, int image, intptr_t word, int64_t* before, int64_t first,
                                 int64_t second) {
  atomic(number, image, word, before, first, second);
}
