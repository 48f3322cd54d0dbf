// SPDX-License-Identifier: BSD-3-Clause
#include "model/goal_writer.hpp"

#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/error.hpp"

namespace ompl::model {

namespace {

bool is_message(const Op& op) { return op.kind != OpKind::compute && op.kind != OpKind::wait; }

// Tags of communicator 0 stay; those of others get the numbers behind them.
class Tags {
 public:
  explicit Tags(const Trace& trace) {
    const auto stream = trace.open();
    Op op;
    for (uint32_t rank = 0; rank < trace.ranks(); ++rank)
      while (stream->next(rank, op))
        if (is_message(op) && op.communicator == 0) first_ = std::max(first_, int64_t{op.tag} + 1);
  }

  int64_t of(const Op& op) {
    if (op.communicator == 0 || op.tag == Op::kAny) return op.tag;
    const uint64_t key = uint64_t{op.communicator} << 32 | static_cast<uint32_t>(op.tag);
    const int64_t tag =
        first_ + numbers_.emplace(key, static_cast<int64_t>(numbers_.size())).first->second;
    if (tag > std::numeric_limits<int32_t>::max()) refuse("more tags than GOAL can number");
    return tag;
  }

 private:
  int64_t first_ = 0;
  std::unordered_map<uint64_t, int64_t> numbers_;
};

// The schedule of one rank. Operation n has the label ln.
class RankWriter {
 public:
  RankWriter(std::ostream& out, Tags& tags, GoalLosses& losses)
      : out_(out), tags_(tags), losses_(losses) {}

  void write(const Op& op) {
    switch (op.kind) {
      case OpKind::compute:
        return add(fmt::format("calc {}", std::llround(op.ns)));
      case OpKind::wait:
        return wait(op);
      default:
        return message(op);
    }
  }

  void end() { settle(); }

 private:
  void add(const std::string& operation) {
    fmt::print(out_, "l{}: {}\n", count_, operation);
    for (const uint64_t earlier : required_) fmt::print(out_, "l{} requires l{}\n", count_, earlier);
    if (count_ > 0 && std::ranges::find(required_, count_ - 1) == required_.end())
      fmt::print(out_, "l{} {} l{}\n", count_, last_computes_ ? "requires" : "irequires", count_ - 1);
    required_.clear();
    last_computes_ = operation.starts_with("calc");
    ++count_;
  }

  // What is required now is required by an operation of its own, so that it stays one call.
  void settle() {
    if (!required_.empty()) add("calc 0");
  }

  void message(const Op& op) {
    const bool sends = op.kind == OpKind::send || op.kind == OpKind::isend;
    if (op.synchronous) ++losses_.synchronous;
    add(fmt::format("{} {}b {} {} tag {}", sends ? "send" : "recv", op.bytes, sends ? "to" : "from",
                    op.peer, tags_.of(op)));
    if (op.kind == OpKind::send || op.kind == OpKind::recv)
      required_.push_back(count_ - 1);
    else
      requests_.emplace(posted_++, count_ - 1);
  }

  void wait(const Op& op) {
    if (!waiting_) settle();
    const auto found = requests_.find(op.request);
    if (found == requests_.end()) refuse("a wait for request {}, which is not open", op.request);
    // An operation that only the next one requires is read as a blocking call.
    if (!waiting_ && found->second == count_ - 1) add("calc 0");
    required_.push_back(found->second);
    requests_.erase(found);
    waiting_ = op.more;
  }

  std::ostream& out_;
  Tags& tags_;
  GoalLosses& losses_;
  uint64_t count_ = 0, posted_ = 0;
  std::vector<uint64_t> required_;                   // by the next operation
  std::unordered_map<uint64_t, uint64_t> requests_;  // open ones, with their operations
  bool waiting_ = false, last_computes_ = false;
};

}  // namespace

GoalLosses write_goal(const Trace& trace, std::ostream& out) {
  GoalLosses losses;
  Tags tags(trace);
  const auto stream = trace.open();
  fmt::print(out, "num_ranks {}\n", trace.ranks());
  for (uint32_t rank = 0; rank < trace.ranks(); ++rank) {
    fmt::print(out, "rank {} {{\n", rank);
    RankWriter writer(out, tags, losses);
    Op op;
    while (stream->next(rank, op)) writer.write(op);
    writer.end();
    fmt::print(out, "}}\n");
  }
  if (!out.flush()) refuse("the GOAL file cannot be written");
  return losses;
}

}  // namespace ompl::model
