// SPDX-License-Identifier: BSD-3-Clause
#include "coll/progress/progress_thread.hpp"

#include <fmt/ranges.h>

#include <chrono>

#include "arch/give_way.hpp"
#include "coll/engine.hpp"
#include "coll/progress/thread_start.hpp"
#include "core/data/operations.hpp"
#include "core/wait/block.hpp"
#include "util/log.hpp"

namespace ompl::coll {
namespace {

constexpr uint32_t kTurnsAlone = 16;
constexpr std::chrono::milliseconds kNap{1};  // once a rank has failed, when nobody sleeps otherwise

}  // namespace

ProgressThread::~ProgressThread() {
  stop_.store(true);
  notify();
  engine_.runtime().sleepers.wake_own_completions();
  if (thread_.joinable()) thread_.join();
}

int ProgressThread::begin() {
  if (thread_.joinable()) return OMPL_OK;
  if (const int code = start_progress_thread(&thread_, [this] { run(); }); code != OMPL_OK) return code;
  take_core(spins_.load());
  return OMPL_OK;
}

void ProgressThread::set_spinning(bool spins) {
  if (spins_.exchange(spins) != spins && thread_.joinable()) take_core(spins);
}

// Not what the thread that comes here may use: that may be bound itself.
void ProgressThread::take_core(bool own) {
  const Runtime& runtime = engine_.runtime();
  if (own && own_core_.empty()) {
    const arch::Cores cores = arch::cores_of(runtime.members.processors());
    const Placement placement = spare_core(cores, runtime.members.sharing());
    own_core_ = placement.processors;
    log::info("rank {}: the progress thread gets processor {}: {} ({})", runtime.rank(),
              fmt::join(own_core_, ","), placement.why, cores.known_by);
  }
  bind_progress_thread(thread_, own ? own_core_ : arch::processors_of(runtime.members.processors()));
}

void ProgressThread::run() {
  Runtime& runtime = engine_.runtime();
  Context* const c = runtime.contexts.open();
  while (!stop_.load()) {
    const uint32_t notified = events_.count.load(std::memory_order_seq_cst);
    work(*c);
    events_.wait(notified, EventCount::Sleep::sound, kUntilNotified, [this] { return stop_.load(); });
  }
  runtime.contexts.abandon(c);
}

// Until nothing is left to wait for.
void ProgressThread::work(Context& c) {
  bool again = false;
  while (!stop_.load() && (spins_.load() ? spin(c, &again) : engine_.serve(c, &again))) {
    const Blocked what{.call = ompl::Call::collective, .background = true};
    Blocker blocker(c, what, Deadline::never());
    const int code = blocker.run([&] {
      again = false;
      const bool left = engine_.serve(c, &again);
      if (again) blocker.stay_awake();
      return !left || stop_.load() ? 1 : 0;
    });
    if (code != OMPL_OK) std::this_thread::sleep_for(kNap);
  }
}

// True if there is still something to wait for after a while in which nothing could be done.
bool ProgressThread::spin(Context& c, bool* again) {
  uint32_t turns = 0;
  const int64_t end = now_ns() + kProgressSpin_ns;
  while (!stop_.load() && now_ns() < end) {
    ompl::drive(c);
    engine_.serve(c, again);
    // Its core may be less free than was thought.
    if (++turns % kTurnsAlone == 0) arch::give_way();
    arch::pause();
  }
  return engine_.serve(c, again);
}

}  // namespace ompl::coll
