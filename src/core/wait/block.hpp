// SPDX-License-Identifier: BSD-3-Clause
// The one loop in which threads wait: spin, then yield, then sleep, always driving progress.
// Protocol rules 1, 3, 9, 15-17; docs/explanation/waiting.md.
#pragma once

#include "arch/cancellation.hpp"
#include "core/calls/scope.hpp"
#include "core/job/runtime.hpp"
#include "core/network/network.hpp"
#include "core/wait/sentinel.hpp"
#include "util/status.hpp"

namespace ompl {

// What to say of a blocked call, and where it sleeps.
struct Blocked {
  Call call = Call::none;
  uint32_t peer = kNoRank;     // whose death ends the wait; kNoRank: anybody's
  uint32_t awaited = kNoRank;  // who is to signal the flag at `offset`, if that is known
  uint64_t offset = 0;
  // Of the own header, where it sleeps; null: among those who wait for several flags, or for completions.
  Bucket* bucket = nullptr;
  bool flag = false;        // for the flag at `offset` of the own segment
  bool background = false;  // a thread that serves others: sleeps at once, and is no load
  bool world = false;       // needs every rank: any failure in the job ends it, acknowledged or not
  // Only `ready` ends it, or time, for what breaks or dies elsewhere frees none of its buffers.
  bool own_end = false;
  // What the call posts must go through the same context as what went before: an implicit one would be another after the yield
  // hook, which is then not entered.
  bool keeps_thread = false;
  // What ends it may be a plain store, of which nobody is told [28].
  bool unannounced = false;
};

// Its thread is cancelled where a wait that changes nothing begins to block, and nowhere else.
class Blocker {
 public:
  Blocker(Context& context, const Blocked& what, Deadline deadline)
      : runtime_(*context.runtime),
        caller_(context),
        context_(&context),
        what_(what),
        bucket_(what.bucket != nullptr ? *what.bucket : runtime_.memory.header().any),
        deadline_(deadline) {}
  ~Blocker() {
    context_->activity.call.store(Call::none, std::memory_order_relaxed);
    if (registered_) hand_on_role(runtime_);
  }
  Blocker(const Blocker&) = delete;
  Blocker& operator=(const Blocker&) = delete;

  // Calls `ready` until it returns nonzero (> 0: OMPL_OK, < 0: an error), a rank's death makes that
  // hopeless, or the deadline passes (OMPL_ERR_TIMEOUT, `ready` having returned 0 last).
  template <class Ready>
  int run(Ready ready);

  // The caller's, which is another one once the yield hook has moved the task to another thread.
  [[nodiscard]] Context& context() const { return *context_; }

  // Called by `ready`, returning 0, when what it needs will be free in a moment without any event.
  void stay_awake() { awake_ = true; }

 private:
  // How long each phase lasts, in polls; by the load on this node's cores now.
  struct Patience {
    int spins;
    int yields;
    int between = 0;  // spins after each yield
    int eager = 0;    // spins of the next ompl_wait, if this one ends while spinning
  };
  [[nodiscard]] Patience patience() const;
  static constexpr uint32_t kTurn = 256;  // waits

  // Whether a death or the deadline ends the wait, and with which code.
  [[nodiscard]] bool over(int* code) const;
  void progress();
  void begin();         // publishes what the thread is blocked in, and that it loads the cores
  bool yield();         // one turn for others; true if the thread may sleep as far as they care
  void housekeeping();  // deaths and hang reports
  template <class Ready>
  int once(Ready& ready);
  template <class Ready>
  int spin(Ready& ready, int polls);
  template <class Ready>
  int sleep(Ready& ready);
  std::chrono::nanoseconds slice(bool blind);
  void sleep_in_futex(uint32_t events);

  // A registered sleeper, perhaps the sentinel, however the sleep ends [15, 16].
  struct Sleeper {
    explicit Sleeper(Blocker& by);
    ~Sleeper();
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;
    Blocker& blocker;
    uint32_t events;  // of its bucket, before it looks again
    bool sentinel;
  };
  [[nodiscard]] bool enters_hook() const {
    return runtime_.yield_hook.function != nullptr && !(what_.keeps_thread && caller_.is_implicit()) &&
           !calls::in_function();
  }
  // A function may wait for room in the network, which other ranks' progress makes, and for nothing that they do [26].
  [[nodiscard]] bool waits_in_function() const {
    return calls::in_function() && what_.call != Call::put && what_.call != Call::put_word &&
           what_.call != Call::put_signal;
  }
  // Whether the thread may be cancelled: nothing is given back but what the caller has not got yet.
  [[nodiscard]] bool may_be_cancelled() const {
    return what_.call == Call::wait || what_.call == Call::wait_until ||
           what_.call == Call::wait_many || what_.call == Call::wait_memory ||
           what_.call == Call::progress;
  }

  arch::Uncancelled uncancelled_;
  Runtime& runtime_;
  Caller caller_;
  Context* context_;  // of the caller, now
  const Blocked what_;
  Bucket& bucket_;
  const Deadline deadline_;
  bool reported_ = false;
  bool asked_ = false;
  bool awake_ = false;
  bool served_ = false;      // it has run calls of other ranks: more may come, so it spins again
  bool registered_ = false;  // slept, or nearly
  std::chrono::nanoseconds blind_slice_{0};  // of the last sleep that nothing but time could end
};

template <class Ready>
int Blocker::run(Ready ready) {
  if (deadline_.immediate()) return once(ready);
  for (bool slept = false;;) {
    // Who slept and was woken for nothing goes back to sleep soon.
    const Patience limit = what_.background ? Patience{.spins = 1, .yields = 0}
                           : slept          ? Patience{.spins = 0, .yields = 1}
                                            : patience();
    int result = slept ? 0 : ready();  // a poll of the network may cost more than the operation
    if (result == 0 && waits_in_function()) [[unlikely]]
      return calls::may_wait("a wait");
    if (result == 0) result = spin(ready, limit.spins);
    if (result != 0) {
      context_->eager_spins = limit.eager;
      return result > 0 ? OMPL_OK : result;
    }
    context_->eager_spins = 0;
    context_->turn = kTurn;
    begin();
    if (may_be_cancelled()) uncancelled_.cancellation_point();
    bool may_sleep = !enters_hook() || what_.background;
    for (int i = 0; i < limit.yields; ++i) {
      result = spin(ready, i == 0 ? 1 : 1 + limit.between);
      if (result != 0) return result > 0 ? OMPL_OK : result;
      if (over(&result)) return result;
      if (served_) break;
      may_sleep = yield();
    }
    housekeeping();
    if (std::exchange(served_, false)) {
      slept = false;
      continue;
    }
    if (may_sleep) {
      result = sleep(ready);
      slept = !awake_;
    }
    if (result != 0 || over(&result)) return result > 0 ? OMPL_OK : result;
  }
}

// No patience: who computes looks often, and a poll of the network is a system call or two.
template <class Ready>
int Blocker::once(Ready& ready) {
  int result = ready();
  if (result == 0) {
    begin();
    progress();
    result = ready();
  }
  if (result != 0) return result > 0 ? OMPL_OK : result;
  return over(&result) ? result : time_is_up();
}

template <class Ready>
[[gnu::always_inline]] inline int Blocker::spin(Ready& ready, int polls) {
  constexpr int kMostTurns = 1000;  // deaths are to be looked for too
  int turns = 0;
  for (int i = 0; i < polls; ++i) {
    progress();
    if (const int result = ready(); result != 0) return result;
    if (served_ && polls > 1 && ++turns < kMostTurns && !deadline_.passed()) [[unlikely]] {
      served_ = false;
      i = 0;
    }
    if (i % 64 == 63 && deadline_.passed()) break;
    if (runtime_.network == nullptr) arch::pause();  // else progress() takes long enough
  }
  return 0;
}

// The sleeper's side of rule 15: register, read the count, look again, sleep on the count read.
template <class Ready>
int Blocker::sleep(Ready& ready) {
  const Sleeper registered(*this);
  awake_ = false;
  const int result = ready();
  int ignored = 0;
  if (result == 0 && !awake_ && !over(&ignored) && !runtime_.remote_calls.due_at_last()) {
    ++context_->statistics.sleeps;
    if (registered.sentinel) {
      sleep_as_sentinel(runtime_, deadline_.remaining(slice(false)));
    } else {
      sleep_in_futex(registered.events);
    }
  }
  return result;
}

inline Blocker::Sleeper::Sleeper(Blocker& by) : blocker(by) {
  by.bucket_.sleepers.fetch_add(1, std::memory_order_seq_cst);
  // After the bucket: who sees this finds that.
  by.runtime_.memory.header().sleepers.fetch_add(1, std::memory_order_seq_cst);
  by.registered_ = true;
  // The count before the role: a bump by the last sentinel, which left meanwhile, must not be missed.
  events = by.bucket_.events.load(std::memory_order_seq_cst);
  sentinel = become_sentinel(by.runtime_, SentinelRole::waiter);
}

inline Blocker::Sleeper::~Sleeper() {
  if (sentinel) resign_as_sentinel(blocker.runtime_, SentinelRole::waiter);
  blocker.runtime_.memory.header().sleepers.fetch_sub(1, std::memory_order_seq_cst);
  blocker.bucket_.sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

inline void Blocker::progress() {
  if (Extension* const extension = runtime_.extension();
      extension != nullptr && extension->wants_idle()) [[unlikely]]
    extension->idle(*context_);
  if (runtime_.network != nullptr)
    runtime_.network->pool.progress(*context_,
                                    what_.flag ? context_->arrival_slot : context_->preferred_slot);
  if (runtime_.remote_calls.progress(true)) served_ = true;
}

}  // namespace ompl
