// SPDX-License-Identifier: BSD-3-Clause
#include "core/wait/block.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "arch/futex.hpp"
#include "arch/give_way.hpp"

namespace ompl {
namespace {
using std::chrono::milliseconds;

// A sleep is cut into slices, after which deaths and hang reports are looked at.
constexpr milliseconds kSlice{100};
// If a conduit cannot wake us, the slice is how long a record may lie unseen.
constexpr milliseconds kBlindSlice{1};
constexpr milliseconds kLongestBlindSlice{10};
// The same for memory that a plain store may change.
constexpr std::chrono::nanoseconds kUnannounced = std::chrono::microseconds(50);
constexpr std::chrono::nanoseconds kLongestUnannounced = milliseconds(1);
// How long a rank that is awaited may be silent before it is asked.
constexpr int64_t kUnasked_ns = 500'000'000;
}  // namespace

// While every thread has a core, spin. On crowded cores whoever signals may need this one, but yielding at
// every message costs a change of threads each time. So a thread spins for about as long as such a change takes,
// and much longer once it has just got the core: then the thread it talks to, on another core, can meet it, and
// the two exchange messages at full speed until one of them gives its core to the next after kTurn. Ranks of
// even and odd number wait differently, lest two that miss each other do so for ever. A thread that has just
// put much yields at once: copying takes the other side longer than anybody should spin.
Blocker::Patience Blocker::patience() const {
  constexpr int kEager = 250;  // polls, of 20 to 50 ns
  constexpr int kTogether = 50;
  constexpr int kAlone = 100;
  const Settings& settings = runtime_.settings;
  // A poll of a network is a system call or two; a hook has other work.
  const bool idle = runtime_.network == nullptr && runtime_.yield_hook.function == nullptr;
  Patience limit{
      .spins = runtime_.network != nullptr ? 100 : 2000, .yields = 200, .eager = idle ? kEager : 0};
  if (runtime_.load.crowded()) {
    limit = {.spins = 0, .yields = 1000};
    const bool in_pairs = what_.call != Call::collective;
    if (idle && !std::exchange(context_->bulky, false) && in_pairs) {
      limit = {.spins = 0, .yields = 50, .eager = kTogether};
      limit.between = runtime_.members.node_rank() % 2 == 0 ? 2 * kAlone : kAlone;
      if (context_->turn != 0 && context_->eager_spins != Context::kSpunInVain) {
        --context_->turn;
        limit.spins = context_->eager_spins != 0 ? kTogether : limit.between;
      }
    }
  } else {
    context_->turn = kTurn;
  }
  if (settings.spin >= 0) {
    limit.spins = settings.spin;
    limit.eager = limit.between = 0;
  }
  if (settings.yields >= 0) limit.yields = settings.yields;
  return limit;
}

bool Blocker::over(int* code) const {
  const bool passed = deadline_.passed();
  Failures& failures = runtime_.failures;
  if (passed) failures.look_for_deaths();  // whose waits are all short gets no further than here
  if (!what_.own_end && failures.hopeless(what_.peer)) {
    *code = failures.report_failure();
    return true;
  }
  if (what_.world && failures.world_failure() != OMPL_OK) {
    *code = failures.report_world_failure();
    return true;
  }
  if (runtime_.network != nullptr) {
    *code = runtime_.network->pool.conduit().admits();
    if (*code != OMPL_OK) return true;
  }
  if (!passed) return false;
  *code = time_is_up();
  return true;
}

void Blocker::begin() {
  const int64_t now = now_ns();
  Activity& activity = context_->activity;
  activity.peer.store(what_.peer != kNoRank ? what_.peer : what_.awaited, std::memory_order_relaxed);
  activity.offset.store(what_.offset, std::memory_order_relaxed);
  if (activity.call.load(std::memory_order_relaxed) == Call::none) {
    activity.since_ns.store(now, std::memory_order_relaxed);
    if (activity.thread.load(std::memory_order_relaxed) == 0) {
      activity.thread.store(static_cast<int>(::syscall(SYS_gettid)), std::memory_order_relaxed);
    }
    activity.call.store(what_.call, std::memory_order_release);
  }
  if (runtime_.network != nullptr) runtime_.network->sender.send_held(*context_);
  if (!what_.background) runtime_.load.note(*context_, now);
}

bool Blocker::yield() {
  ++context_->statistics.yields;
  if (!enters_hook()) {
    arch::give_way();
    return true;
  }
  if (registered_) hand_on_role(runtime_);  // the hook may run for long
  const YieldHook& hook = runtime_.yield_hook;
  const bool may_sleep = uncancelled_.pause([&hook] { return hook.function(hook.argument) == 0; });
  Context& now = caller_.now();
  if (&now != context_) {
    context_->activity.call.store(Call::none, std::memory_order_relaxed);
    context_ = &now;
    begin();
  }
  return may_sleep;
}

void Blocker::housekeeping() {
  runtime_.failures.look_for_deaths();
  runtime_.remote_calls.look_at_failures();
  const double limit = runtime_.settings.hang_report;
  const int64_t blocked = now_ns() - context_->activity.since_ns.load(std::memory_order_relaxed);
  if (what_.awaited != kNoRank) {
    const bool ask = !asked_ && blocked > kUnasked_ns;
    asked_ = asked_ || ask;
    runtime_.failures.look_at_awaited(what_.awaited, what_.offset, ask);
  }
  const bool hangs = limit > 0 && !reported_ && static_cast<double>(blocked) > limit * 1e9;
  if (!hangs && !runtime_.report_requested.load(std::memory_order_relaxed)) return;
  if (!runtime_.report_requested.exchange(false) && !hangs) return;
  reported_ = true;
  const std::string report = hang_report(runtime_);
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, report.data(), report.size());
}

// How long to sleep at most, where what is waited for wakes the sleeper, or nothing but time does.
std::chrono::nanoseconds Blocker::slice(bool blind) {
  if (what_.unannounced)
    return blind_slice_ = std::min(std::max(kUnannounced, blind_slice_ * 2), kLongestUnannounced);
  const Extension* const extension = runtime_.extension();
  if (!blind && (extension == nullptr || !extension->wants_idle())) return kSlice;
  return blind_slice_ = std::min(std::max<std::chrono::nanoseconds>(kBlindSlice, blind_slice_ * 2),
                                 std::chrono::nanoseconds(kLongestBlindSlice));
}

void Blocker::sleep_in_futex(uint32_t events) {
  const bool blind = runtime_.network != nullptr && !runtime_.network->pool.can_sleep();
  const auto limit = deadline_.remaining(slice(blind));
  if (limit.count() <= 0) return;
  arch::futex_wait(reinterpret_cast<const uint32_t*>(&bucket_.events), events, limit);
}

}  // namespace ompl
