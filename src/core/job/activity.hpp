// SPDX-License-Identifier: BSD-3-Clause
// What a thread is blocked in.
#pragma once

#include <atomic>
#include <cstdint>

namespace ompl {

enum class Call : uint8_t {
  none,
  put,
  get,
  put_word,
  put_signal,
  wait,
  flush,
  quiet,
  fence,
  handle,
  wait_until,
  wait_many,
  wait_memory,
  atomic,
  progress,
  call,
  halo,
  collective,
  barrier,
  alloc,
  free,
  finalize
};

inline constexpr uint32_t kNoRank = UINT32_MAX;

// What a blocked thread waits for. Written when a call begins to block, read by the hang report.
struct Activity {
  std::atomic<Call> call{Call::none};    // none: not blocked
  std::atomic<Call> within{Call::none};  // the collective call of all ranks that it is a part of
  std::atomic<uint32_t> peer{kNoRank};   // whom it needs
  std::atomic<uint64_t> offset{0};
  std::atomic<int64_t> since_ns{0};      // steady clock
  std::atomic<int64_t> last_seen_ns{0};  // when this context last began to block: see Load
  std::atomic<int> thread{0};            // of the operating system
};

// While it lives, whatever blocks its context does so in that call of all ranks, unless it is a part of another one.
class CollectiveActivity {
 public:
  CollectiveActivity(Activity& activity, Call call)
      : within_(activity.within), is_part_(within_.load(std::memory_order_relaxed) != Call::none) {
    if (!is_part_) within_.store(call, std::memory_order_relaxed);
  }
  ~CollectiveActivity() {
    if (!is_part_) within_.store(Call::none, std::memory_order_relaxed);
  }
  CollectiveActivity(const CollectiveActivity&) = delete;
  CollectiveActivity& operator=(const CollectiveActivity&) = delete;

 private:
  std::atomic<Call>& within_;
  const bool is_part_;
};

}  // namespace ompl
