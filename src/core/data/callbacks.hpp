// SPDX-License-Identifier: BSD-3-Clause
// The operations and flags that callbacks wait for: a list of entries in the callers' memory. Entries are added by
// any thread; one at a time looks through them, and no user code runs while it does.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/data/handle.hpp"

namespace ompl {

class Callbacks {
 public:
  // The entry is the list's until collect() gives it back.
  void add(Pending* entry) {
    count_.fetch_add(1);
    entry->next = added_.load(std::memory_order_relaxed);
    while (!added_.compare_exchange_weak(entry->next, entry)) {
    }
  }

  // The entries for which `is_over(*entry)` holds now, in a chain by `next`. *busy: another thread looks
  // through the list, so nothing is known.
  template <class IsOver>
  Pending* collect(IsOver is_over, bool* busy) {
    *busy = false;
    if (count_.load() == 0) return nullptr;
    if (claimed_.exchange(true)) {
      *busy = true;
      return nullptr;
    }
    take_in();
    Pending* over = nullptr;
    for (Pending** at = &entries_; *at != nullptr;) {
      Pending* const entry = *at;
      if (!is_over(*entry)) {
        at = &entry->next;
        continue;
      }
      *at = entry->next;
      entry->next = over;
      over = entry;
      count_.fetch_sub(1);
    }
    claimed_.store(false);
    return over;
  }

 private:
  // In the order in which they were added.
  void take_in() {
    for (Pending* entry = added_.exchange(nullptr); entry != nullptr;) {
      Pending* const next = entry->next;
      entry->next = entries_;
      entries_ = entry;
      entry = next;
    }
  }

  std::atomic<uint32_t> count_{0};
  std::atomic<Pending*> added_{nullptr};
  std::atomic<bool> claimed_{false};
  Pending* entries_ = nullptr;  // of whoever claimed
};

}  // namespace ompl
