// SPDX-License-Identifier: BSD-3-Clause
// The first pages of every segment: what ranks of one node share besides the user's data. Offsets below
// kFirstOffset are never given out by the allocator, so no user's put reaches them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "arch/cpu.hpp"
#include "conduit/conduit.hpp"
#include "omnipgas/ompl_inline.h"

namespace ompl {

// Waiters register here before they sleep; producers look here after every signal (protocol 15).
struct alignas(arch::kCacheLine) Bucket {
  std::atomic<uint32_t> sleepers;  // waiters that sleep, or are about to
  std::atomic<uint32_t> events;    // bumped once per wake-up; the word they sleep on
};

// The one sleeping thread of a rank that watches the network for all (rule 16). A waiter takes the role from the progress thread.
enum class SentinelRole : uint32_t { none, waiter, progress_thread };

// left: through ompl_finalize, but with an error, so that others may wait for it in vain.
enum class RankState : uint32_t { joining, active, departed, left };

inline constexpr uint32_t kBuckets = 64;
inline constexpr uint64_t kFirstOffset = 24576;  // of the user's memory
inline constexpr uint32_t kMaxRounds = 32;       // of a dissemination barrier

inline constexpr uint32_t kCoreWords = 16;  // 1,024 cores

// A bit for each rank of the job. What ranks of the node tell each other: whom they map, and of failures (rule 23).
inline constexpr uint32_t kNewsRanks = 32768;  // of further ones nothing is told
struct RankSet {
  std::atomic<uint64_t> words[kNewsRanks / 64];

  // False: it was there already.
  bool add(uint32_t rank) {
    const uint64_t bit = uint64_t{1} << rank % 64;
    return (words[rank / 64].fetch_or(bit) & bit) == 0;
  }
  [[nodiscard]] bool has(uint32_t rank) const {
    return (words[rank / 64].load(std::memory_order_acquire) >> rank % 64 & 1) != 0;
  }
};

// Which flags of a rank were changed, for its watches (core/data/watches.hpp): a bit for each of so many classes of flags, and one
// for each word of them.
inline constexpr uint32_t kMarks = 1U << 14;
inline constexpr uint32_t kMarkWords = kMarks / 64;
struct FlagMarks {
  std::atomic<uint32_t>
      watches;  // each also counts among the rank's sleepers: nobody leaves a mark while there is none
  std::array<std::atomic<uint64_t>, kMarkWords / 64> groups;
  std::array<std::atomic<uint64_t>, kMarkWords> words;
};

struct SegmentHeader {
  // Words 0 .. 63: flags of the layer itself; the only flags an immediate value below 64 can name.
  uint32_t flags[64];
  uint64_t nonce;                  // proves that a mapping is of this very segment
  std::atomic<uint32_t> sleepers;  // of all buckets, and watches: what a producer looks at first
  std::atomic<RankState> state;
  std::atomic<uint32_t> threads;        // contexts in use: who may spin on this node's cores
  std::atomic<SentinelRole> sentinel;   // who of this rank sleeps in epoll, not on a bucket
  std::atomic<uint32_t> needs_network;  // 1: this rank could not map some other
  std::atomic<uint32_t>
      life_lock;  // 1: its process holds a lock on the segment until it ends (arch/life_lock.hpp)
  std::atomic<uint32_t>
      no_futex;  // 1: the system refuses its process to sleep on words here, or to wake who does
  uint64_t cores[kCoreWords];  // affinity mask of this rank's process
  Bucket any;                  // waiters on several flags, or on completions
  Bucket buckets[kBuckets];
  Bucket progress;             // the progress thread: woken for calls and the network, not for signals
  RankSet mapped;              // by this rank
  std::atomic<uint32_t> news;  // how much was added to these sets
  RankSet dead;
  RankSet torn;     // has lost the connection to some other rank
  RankSet stopped;  // says that it does nothing more (rule 29)
  FlagMarks marks;
};

static_assert(std::atomic<uint32_t>::is_always_lock_free);
static_assert(offsetof(SegmentHeader, nonce) == conduit::kNonceOffset);
static_assert(offsetof(SegmentHeader, sleepers) == OMPL_WINDOW_SLEEPERS);
static_assert(offsetof(SegmentHeader, any) == OMPL_WINDOW_ANY);
static_assert(offsetof(SegmentHeader, buckets) == OMPL_WINDOW_BUCKETS);
static_assert(offsetof(SegmentHeader, marks) == OMPL_WINDOW_WATCHES);
static_assert(sizeof(Bucket) == 64 && offsetof(Bucket, sleepers) == 0 &&
              offsetof(FlagMarks, watches) ==
                  0);  // as ompl_window_awaited() has it, with the hash of bucket_of()
static_assert(sizeof(SegmentHeader) <= kFirstOffset);

// Offsets of the layer's own flags.
inline constexpr uint64_t barrier_flag(uint32_t round) { return (1 + round) * sizeof(uint32_t); }
inline constexpr uint64_t kShortageFlag = (1 + kMaxRounds) * sizeof(uint32_t);
// A word of 64 bits: what the left neighbour calls (rule 20).
inline constexpr uint64_t kCallWord = (4 + kMaxRounds) * sizeof(uint32_t);
inline constexpr uint64_t kLayersEnd = kCallWord + sizeof(uint64_t);
static_assert(kCallWord % sizeof(uint64_t) == 0 && kLayersEnd <= sizeof(SegmentHeader::flags));

inline SegmentHeader& header_of(std::byte* base) { return *reinterpret_cast<SegmentHeader*>(base); }

inline Bucket& bucket_of(SegmentHeader& header, uint64_t flag) {
  // Fibonacci hashing: neighbouring flags and flags at page distance fall into different buckets.
  return header.buckets[(static_cast<uint32_t>(flag >> 2) * 2654435769U) >> 26];
}
static_assert(kBuckets == 1U << (32 - 26));

inline uint32_t mark_of(uint64_t flag) {
  return (static_cast<uint32_t>(flag >> 2) * 2654435769U) >> 18;
}
static_assert(kMarks == 1U << (32 - 18));

// A flag has changed. Whoever takes a mark away looks at the flags afterwards, so one that stands serves this change too.
inline void leave_mark(FlagMarks& marks, uint64_t flag) {
  const auto set = [](std::atomic<uint64_t>& word, uint32_t bit) {
    const uint64_t mask = uint64_t{1} << bit;
    if ((word.load(std::memory_order_seq_cst) & mask) == 0)
      word.fetch_or(mask, std::memory_order_seq_cst);
  };
  const uint32_t mark = mark_of(flag);
  set(marks.words[mark / 64], mark % 64);
  set(marks.groups[mark / 64 / 64], mark / 64 % 64);
}

}  // namespace ompl
