// SPDX-License-Identifier: BSD-3-Clause
#include "call.hpp"

namespace ompl::trace {

namespace {

constinit OMPL_TRACE_TLS thread_local Inside inside{};

}  // namespace

[[gnu::noinline]] Inside& Call::here() { return inside; }

// Within another call: what went before of that one is recorded as waiting, which may drive progress.
[[gnu::noinline]] Thread* Call::enter_call() {
  Local& local = ompl_trace_local;
  if (local.depth == 0) return enter();
  if (local.thread == nullptr || !tracer.recording()) return nullptr;
  if (inside.computes) {
    ++local.depth;
    return local.thread;
  }
  Record record{};
  record.kind = Kind::kOmplProgress;
  record.peer = kNoPeer;
  record.comm = 1;
  record.site = inside.site;
  record.begin = tracer.clock.ns(inside.since);
  record.end = tracer.clock.ns(tracer.clock.ticks());
  local.thread->stream.append(record);
  ++local.depth;
  return local.thread;
}

[[gnu::noinline]] bool Call::has_moved() const {
  if (ompl_trace_local.thread == thread_) return false;
  tracer.file.count_lost();
  return true;
}

[[gnu::noinline]] void Call::leave() const {
  thread_->stream.settle();
  Local& local = ompl_trace_local;
  // Not by one less: a function that throws leaves no call in order.
  local.depth = outside_depth_;
  if (local.depth > 0) inside = {tracer.clock.ticks(), outside_.site, outside_.computes};
}

}  // namespace ompl::trace
