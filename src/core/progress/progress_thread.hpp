// SPDX-License-Identifier: BSD-3-Clause
// The thread of a process that makes progress while the program computes: for other ranks, if somebody wants it (OMPL_PROGRESS,
// ompl_set_progress_thread), and for the collectives of its teams. Started when first needed, and kept until the job ends; asleep while
// there is nothing to do. docs/explanation/progress.md.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <thread>

#include "core/progress/event_count.hpp"
#include "core/progress/thread_start.hpp"
#include "core/wait/sentinel.hpp"
#include "util/mutex.hpp"

namespace ompl {

class Context;
class Runtime;

// What the thread carries out besides communication.
class ProgressClient {
 public:
  // Goes on with it. True if anything is left to wait for; *again: what it needs will be free in a moment without any event.
  virtual bool serve(Context& c, bool* again) = 0;

 protected:
  ~ProgressClient() = default;
};

class ProgressThread {
 public:
  explicit ProgressThread(Runtime& runtime) : runtime_(runtime) {}
  ~ProgressThread() { end(); }
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  // --- Service of other ranks. Any thread.
  // As OMPL_PROGRESS says; `mode` is a value of it.
  int begin_by(std::string_view mode);
  // One more wants it: OMPL_OK, OMPL_ERR_SYSTEM if no thread can be started, OMPL_ERR_UNSUPPORTED if the network's library
  // may not be called by one.
  int begin_service();
  // One fewer. The last one returns when the thread has left the network. OMPL_ERR_STATE: nobody wants it.
  int end_service();
  [[nodiscard]] bool serves() const { return users_.load(std::memory_order_relaxed) != 0; }

  // --- The client, one at most.
  int attach(ProgressClient& client);
  // Its serve() is not called any more.
  void detach();
  // Whether the client's work is worth a core of its own (thread_start.hpp): the thread is then bound there, and spins for a
  // little before it sleeps. If not, it may run wherever the process might when it joined. Any thread.
  void set_spinning(bool spins);
  // The client has something to do. Any thread.
  void notify();

  // Ends the thread for good. One thread, in which no function of another rank runs.
  void end();
  // The process ends without ompl_finalize: the same, but a thread that does not end soon is left behind. Any thread.
  void end_at_exit();

 private:
  // What a look at everything has come to. busy: other threads of the program are at it.
  struct Look {
    bool found = false;
    bool busy = false;
  };

  int start() OMPL_REQUIRES(control_);
  const Placement& choose_core() OMPL_REQUIRES(control_);
  void take_core() OMPL_REQUIRES(control_);
  void tell_to_stop();
  // The rest is the thread's own.
  class Registered;
  void run();
  Context* begin();
  bool serve_client(Context& c, bool* again);
  void work(Context& c);
  bool spin(Context& c, bool* again);
  void attend(Context& c, uint32_t notified);
  [[nodiscard]] bool attends(uint32_t notified) const;
  Look look(Context& c);
  SentinelWake sleep(uint32_t notified);
  void nap(uint32_t notified);

  static constexpr int kNotAsked = 1;

  Runtime& runtime_;
  Mutex control_;
  std::thread thread_ OMPL_GUARDED_BY(control_);
  Placement core_ OMPL_GUARDED_BY(control_);  // its own, once it was chosen
  Mutex serving_;                             // while the client is served, so that it can leave
  std::atomic<ProgressClient*> client_{nullptr};
  std::atomic<uint32_t> users_{0};
  std::atomic<bool> stop_{false};
  std::atomic<bool> runs_{false};
  std::atomic<bool> spins_{false};
  std::atomic<bool> own_core_{false};
  std::atomic<bool> attending_{false};
  std::atomic<int> admitted_{kNotAsked};  // by the conduit, whether the thread may call it
  EventCount events_;
  std::chrono::nanoseconds nap_{0};  // the thread's own: its next one
};

}  // namespace ompl
