// SPDX-License-Identifier: BSD-3-Clause
// The operations and flags that callbacks wait for: entries in the callers' memory. Entries are added by any thread; one at a
// time looks through them, and no user code runs while it does.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/data/handle.hpp"
#include "core/data/watches.hpp"
#include "core/wait/deadline.hpp"

namespace ompl {

class Context;

class Callbacks {
 public:
  // Before a watch is added; throws std::bad_alloc.
  void prepare_for_watches() { watches_.prepare(); }

  // The entry is the list's until collect() gives it back.
  void add(Pending* entry) {
    count_.fetch_add(1);
    push(added_, entry);
  }
  // One that is over, and is not looked at: the next collect() gives it.
  void add_due(Pending* entry) {
    count_.fetch_add(1);
    push(due_, entry);
  }
  // Entries that collect() gave, by `next`, whose callbacks were not called: the next one gives them again.
  void give_back(Pending* entries) {
    while (entries != nullptr) {
      Pending* const entry = entries;
      entries = entry->next;
      add_due(entry);
    }
  }

  // The entries for which `is_over(*entry)` holds now, in a chain by `next`. `all`: looks at every watch. *busy: another thread
  // looks through the list, so nothing is known.
  template <class IsOver>
  Pending* collect(FlagMarks& marks, bool all, IsOver is_over, bool* busy) {
    *busy = false;
    if (count_.load() == 0) return nullptr;
    if (claimed_.exchange(true)) {
      *busy = true;
      return nullptr;
    }
    Collection over(*this);
    const auto take = [&over](Pending* entry) { over.take(entry); };
    for (Pending* entry = due_.exchange(nullptr); entry != nullptr;) {
      Pending* const next = entry->next;
      take(entry);
      entry = next;
    }
    take_in(is_over, take);
    for (Pending** at = &handles_; *at != nullptr;) {
      Pending* const entry = *at;
      if (!is_over(*entry)) {
        at = &entry->next;
        continue;
      }
      *at = entry->next;
      take(entry);
    }
    watches_.collect(marks, all, is_over, take);
    return over.release();
  }

 private:
  // What collect() has found, and its claim. `is_over` may find no memory for a question to a target: nothing is lost by that.
  class Collection {
   public:
    explicit Collection(Callbacks& of) : of_(of) {}
    ~Collection() {
      of_.claimed_.store(false);
      of_.give_back(first_);
    }
    Collection(const Collection&) = delete;
    Collection& operator=(const Collection&) = delete;

    void take(Pending* entry) {
      entry->next = first_;
      first_ = entry;
      of_.count_.fetch_sub(1);
    }
    Pending* release() {
      Pending* const entries = first_;
      first_ = nullptr;
      return entries;
    }

   private:
    Callbacks& of_;
    Pending* first_ = nullptr;
  };

  static void push(std::atomic<Pending*>& list, Pending* entry) {
    entry->next = list.load(std::memory_order_relaxed);
    while (!list.compare_exchange_weak(entry->next, entry)) {
    }
  }

  // A watch is looked at as it comes in: its flag may have changed before it counted for those that leave marks.
  template <class IsOver, class Take>
  void take_in(IsOver is_over, Take take) {
    for (Pending* entry = added_.exchange(nullptr); entry != nullptr;) {
      Pending* const next = entry->next;
      if (entry->kind != Pending::Kind::flag) {
        entry->next = handles_;
        handles_ = entry;
      } else if (is_over(*entry)) {
        take(entry);
      } else {
        watches_.insert(entry);
      }
      entry = next;
    }
  }

  std::atomic<uint32_t> count_{0};
  std::atomic<Pending*> added_{nullptr};
  std::atomic<Pending*> due_{nullptr};
  std::atomic<bool> claimed_{false};
  // Whoever has claimed the list alone uses these.
  Pending* handles_ = nullptr;
  Watches watches_;
};

// Progress with callbacks (ompl_progress), and what they are for.
int progress(Context& c, Deadline deadline);
int call_back(Context& c, Handle& handle, ompl_callback_fn callback, void* argument);
int call_back(Context& c, Watch& watch, const ompl_condition& condition, ompl_callback_fn callback,
              void* argument);

}  // namespace ompl
