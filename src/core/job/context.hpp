// SPDX-License-Identifier: BSD-3-Clause
// A context: the handle that orders operations. Every thread has an implicit one; explicit ones belong to
// tasks. Used by one thread at a time, but for `activity`, which the hang report reads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "arch/cpu.hpp"
#include "arch/memory/copy.hpp"
#include "core/calls/layout.hpp"
#include "core/job/activity.hpp"
#include "core/memory/allocation.hpp"
#include "core/network/peer_channel.hpp"
#include "omnipgas/ompl_ext.h"
#include "omnipgas/ompl_inline.h"

namespace ompl {

class Runtime;

// The mapped allocation that a thread's implicit context used last, on one rank, with all that a call needs
// to know of it. Layout and reading side stand in ompl_inline.h; written by its thread, but for the length,
// which ompl_free and ompl_finalize of any thread set to 0.
inline void move_window(ompl_window* window, uint32_t rank, uint64_t begin, uint64_t length,
                        std::byte* base) {
  window->rank = rank;
  window->begin = begin;
  window->base = reinterpret_cast<unsigned char*>(base);
  std::atomic_ref(window->length).store(length, std::memory_order_relaxed);
}
inline void close_window(ompl_window* window) {
  std::atomic_ref(window->length).store(0, std::memory_order_relaxed);
}

class alignas(arch::kCacheLine) Context {
 public:
  // --- read on every operation; set by ContextTable::open() and cleared when the runtime ends
  uint32_t ranks = 0;  // 0: no runtime any more, so every rank is out of range
  // Operations may take the fast paths, which neither count nor look for GPUs. Other threads may end that.
  std::atomic<bool> direct{false};
  uint32_t rank = 0;
  std::byte* const* bases = nullptr;  // per rank: where its segment is mapped, nullptr if it is not
  const std::atomic<uint64_t>* generation = nullptr;
  Runtime* runtime = nullptr;
  Extent data;  // allocations used last: by puts and gets,
  Extent flag;  // and by signals and waits
  // Whether these bytes, or a flag of `width` bytes, lie there.
  [[nodiscard]] bool knows_data(uint64_t offset, std::size_t length) const {
    return data.covers(offset, length, generation->load(std::memory_order_relaxed));
  }
  [[nodiscard]] bool knows_flag(uint64_t offset, std::size_t width = sizeof(uint32_t)) const {
    return offset % width == 0 &&
           flag.covers(offset, width, generation->load(std::memory_order_relaxed));
  }
  // The same of the memory that another rank may have taken alone.
  [[nodiscard]] bool accepts_far(uint64_t offset, std::size_t length) const {
    return far.covers(offset, length, generation->load(std::memory_order_relaxed));
  }

  // --- network
  PeerChannels channels;
  std::atomic<PeerChannel*> fast{&nobody};  // where the fast paths may go
  std::atomic<PeerChannel*> holder{
      nullptr};                 // the one channel that holds a put; ompl_free looks at all
  uint32_t preferred_slot = 0;  // posts go there, if it can be claimed
  uint32_t arrival_slot = 0;    // where the flag came in that ended the last wait
  uint32_t polls = 0;
  uint32_t stand_back = 1;           // pauses when it next finds the slot that it progresses claimed
  uint32_t next_slot = 0;            // to be looked at for others
  std::vector<uint32_t> seen_turns;  // of the slots, when it last looked for others; or empty
  uint32_t empty_polls = 0;          // of ompl_poll, ompl_progress
  static PeerChannel nobody;
  void end_direct() {
    direct = false;
    fast = &nobody;
  }

  uint32_t reply_place =
      calls::kReplies;  // for the reply of a call that waits for it; kReplies: none yet

  ompl_statistics statistics = OMPL_STATISTICS_INIT;
  void count_put(std::size_t length, bool with_signal) {
    ++statistics.puts;
    statistics.put_bytes += length;
    if (with_signal) ++statistics.signals;
  }
  void count_get(std::size_t length) {
    ++statistics.gets;
    statistics.get_bytes += length;
  }
  Extent far;                     // see accepts_far(); GlobalMemory::local_range
  std::size_t searched_from = 0;  // where the next search for one of several flags begins

  // --- how long the next wait spins, as Blocker::patience() explains
  static constexpr int kSpunInVain = -1;
  int eager_spins = 0;  // polls of ompl_wait before it enters the engine
  uint32_t turn = 0;    // waits left until the thread, on crowded cores, gives its core away
  bool bulky = false;   // it has put much since its last wait, and so may the other side

  // --- observed by others
  Activity activity;
  // Of a thread's implicit context, else nullptr. Such a context is looked up again after the yield hook ran.
  ompl_windows* windows = nullptr;
  // The next put or get on the allocation that holds `offset`, or signal, to that rank, which is mapped, need not come to the
  // checks.
  void open_data_window(uint32_t to, uint64_t offset) const {
    if (windows == nullptr || !direct) return;
    const Extent& within = knows_data(offset, 1) ? data : far;
    move_window(&windows->data, to, within.begin, within.length, bases[to]);
  }
  void put_mapped(const void* source, uint32_t to, uint64_t offset, std::size_t length) {
    if (length == 0) return;
    if (length > OMPL_WINDOW_BULK) bulky = true;
    open_data_window(to, offset);
    arch::copy(bases[to] + offset, source, length);
  }
  void get_mapped(void* target, uint32_t from, uint64_t offset, std::size_t length) const {
    if (length == 0) return;
    open_data_window(from, offset);
    arch::copy(target, bases[from] + offset, length);
  }
  // Whole flags only: then every aligned offset inside is a flag.
  void open_flag_window(uint32_t to, uint64_t offset) const {
    if (windows == nullptr || !direct) return;
    const Extent& within = knows_flag(offset / sizeof(uint32_t) * sizeof(uint32_t)) ? flag : far;
    const uint64_t whole = within.length / sizeof(uint32_t) * sizeof(uint32_t);
    move_window(&windows->flag, to, within.begin, whole, bases[to]);
  }
  std::atomic<bool> counted{
      false};  // among SegmentHeader::threads; then it is, or is about to be, in that list:
  Context* next_counted = nullptr;
  Context* next = nullptr;         // all contexts ever opened by the runtime, newest first
  Context* next_closed = nullptr;  // those that are in nobody's use
};

// The program's yield hook (ompl_set_yield), nullptr for sched_yield(); and what finds the calling thread's implicit context
// again after the hook, which may have moved the task to another thread, nullptr if nothing does.
struct YieldHook {
  int (*function)(void*) = nullptr;
  void* argument = nullptr;
  Context* (*implicit_context)() = nullptr;
};

// The context of a call that may enter the yield hook. An implicit one belongs to the thread: if the hook goes on in another
// thread the call has that one's from then on, and leaves the other to its thread.
class Caller {
 public:
  explicit Caller(Context& context) : context_(&context), is_implicit_(context.windows != nullptr) {}
  // The context, looked up again.
  Context& now();
  [[nodiscard]] bool is_implicit() const { return is_implicit_; }

 private:
  Context* context_;
  bool is_implicit_;
};

}  // namespace ompl
