// SPDX-License-Identifier: BSD-3-Clause
#include "coll/servant.hpp"

#include <fmt/ranges.h>
#include <pthread.h>
#include <sched.h>

#include <chrono>
#include <system_error>

#include "arch/futex.hpp"
#include "coll/engine.hpp"
#include "coll/placement.hpp"
#include "core/block.hpp"
#include "util/log.hpp"

namespace ompl::coll {
namespace {

constexpr int64_t kSpin_ns = 50'000;             // of a servant with a core of its own
constexpr std::chrono::milliseconds kNap{1};     // once a rank has failed, when nobody sleeps otherwise
constexpr std::chrono::seconds kLongSleep{100};  // it is rung

}  // namespace

Servant::~Servant() {
  stop_.store(true);
  ring();
  engine_.runtime().wake_own_completions();
  if (thread_.joinable()) thread_.join();
}

int Servant::begin() {
  if (thread_.joinable()) return OMPL_OK;
  try {
    thread_ = std::thread([this] { serve(); });
  } catch (const std::system_error& error) {
    return fail(OMPL_ERR_SYSTEM, "ompl_team_set_progress: cannot start a thread: {}", error.what());
  }
  ::pthread_setname_np(thread_.native_handle(), "ompl-progress");
  take_core(spins_.load());
  return OMPL_OK;
}

void Servant::set_spinning(bool spins) {
  if (spins_.exchange(spins) != spins && thread_.joinable()) take_core(spins);
}

// Not what the thread that comes here may use: that may be bound itself.
void Servant::take_core(bool own) {
  const Runtime& runtime = engine_.runtime();
  if (own && own_core_.empty()) {
    const arch::Cores cores = arch::cores_of(runtime.processors());
    const Placement placement = spare_core(cores, runtime.sharing());
    own_core_ = placement.processors;
    log::info("rank {}: the progress thread gets processor {}: {} ({})", runtime.rank(),
              fmt::join(own_core_, ","), placement.why, cores.known_by);
  }
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  for (const unsigned processor : own ? own_core_ : arch::processors_of(runtime.processors()))
    CPU_SET(processor, &wanted);
  // An empty set is refused, and so is one that was taken from the process since: the thread stays where it is.
  static_cast<void>(::pthread_setaffinity_np(thread_.native_handle(), sizeof wanted, &wanted));
}

// The bell first, then the look at who sleeps; the sleeper the other way round.
void Servant::ring() {
  bell_.fetch_add(1, std::memory_order_seq_cst);
  if (asleep_.load(std::memory_order_seq_cst))
    arch::futex_wake_all(reinterpret_cast<const uint32_t*>(&bell_));
}

void Servant::serve() {
  Runtime& runtime = engine_.runtime();
  Context* const c = runtime.open_context();
  while (!stop_.load()) {
    const uint32_t rung = bell_.load(std::memory_order_seq_cst);
    work(*c);
    asleep_.store(true, std::memory_order_seq_cst);
    if (!stop_.load()) arch::futex_wait(reinterpret_cast<const uint32_t*>(&bell_), rung, kLongSleep);
    asleep_.store(false, std::memory_order_seq_cst);
  }
  runtime.abandon_context(c);
}

// Until nothing is left to wait for.
void Servant::work(Context& c) {
  Runtime& runtime = engine_.runtime();
  bool again = false;
  while (!stop_.load() && (spins_.load() ? spin(c, &again) : engine_.serve(c, &again))) {
    const Blocked what{
        .call = ompl::Call::collective, .bucket = &runtime.bucket_any(), .background = true};
    Blocker blocker(runtime, c, what, Deadline::never());
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
bool Servant::spin(Context& c, bool* again) {
  const int64_t end = now_ns() + kSpin_ns;
  while (!stop_.load() && now_ns() < end) {
    engine_.runtime().drive(c);
    engine_.serve(c, again);
    arch::pause();
  }
  return engine_.serve(c, again);
}

}  // namespace ompl::coll
