// SPDX-License-Identifier: BSD-3-Clause
// An event count: what a thread sleeps on that others wake, of this process or, in a segment, of another one. Whoever notifies first counts, then looks
// who sleeps; the sleeper the other way round. All zero: nothing was notified.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "arch/futex.hpp"

namespace ompl {

struct EventCount {
  // How the sleeper sleeps: not, until it is notified, or for a while with something left to do.
  enum class Sleep : uint32_t { awake, sound, nap };

  std::atomic<uint32_t> count{0};
  std::atomic<Sleep> sleep{Sleep::awake};

  // There is something to do. Any thread.
  void notify() {
    count.fetch_add(1, std::memory_order_seq_cst);
    if (sleep.load(std::memory_order_seq_cst) != Sleep::awake) wake();
  }
  // Something has moved that a napping thread may wait for. Any thread.
  void nudge() {
    if (sleep.load(std::memory_order_seq_cst) != Sleep::nap) return;
    count.fetch_add(1, std::memory_order_seq_cst);
    wake();
  }

  // Sleeps unless it was notified since it had been `before` times, or `busy()` finds something, which is asked once the others can
  // see that this thread sleeps.
  template <class Busy>
  void wait(uint32_t before, Sleep how, std::chrono::nanoseconds limit, Busy busy) {
    sleep.store(how, std::memory_order_seq_cst);
    if (!busy()) arch::futex_wait(reinterpret_cast<const uint32_t*>(&count), before, limit);
    sleep.store(Sleep::awake, std::memory_order_seq_cst);
  }

 private:
  void wake() { arch::futex_wake_all(reinterpret_cast<const uint32_t*>(&count)); }
};

}  // namespace ompl
