// SPDX-License-Identifier: BSD-3-Clause
// The thread of a process that goes on with the collectives of its teams while the program computes. Asleep, on a word of its own that
// no signal wakes, while there is nothing to do; then among those who wait for several flags.
#pragma once

#include <atomic>
#include <thread>

#include "arch/cores.hpp"
#include "coll/progress/event_count.hpp"

namespace ompl {
class Context;
}

namespace ompl::coll {

class Engine;

class ProgressThread {
 public:
  explicit ProgressThread(Engine& engine) : engine_(engine) {}
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  // Starts the thread, if it is not started; OMPL_ERR_SYSTEM if none can be.
  int begin();
  // Whether it has a core of its own (thread_start.hpp): it is then bound there, and spins for a little before it sleeps. If not, it may run
  // wherever the process might when it joined.
  void set_spinning(bool spins);
  // There is something to do. Any thread.
  void notify() { events_.notify(); }

 private:
  void run();
  void work(Context& c);
  bool spin(Context& c, bool* again);
  void take_core(bool own);

  Engine& engine_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> spins_{false};
  EventCount events_;
  arch::Core own_core_;  // once it was chosen
  std::thread thread_;
};

}  // namespace ompl::coll
