// SPDX-License-Identifier: BSD-3-Clause
#include "model/writers/goal_writer.hpp"

#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/input_error.hpp"

namespace ompl::model {

namespace {

// Tags of communicator 0 stay; those of others get the numbers behind them.
class Tags {
 public:
  explicit Tags(const Trace& trace) {
    const auto stream = trace.open();
    Op op;
    for (uint32_t thread = 0; thread < trace.threads(); ++thread)
      while (stream->next(thread, op))
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

// The schedule of one rank, a cpu for each thread. Operation n has the label ln.
class RankWriter {
 public:
  RankWriter(std::ostream& out, uint32_t rank, Tags& tags, GoalLosses& losses)
      : out_(out), rank_(rank), tags_(tags), losses_(losses) {}

  // What is written from now on is of this thread.
  void begin_thread(uint32_t cpu) {
    settle();
    chain_ = {};
    cpu_ = cpu == 0 ? "" : fmt::format(" cpu {}", cpu);
  }

  void write(const Op& op) {
    switch (op.kind) {
      case OpKind::compute:
        return add(fmt::format("calc {}", std::llround(op.ns)));
      case OpKind::wait:
        return wait(op);
      case OpKind::branch:
        return op.bytes > 0 ? begin_branch() : end_branch(op);
      case OpKind::hand:
        return hand(op);
      case OpKind::mark:
        return;
      default:
        return message(op);
    }
  }

  void end() {
    settle();
    for (const auto& [later, number] : taken_) {
      const auto found = handed_.find(number);
      if (found == handed_.end() || found->second.operation == kNone) continue;
      fmt::print(out_, "l{} {} l{}\n", later, found->second.done ? "requires" : "irequires",
                 found->second.operation);
    }
  }

 private:
  // What follows the last operation.
  struct Chain {
    uint64_t last = kNone;
    bool last_computes = false;
    uint64_t posted = 0;
    std::unordered_map<uint64_t, uint64_t> requests;  // open ones, with their operations
  };
  static constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();

  void add(const std::string& operation) {
    fmt::print(out_, "l{}: {}{}\n", count_, operation, cpu_);
    for (const uint64_t number : required_handed_) taken_.emplace_back(count_, number);
    required_handed_.clear();
    for (const uint64_t earlier : required_) fmt::print(out_, "l{} requires l{}\n", count_, earlier);
    if (chain_.last != kNone && std::ranges::find(required_, chain_.last) == required_.end())
      fmt::print(out_, "l{} {} l{}\n", count_, chain_.last_computes ? "requires" : "irequires",
                 chain_.last);
    required_.clear();
    chain_.last_computes = operation.starts_with("calc");
    chain_.last = count_++;
  }

  // What goes on in the background is a chain beside that of the rank, from the same operation on.
  void begin_branch() {
    settle();
    outside_ = std::move(chain_);
    chain_ = {outside_.last, outside_.last_computes, 0, {}};
  }
  void end_branch(const Op& op) {
    if (op.more) refuse("rank {}: one-sided operations have no form in GOAL", rank_);
    add("calc 0");
    outside_.requests.emplace(outside_.posted++, chain_.last);
    chain_ = std::move(outside_);
  }

  // What is required now is required by an operation of its own, so that it stays one call.
  void settle() {
    if (!required_.empty() || !required_handed_.empty()) add("calc 0");
  }

  void message(const Op& op) {
    const bool sends = op.kind == OpKind::send || op.kind == OpKind::isend;
    if (op.synchronous) ++losses_.synchronous;
    add(fmt::format("{} {}b {} {} tag {}", sends ? "send" : "recv", op.bytes, sends ? "to" : "from",
                    op.peer, tags_.of(op)));
    if (op.kind == OpKind::send || op.kind == OpKind::recv)
      required_.push_back(count_ - 1);
    else
      chain_.requests.emplace(chain_.posted++, count_ - 1);
  }

  void hand(const Op& op) {
    settle();
    Handed& handed = handed_[op.number];
    handed = {chain_.last, chain_.last_computes};
    if (op.request == Op::kNoRequest) return;
    const auto found = chain_.requests.find(op.request);
    if (found == chain_.requests.end())
      refuse("request {} is handed over, which is not open", op.request);
    handed = {found->second, true};
    chain_.requests.erase(found);
  }

  void wait(const Op& op) {
    const bool was_waiting = std::exchange(waiting_, op.more);
    if (!was_waiting) settle();
    if (op.handed) return required_handed_.push_back(op.number);
    const auto found = chain_.requests.find(op.request);
    if (found == chain_.requests.end()) refuse("a wait for request {}, which is not open", op.request);
    // An operation that only the next one requires is read as a blocking call.
    if (!was_waiting && found->second == count_ - 1) add("calc 0");
    required_.push_back(found->second);
    chain_.requests.erase(found);
  }

  std::ostream& out_;
  uint32_t rank_;
  Tags& tags_;
  GoalLosses& losses_;
  uint64_t count_ = 0;
  std::vector<uint64_t> required_;  // by the next operation
  Chain chain_, outside_;           // of the branch, and of the rank around it
  bool waiting_ = false;
  std::string cpu_;
  struct Handed {
    uint64_t operation = kNone;
    bool done = false;  // it must be; else begun
  };
  std::unordered_map<uint64_t, Handed> handed_;       // by number
  std::vector<uint64_t> required_handed_;             // by the next operation
  std::vector<std::pair<uint64_t, uint64_t>> taken_;  // by which operation, and the number
};

}  // namespace

GoalLosses write_goal(const Trace& trace, std::ostream& out) {
  GoalLosses losses;
  Tags tags(trace);
  const auto stream = trace.open();
  fmt::print(out, "num_ranks {}\n", trace.ranks());
  std::optional<RankWriter> writer;
  for (const uint32_t thread : trace.threads_by_rank()) {
    const uint32_t rank = trace.rank_of(thread);
    const uint32_t cpu = trace.number_in_rank(thread) - 1;
    if (cpu > UINT8_MAX) refuse("rank {} has more threads than GOAL has cpus", rank);
    if (thread < trace.ranks()) {
      if (writer) writer->end();
      fmt::print(out, "{}rank {} {{\n", writer ? "}\n" : "", rank);
      writer.emplace(out, rank, tags, losses);
    }
    writer->begin_thread(cpu);
    Op op;
    while (stream->next(thread, op)) writer->write(op);
  }
  if (writer) writer->end();
  fmt::print(out, "}}\n");
  return losses;
}

}  // namespace ompl::model
