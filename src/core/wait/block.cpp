// SPDX-License-Identifier: BSD-3-Clause
#include "core/wait/block.hpp"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
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
// How long a context counts as loading a core after it last blocked, and how often that is counted.
constexpr int64_t kLoadMemory_ns = 100'000'000;
constexpr int64_t kLoadPeriod_ns = 1'000'000;
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
  const Settings& settings = runtime_.settings();
  // A poll of a network is a system call or two; a hook has other work.
  const bool idle = runtime_.network_ == nullptr && runtime_.yield_hook_ == nullptr;
  Patience limit{
      .spins = runtime_.network_ != nullptr ? 100 : 2000, .yields = 200, .eager = idle ? kEager : 0};
  if (runtime_.crowded_.load(std::memory_order_relaxed)) {
    limit = {.spins = 0, .yields = 1000};
    const bool in_pairs = what_.call != Call::collective;
    if (idle && !std::exchange(context_->bulky, false) && in_pairs) {
      limit = {.spins = 0, .yields = 50, .eager = kTogether};
      limit.between = runtime_.node_rank_ % 2 == 0 ? 2 * kAlone : kAlone;
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
  if (passed) runtime_.look_for_deaths();  // whose waits are all short gets no further than here
  const bool hopeless = what_.peer == kNoRank ? runtime_.hopeless()
                                              : runtime_.peers_[what_.peer].failure.load() != OMPL_OK &&
                                                    !runtime_.deaths_are_ignored();
  if (hopeless && !what_.own_end) {
    *code = runtime_.report_failure();
    return true;
  }
  if (what_.world && runtime_.world_failure() != OMPL_OK) {
    *code = runtime_.report_world_failure();
    return true;
  }
  if (runtime_.network_ != nullptr) {
    *code = runtime_.network_->pool.conduit().admits();
    if (*code != OMPL_OK) return true;
  }
  if (!passed) return false;
  *code = OMPL_ERR_TIMEOUT;
  return true;
}

void Blocker::begin() {
  const int64_t now = now_ns();
  Activity& activity = context_->activity;
  activity.peer.store(what_.peer, std::memory_order_relaxed);
  activity.offset.store(what_.offset, std::memory_order_relaxed);
  if (activity.call.load(std::memory_order_relaxed) == Call::none) {
    activity.since_ns.store(now, std::memory_order_relaxed);
    if (activity.thread.load(std::memory_order_relaxed) == 0) {
      activity.thread.store(static_cast<int>(::syscall(SYS_gettid)), std::memory_order_relaxed);
    }
    activity.call.store(what_.call, std::memory_order_release);
  }
  if (runtime_.network_ != nullptr) runtime_.network_->sender.send_held(*context_);
  if (!what_.background) runtime_.note_load(*context_, now);
}

void Runtime::note_load(Context& context, int64_t now) {
  context.activity.last_seen_ns.store(now, std::memory_order_relaxed);
  const bool fresh = !context.counted.exchange(true, std::memory_order_acq_rel);
  if (fresh) {
    segment_.header().threads.fetch_add(1, std::memory_order_relaxed);
    count_load(&context);
  }
  int64_t last = load_counted_ns_.load(std::memory_order_relaxed);
  if (!fresh && now - last < kLoadPeriod_ns) return;
  if (!load_counted_ns_.compare_exchange_strong(last, now, std::memory_order_relaxed) && !fresh) return;
  if (!counting_load_.exchange(true, std::memory_order_acquire)) {
    uncount_idle(now);
    counting_load_.store(false, std::memory_order_release);
  }
  uint32_t all = 0;
  for (const uint32_t rank : node_ranks_)
    all += header_of(bases_[rank]).threads.load(std::memory_order_relaxed);
  crowded_.store(all > node_cores_, std::memory_order_relaxed);
}

void Runtime::count_load(Context* context) {
  context->next_counted = counted_contexts_.load(std::memory_order_relaxed);
  while (!counted_contexts_.compare_exchange_weak(
      context->next_counted, context, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

// Takes the whole list, and puts back those that still load a core. One thread at a time.
void Runtime::uncount_idle(int64_t now) {
  Context* next = nullptr;
  for (Context* c = counted_contexts_.exchange(nullptr, std::memory_order_acquire); c != nullptr;
       c = next) {
    next = c->next_counted;
    const bool idle = c->activity.last_seen_ns.load(std::memory_order_relaxed) + kLoadMemory_ns < now &&
                      c->activity.call.load(std::memory_order_relaxed) == Call::none;
    if (!idle) {
      count_load(c);
      continue;
    }
    segment_.header().threads.fetch_sub(1, std::memory_order_relaxed);
    c->counted.store(false, std::memory_order_release);  // last: it may be counted again at once
  }
}

bool Blocker::yield() {
  ++context_->statistics.yields;
  if (!enters_hook()) {
    arch::give_way();
    return true;
  }
  if (registered_) hand_on_role();  // the hook may run for long
  const bool may_sleep =
      uncancelled_.pause([this] { return runtime_.yield_hook_(runtime_.yield_argument_) == 0; });
  Context& now = caller_.now();
  if (&now != context_) {
    context_->activity.call.store(Call::none, std::memory_order_relaxed);
    context_ = &now;
    begin();
  }
  return may_sleep;
}

void Blocker::housekeeping() {
  runtime_.look_for_deaths();
  const double limit = runtime_.settings().hang_report;
  const int64_t blocked = now_ns() - context_->activity.since_ns.load(std::memory_order_relaxed);
  const bool hangs = limit > 0 && !reported_ && static_cast<double>(blocked) > limit * 1e9;
  if (!hangs && !runtime_.report_requested_.load(std::memory_order_relaxed)) return;
  if (!runtime_.report_requested_.exchange(false) && !hangs) return;
  reported_ = true;
  const std::string report = runtime_.hang_report();
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, report.data(), report.size());
}

// How long to sleep at most, where what is waited for wakes the sleeper, or nothing but time does.
milliseconds Blocker::slice(bool blind) {
  const Extension* const extension = runtime_.extension();
  if (!blind && (extension == nullptr || !extension->wants_idle())) return kSlice;
  return blind_slice_ = std::min(std::max(kBlindSlice, blind_slice_ * 2), kLongestBlindSlice);
}

void Blocker::sleep_in_futex(uint32_t events) {
  const bool blind = runtime_.network_ != nullptr && !runtime_.network_->pool.can_sleep();
  const auto limit = deadline_.remaining(slice(blind));
  if (limit.count() <= 0) return;
  arch::futex_wait(reinterpret_cast<const uint32_t*>(&bucket_.events), events, limit);
}

// One sleeper of the rank watches the network for all; it sleeps in epoll, so producers that find it
// registered also write to its pipe.
bool Blocker::become_sentinel() {
  if (runtime_.network_ == nullptr || !runtime_.network_->pool.can_sleep()) return false;
  uint32_t nobody = 0;
  return runtime_.segment_.header().sentinel.compare_exchange_strong(nobody, 1,
                                                                     std::memory_order_seq_cst);
}

void Blocker::sleep_as_sentinel() {
  EndpointPool& pool = runtime_.network_->pool;
  if (!pool.arm_all()) return;
  const auto limit = std::chrono::ceil<milliseconds>(deadline_.remaining(slice(false)));
  std::array<epoll_event, 4> events{};
  const int found =
      ::epoll_wait(pool.epoll_fd(), events.data(), events.size(), static_cast<int>(limit.count()));
  for (int i = 0; i < found; ++i) {
    if (events[static_cast<std::size_t>(i)].data.fd != runtime_.wake_pipe_[0]) continue;
    std::array<char, 256> bytes{};
    [[maybe_unused]] const ssize_t drained = ::read(runtime_.wake_pipe_[0], bytes.data(), bytes.size());
  }
}

void Blocker::resign_as_sentinel() {
  runtime_.segment_.header().sentinel.store(0, std::memory_order_seq_cst);
}

// Whoever was registered and goes away, sentinel or not, may be the one that was woken to take the role over:
// if nobody has it, wake a bucket, whose threads compete for it [16].
void Blocker::hand_on_role() {
  if (runtime_.network_ == nullptr) return;
  SegmentHeader& header = runtime_.segment_.header();
  if (header.sentinel.load(std::memory_order_seq_cst) != 0) return;
  if (header.any.sleepers.load(std::memory_order_seq_cst) != 0) {
    runtime_.wake(runtime_.rank(), header, header.any);
    return;
  }
  for (Bucket& bucket : header.buckets) {
    if (bucket.sleepers.load(std::memory_order_seq_cst) == 0) continue;
    runtime_.wake(runtime_.rank(), header, bucket);
    return;
  }
}

}  // namespace ompl
