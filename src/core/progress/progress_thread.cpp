// SPDX-License-Identifier: BSD-3-Clause
#include "core/progress/progress_thread.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <new>
#include <utility>

#include "arch/futex.hpp"
#include "arch/give_way.hpp"
#include "arch/time_slice.hpp"
#include "core/data/operations.hpp"
#include "core/network/network.hpp"
#include "core/wait/block.hpp"
#include "core/wait/sentinel.hpp"
#include "util/log.hpp"

namespace ompl {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr uint32_t kTurnsAlone = 16;
constexpr milliseconds kFailureNap{1};  // once a rank has failed, when nobody sleeps otherwise
// While other threads of the program are in the library. After two of the longest an idle program's thread is needed again.
constexpr microseconds kShortestNap{50};
constexpr microseconds kLongestNap{250};
constexpr microseconds kBlindSleep{300};    // of a sleep, if the conduit cannot wake it
constexpr milliseconds kLongestSleep{100};  // of others, after which it looks for deaths
constexpr uint32_t kMostInVain = 64;    // times that the network wakes it for nothing, until it naps
constexpr int64_t kLinger_ns = 50'000;  // on a core of its own, for more of what it has found
constexpr int64_t kExitLimit_ns = 1'000'000'000;
constexpr uint32_t kByEnvironment = 1U
                                    << 31;  // among those who want the service: it is never taken back

thread_local constinit const ProgressThread* t_own_thread = nullptr;

// While it lives the thread may be in the network for other ranks.
class InNetwork {
 public:
  explicit InNetwork(std::atomic<bool>& attending) : attending_(attending) { attending_.store(true); }
  ~InNetwork() { attending_.store(false); }
  InNetwork(const InNetwork&) = delete;
  InNetwork& operator=(const InNetwork&) = delete;

 private:
  std::atomic<bool>& attending_;
};

}  // namespace

int ProgressThread::begin_by(std::string_view mode) {
  if (mode == "none") return OMPL_OK;
  const auto begin_for_good = [this] {
    const int code = begin_service();
    if (code == OMPL_OK) users_.fetch_add(kByEnvironment - 1);
    return code;
  };
  if (mode == "thread") return begin_for_good();
  const Network* const network = runtime_.network.get();
  const char* why = nullptr;
  if (network == nullptr) {
    why = "all ranks share memory";
  } else if (network->pool.capabilities().passive_target) {
    why = "puts and gets need no processor of their target";
  } else {
    const Lock lock(control_);
    if (!choose_core().spare) why = "no core is left free";
  }
  if (why == nullptr && begin_for_good() != OMPL_OK) why = error_detail();
  if (why != nullptr) log::info("rank {}: no progress thread: {}", runtime_.rank(), why);
  return OMPL_OK;
}

int ProgressThread::begin_service() {
  {
    const Lock lock(control_);
    if (const int code = start(); code != OMPL_OK) return code;
  }
  while (admitted_.load() == kNotAsked) arch::give_way();
  if (admitted_.load() == OMPL_ERR_MEMORY)
    return fail(OMPL_ERR_MEMORY, "no memory for a progress thread");
  if (admitted_.load() != OMPL_OK)
    return fail(
        OMPL_ERR_UNSUPPORTED,
        "a progress thread may not call MPI here: initialise MPI with MPI_THREAD_MULTIPLE, or "
        "MPI_THREAD_SERIALIZED and ompl_mpi_lock, or do without the thread (OMPL_PROGRESS=none)");
  users_.fetch_add(1);
  const Lock lock(control_);
  take_core();
  notify();
  return OMPL_OK;
}

int ProgressThread::end_service() {
  uint32_t users = users_.load();
  do {
    if (users % kByEnvironment == 0)
      return fail(OMPL_ERR_STATE,
                  "ompl_set_progress_thread: nobody has asked for the thread that is to end");
  } while (!users_.compare_exchange_weak(users, users - 1));
  if (users > 1) return OMPL_OK;
  notify();
  while (attending_.load() && users_.load() == 0) arch::give_way();
  const Lock lock(control_);
  take_core();
  return OMPL_OK;
}

int ProgressThread::attach(ProgressClient& client) {
  client_.store(
      &client);  // without the lock of those that serve it: who attaches may hold what its serve() takes
  const Lock lock(control_);
  return start();
}

void ProgressThread::detach() {
  set_spinning(false);
  const Lock lock(serving_);
  client_.store(nullptr);
}

void ProgressThread::set_spinning(bool spins) {
  if (spins_.exchange(spins) == spins) return;
  const Lock lock(control_);
  take_core();
}

void ProgressThread::notify() {
  events_.notify();
  SegmentHeader& header = runtime_.memory.header();
  if (header.progress.sleepers.load(std::memory_order_seq_cst) != 0)
    runtime_.sleepers.wake(runtime_.rank(), header, header.progress);
}

void ProgressThread::end() {
  const Lock lock(control_);
  if (!thread_.joinable()) return;
  tell_to_stop();
  thread_.join();
  users_.store(0);
}

void ProgressThread::end_at_exit() {
  tell_to_stop();
  const int64_t limit = now_ns() + kExitLimit_ns;
  while (runs_.load() && t_own_thread != this && now_ns() < limit) arch::give_way();
}

void ProgressThread::tell_to_stop() {
  stop_.store(true);
  notify();
  runtime_.sleepers.wake_own_completions();
}

int ProgressThread::start() {
  if (thread_.joinable()) return OMPL_OK;
  stop_.store(false);
  runs_.store(true);
  own_core_.store(false);
  const int code = start_progress_thread(&thread_, [this] { run(); });
  if (code != OMPL_OK) {
    runs_.store(false);
    return code;
  }
  bind_progress_thread(thread_, arch::processors_of(runtime_.members.processors()));
  return OMPL_OK;
}

// Not what the thread that comes here may use: that may be bound itself.
const Placement& ProgressThread::choose_core() {
  if (!core_.why.empty()) return core_;
  const arch::Cores cores = arch::cores_of(runtime_.members.processors());
  core_ = spare_core(cores, runtime_.members.sharing());
  log::info("rank {}: the progress thread's own core is processor {}: {} ({})", runtime_.rank(),
            fmt::join(core_.processors, ","), core_.why, cores.known_by);
  return core_;
}

// The client's choice is a core of its own even if that computes too; for other ranks it takes one that is free.
void ProgressThread::take_core() {
  if (!thread_.joinable()) return;
  const bool own = spins_.load() || (serves() && choose_core().spare);
  if (own_core_.exchange(own) == own) return;
  bind_progress_thread(
      thread_, own ? choose_core().processors : arch::processors_of(runtime_.members.processors()));
}

void ProgressThread::run() {
  t_own_thread = this;
  Context* const c = begin();
  while (c != nullptr && !stop_.load()) {
    const uint32_t notified = events_.count.load(std::memory_order_seq_cst);
    try {
      work(*c);
      attend(*c, notified);
    } catch (const std::bad_alloc&) {  // of what others have sent; it is looked for again
      std::this_thread::sleep_for(kFailureNap);
      continue;
    }
    events_.wait(notified, EventCount::Sleep::sound, kUntilNotified,
                 [this] { return stop_.load() || serves(); });
  }
  if (c != nullptr) runtime_.contexts.abandon(c);
  runs_.store(false);
}

// Null: there is no memory for a context.
Context* ProgressThread::begin() {
  try {
    Context* const c = runtime_.contexts.open();
    const Network* const network = runtime_.network.get();
    admitted_.store(network != nullptr ? network->pool.conduit().admits() : int{OMPL_OK});
    return c;
  } catch (const std::bad_alloc&) {
    admitted_.store(OMPL_ERR_MEMORY);
    return nullptr;
  }
}

bool ProgressThread::serve_client(Context& c, bool* again) {
  const Lock lock(serving_);
  ProgressClient* const client = client_.load();
  return client != nullptr && client->serve(c, again);
}

// The client's, until nothing is left to wait for.
void ProgressThread::work(Context& c) {
  bool again = false;
  while (!stop_.load() && (spins_.load() ? spin(c, &again) : serve_client(c, &again))) {
    const Blocked what{.call = Call::collective, .background = true};
    Blocker blocker(c, what, Deadline::never());
    const int code = blocker.run([&] {
      again = false;
      const bool left = serve_client(c, &again);
      if (again) blocker.stay_awake();
      return !left || stop_.load() ? 1 : 0;
    });
    if (code != OMPL_OK) std::this_thread::sleep_for(kFailureNap);
  }
}

// True if there is still something to wait for after a while in which nothing could be done.
bool ProgressThread::spin(Context& c, bool* again) {
  uint32_t turns = 0;
  const int64_t end = now_ns() + kProgressSpin_ns;
  while (!stop_.load() && now_ns() < end) {
    ompl::drive(c);
    serve_client(c, again);
    // Its core may be less free than was thought.
    if (++turns % kTurnsAlone == 0) arch::give_way();
    arch::pause();
  }
  return serve_client(c, again);
}

// For other ranks, until the client has something to do.
void ProgressThread::attend(Context& c, uint32_t notified) {
  if (!attends(notified)) return;
  arch::take_short_turns();
  const InNetwork in_network(attending_);
  nap_ = kShortestNap;
  uint32_t in_vain = 0;
  int64_t lingers_until = 0;
  for (bool poked = false; attends(notified);) {
    const Look seen = look(c);
    if (seen.found) {
      in_vain = 0;
      nap_ = kShortestNap;
      poked = false;
      if (own_core_.load()) lingers_until = now_ns() + kLinger_ns;
    } else if (seen.busy || poked || in_vain >= kMostInVain) {
      nap(notified);
      in_vain = 0;
      poked = false;
    } else if (lingers_until != 0 && now_ns() < lingers_until) {
      arch::pause();
    } else {
      const SentinelWake wake = sleep(notified);
      poked = wake == SentinelWake::poked || wake == SentinelWake::failed;
      if (!poked) nap_ = kShortestNap;
      if (wake == SentinelWake::network || wake == SentinelWake::at_once) ++in_vain;
    }
  }
}

bool ProgressThread::attends(uint32_t notified) const {
  return users_.load() != 0 && !stop_.load() && events_.count.load() == notified;
}

ProgressThread::Look ProgressThread::look(Context& c) {
  Look seen;
  if (Network* const network = runtime_.network.get();
      network != nullptr && !network->pool.is_severed()) {
    network->sender.send_held(c);
    const EndpointPool::Tended tended = network->pool.tend(c);
    seen = {.found = tended.found, .busy = tended.busy};
  }
  seen.found = runtime_.remote_calls.progress() || seen.found;
  runtime_.failures.look_for_deaths();
  runtime_.remote_calls.look_at_failures();
  return seen;
}

// The thread among the sleepers of its bucket, perhaps the sentinel, however the sleep ends.
class ProgressThread::Registered {
 public:
  Registered(Runtime& runtime, bool watches)
      : runtime_(runtime), bucket_(runtime.memory.header().progress) {
    bucket_.sleepers.fetch_add(1, std::memory_order_seq_cst);
    events_ = bucket_.events.load(std::memory_order_seq_cst);
    is_sentinel_ = watches && become_sentinel(runtime_, SentinelRole::progress_thread);
  }
  ~Registered() {
    resign();
    bucket_.sleepers.fetch_sub(1, std::memory_order_seq_cst);
  }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;

  [[nodiscard]] bool is_sentinel() const { return is_sentinel_; }
  // False: it is no more the sentinel that it was.
  bool resign() {
    return !std::exchange(is_sentinel_, false) ||
           resign_as_sentinel(runtime_, SentinelRole::progress_thread);
  }
  // True: it was woken.
  [[nodiscard]] bool sleep(std::chrono::nanoseconds limit) const {
    arch::futex_wait(reinterpret_cast<const uint32_t*>(&bucket_.events), events_, limit);
    return bucket_.events.load() != events_;
  }

 private:
  Runtime& runtime_;
  Bucket& bucket_;
  uint32_t events_;
  bool is_sentinel_;
};

// Until something comes for which this thread may be needed. Producers of signals do not see it: it sleeps on a bucket of its own.
// What it finds on its last look another thread is at.
SentinelWake ProgressThread::sleep(uint32_t notified) {
  const Network* const network = runtime_.network.get();
  const bool severed = network != nullptr && network->pool.is_severed();
  Registered sleeper(runtime_, !severed);
  SentinelWake wake = SentinelWake::time;
  if (!attends(notified) || runtime_.remote_calls.due_at_last()) {
    wake = SentinelWake::poked;
  } else if (sleeper.is_sentinel()) {
    wake = sleep_as_sentinel(runtime_, kLongestSleep);
  } else {
    const bool blind = network != nullptr && !severed && !network->pool.can_sleep();
    if (sleeper.sleep(blind ? std::chrono::nanoseconds(kBlindSleep) : kLongestSleep))
      wake = SentinelWake::poked;
  }
  return sleeper.resign() ? wake : SentinelWake::poked;
}

void ProgressThread::nap(uint32_t notified) {
  events_.wait(notified, EventCount::Sleep::sound, nap_, [&] { return !attends(notified); });
  nap_ = std::min<std::chrono::nanoseconds>(2 * nap_, kLongestNap);
}

}  // namespace ompl
