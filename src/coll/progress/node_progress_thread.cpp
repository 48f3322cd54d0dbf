// SPDX-License-Identifier: BSD-3-Clause
#include "coll/progress/node_progress_thread.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "coll/engine.hpp"
#include "core/data/operations.hpp"
#include "core/progress/thread_start.hpp"
#include "core/wait/block.hpp"
#include "util/log.hpp"

namespace ompl::coll {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// With something left to do, that only members without this progress thread can move on, or none: they nudge it, unless their mode is another.
constexpr milliseconds kShortestNap{1};
constexpr milliseconds kLongestNap{10};

}  // namespace

NodeProgressThread::NodeProgressThread(Engine& engine)
    : engine_(engine), endpoint_(engine.node_endpoint(engine.runtime().rank())), memories_(engine) {}

NodeProgressThread::~NodeProgressThread() {
  endpoint_.open.store(0, std::memory_order_seq_cst);
  stop_.store(true);
  endpoint_.events.notify();
  if (thread_.joinable()) thread_.join();
}

int NodeProgressThread::begin() {
  if (thread_.joinable()) return OMPL_OK;
  if (const int code = start_progress_thread(&thread_, [this] { run(); }); code != OMPL_OK) return code;
  const Runtime& runtime = engine_.runtime();
  const arch::Cores cores = arch::cores_of(runtime.members.processors());
  const Placement placement = node_core(cores);
  bind_progress_thread(thread_, placement.processors);
  log::info("rank {}: the node's progress thread gets processor {}: {} ({})", runtime.rank(),
            fmt::join(placement.processors, ","), placement.why, cores.known_by);
  endpoint_.open.store(1, std::memory_order_seq_cst);
  return OMPL_OK;
}

void NodeProgressThread::run() {
  Context* const c = engine_.runtime().contexts.open();
  work(*c);
  engine_.end_service(*c);
  engine_.runtime().contexts.abandon(c);
}

void NodeProgressThread::work(Context& c) {
  Runtime& runtime = engine_.runtime();
  const Blocked network{.call = ompl::Call::collective, .background = true, .own_end = true};
  milliseconds nap = kShortestNap;
  for (int64_t moved_at = now_ns(); !stop_.load();) {
    const uint32_t notified = endpoint_.events.count.load(std::memory_order_seq_cst);
    bool moved = false;
    bool left = false;
    const auto go_round = [&] {
      ompl::drive(c);
      left = engine_.serve_node(c, memories_, &moved);
      return moved || stop_.load();
    };
    if (go_round()) {
      moved_at = now_ns();
      nap = kShortestNap;
      continue;
    }
    if (now_ns() - moved_at < kProgressSpin_ns) {
      arch::pause();
      continue;
    }
    runtime.failures.look_for_deaths();
    if (left && engine_.has_network()) {
      Blocker blocker(c, network, Deadline::in(nanoseconds(nap).count()));
      const int code =
          blocker.run([&] { return go_round() || endpoint_.events.count.load() != notified ? 1 : 0; });
      if (code != OMPL_OK && code != OMPL_ERR_TIMEOUT) std::this_thread::sleep_for(nap);
    } else {
      const nanoseconds limit = left ? nanoseconds(nap) : kUntilNotified;
      endpoint_.events.wait(notified, left ? EventCount::Sleep::nap : EventCount::Sleep::sound, limit,
                            go_round);
    }
    nap = std::min(nap * 2, kLongestNap);
    if (moved) moved_at = now_ns();
  }
}

}  // namespace ompl::coll
