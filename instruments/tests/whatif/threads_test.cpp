// SPDX-License-Identifier: BSD-3-Clause
// A replay by several threads says what one by one thread says, to the last bit: random programs, patterns in which much
// happens at one instant, programs that stand still, that leave messages over, that make no sense.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "model/program.hpp"
#include "model/readers/patterns.hpp"
#include "model/replay/replay.hpp"
#include "model/writers/report.hpp"
#include "tests/model/replay/listed_program.hpp"
#include "tests/refusal.hpp"

namespace {

using namespace ompl::model;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

constexpr std::array kThreads{2U, 3U, 8U};

Op message(OpKind kind, uint32_t peer, int32_t tag, uint64_t bytes, uint32_t communicator = 0) {
  return {.kind = kind,
          .communicator = communicator,
          .peer = static_cast<int32_t>(peer),
          .tag = tag,
          .bytes = bytes};
}
Op branch(uint32_t rank, bool begins, bool more) {
  return {.kind = OpKind::branch,
          .more = more,
          .peer = static_cast<int32_t>(rank),
          .bytes = begins ? 1U : 0U};
}

// All that is said but how long it took and how many threads there were.
std::string said(const Trace& trace, const Parameters& parameters, Options options, unsigned threads,
                 unsigned* used = nullptr) {
  options.threads = threads;
  Prediction prediction{.result = replay(trace, parameters, options)};
  if (used != nullptr) *used = prediction.result.threads;
  const Sensitivity path = trace_critical_path(trace, parameters, options);
  json out = to_json(prediction, trace, parameters);
  out["sensitivity"] = to_json(path, prediction.result, trace, parameters, std::nan(""));
  out["deadlock"] = describe_deadlock(prediction.result);
  out.erase("threads");
  return out.dump();
}

Parameters uneven() {
  Parameters out = loggp1(2, {{0, 4, 2, 3}, {50000, 90, 45, 3}});
  out.value[overhead] = 0.25;  // as what-if may have it
  return out;
}

// Where windows are right, S < s, and so on.
std::vector<Parameters> machines() {
  std::vector<Parameters> out{uneven(), find_parameters("myrinet", Model::loggp2)};
  for (const std::string_view name : machine_names())
    out.push_back(find_parameters(std::string(name), Model::loggps));
  out.push_back(out.back());
  out.back().longest_eager = 100;
  return out;
}

// Calls follow one order of the messages on all ranks, so none stands still but for what `loose` does.
class RandomProgram : public Program {
 public:
  // `loose`: receives from any, and messages that nobody waits for.
  RandomProgram(uint32_t seed, bool loose)
      : Program(ranks_of(seed)), draw_(seed), loose_(loose), open_(ranks()), posted_(ranks()) {
    name_sites({"main", "exchange", "access"});
    constexpr int kMessages = 100;
    for (tag_ = 0; tag_ < kMessages; ++tag_)
      below(6) == 0 ? access(pick(), pick()) : exchange(pick(), below(3) == 0 ? 0 : pick());
    for (uint32_t rank = 0; rank < ranks(); ++rank) wait(rank, open_[rank].size());
  }

 private:
  static uint32_t ranks_of(uint32_t seed) { return 2 + seed % 15; }
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(draw_() % limit); }
  uint32_t pick() { return below(ranks()); }
  uint64_t bytes() {
    constexpr std::array<uint64_t, 5> kLengths{0, 1, 1000, 9000, 40000};
    return kLengths[below(kLengths.size())];
  }

  void append(uint32_t rank, Op op, uint32_t site) {
    op.site = site;
    add(rank, op);
  }

  void exchange(uint32_t source, uint32_t target) {
    pause(source);
    const bool posts = source == target || below(2) == 0;
    append(source, message(posts ? OpKind::isend : OpKind::send, target, tag_ % 3, bytes()), 1);
    if (posts) open_[source].push_back(posted_[source]++);
    if (loose_ && posts && below(20) == 0) return open_[source].pop_back();
    if (source != target) pause(target);
    const bool waits = source != target && below(2) == 0;
    Op receive = message(waits ? OpKind::recv : OpKind::irecv, source, tag_ % 3, 0);
    if (loose_ && target == 1) receive.peer = Op::kAny;
    append(target, receive, 1);
    if (!waits) open_[target].push_back(posted_[target]++);
  }

  // One-sided: the target answers in the background, and the origin waits for it there or here.
  void access(uint32_t origin, uint32_t target) {
    constexpr uint32_t kRequests = 5, kReplies = 6;
    pause(origin);
    const bool behind = below(2) == 0;
    if (behind) append(origin, branch(origin, true, false), 2);
    append(origin, message(OpKind::isend, target, tag_, bytes(), kRequests), 2);
    if (behind) append(origin, branch(origin, false, false), 2);
    open_[origin].push_back(posted_[origin]++);
    append(origin, branch(target, true, true), 2);
    append(origin, message(OpKind::recv, origin, tag_, 0, kRequests), 2);
    append(origin, message(OpKind::send, origin, tag_, bytes(), kReplies), 2);
    append(origin, branch(target, false, true), 2);
    ++posted_[origin];
    append(origin, message(OpKind::irecv, target, tag_, 0, kReplies), 2);
    open_[origin].push_back(posted_[origin]++);
  }

  void pause(uint32_t rank) {
    constexpr std::array kMost_ns{0, 1000, 1000, 300000};
    append(rank, {.ns = static_cast<double>(kMost_ns[below(4)]) * below(100) / 100}, 0);
    if (below(2) == 0) wait(rank, below(4));
  }

  void wait(uint32_t rank, std::size_t most) {
    std::vector<uint64_t>& open = open_[rank];
    for (std::size_t left = std::min(most, open.size()); left > 0; --left) {
      append(rank, {.kind = OpKind::wait, .more = left > 1, .request = open.back()}, 0);
      open.pop_back();
    }
  }

  std::mt19937 draw_;
  bool loose_;
  int32_t tag_ = 0;
  std::vector<std::vector<uint64_t>> open_;  // requests, by rank
  std::vector<uint64_t> posted_;
};

TEST(ReplayThreads, RandomProgramsAreTheSame) {
  uint32_t seed = 0, ended = 0;
  for (const Parameters& machine : machines())
    for (const bool sharing : {true, false})
      for (const bool loose : {true, false}) {
        for (int i = 0; i < 3; ++i, ++seed) {
          const RandomProgram program(seed, loose);
          const std::string one = said(program, machine, {.sharing = sharing}, 1);
          if (one.find("\"deadlock\":\"0 of") != std::string::npos) ++ended;
          for (const unsigned threads : kThreads) {
            unsigned used = 0;
            ASSERT_EQ(said(program, machine, {.sharing = sharing}, threads, &used), one)
                << name_of(machine.model) << ' ' << seed << ", threads: " << threads;
            ASSERT_EQ(used, std::min(threads, program.ranks()));
          }
        }
      }
  EXPECT_GT(ended, seed / 2);
}

TEST(ReplayThreads, WhatHappensAtOneInstantIsTheSame) {
  for (const char* const pattern : {"ring:50:8:1000", "ring:7:20:40000", "flood:9:30:100"})
    for (const Parameters& machine : machines()) {
      const auto trace = make_pattern(pattern);
      const std::string one = said(*trace, machine, {}, 1);
      for (const unsigned threads : kThreads)
        ASSERT_EQ(said(*trace, machine, {}, threads), one) << pattern << ' ' << threads;
    }
}

TEST(ReplayThreads, WhatNeedsOneOrderOfTimeIsReplayedByOne) {
  const RandomProgram program(11, false);
  const Parameters machine = find_parameters("myrinet", Model::loggps);
  Parameters without_overhead = machine;
  without_overhead.value[overhead] = 0;
  unsigned used = 0;
  (void)said(program, without_overhead, {}, 4, &used);
  EXPECT_EQ(used, 1);
  (void)said(program, machine, {.eager_buffer = 5000}, 4, &used);
  EXPECT_EQ(used, 1);
  (void)said(program, machine, {}, 4, &used);
  EXPECT_EQ(used, 4);
}

// All say the same, with these words.
void expect_alike(const Program& program, const char* words) {
  const Parameters machine = find_parameters("myrinet", Model::loggps);
  const std::string one = said(program, machine, {}, 1);
  expect_in(words, one);
  for (const unsigned threads : kThreads) EXPECT_EQ(said(program, machine, {}, threads), one);
}

TEST(ReplayThreads, StandStillAlike) {
  // A circle of long sends between all groups, a receive of nothing at the last rank.
  constexpr uint32_t kRanks = 8;
  Program program(kRanks);
  for (uint32_t rank = 0; rank + 1 < kRanks; ++rank)
    program.add(rank, message(OpKind::send, (rank + 1) % (kRanks - 1), 0, 1 << 20));
  program.add(kRanks - 1, message(OpKind::recv, 0, 9, 0));
  expect_alike(program, "8 of 8 ranks stand still");
}

TEST(ReplayThreads, NameTheSameOfManyWithoutPartner) {
  Program program(9);
  for (uint32_t rank = 0; rank < 9; ++rank)
    for (int32_t tag = 40; tag > 0; --tag) program.add(rank, message(OpKind::isend, 8 - rank, tag, 5));
  expect_alike(program, "\"unmatched_count\":360");
}

TEST(ReplayThreads, AnErrorInOneEndsAll) {
  Program program(6);
  for (uint32_t rank = 0; rank < 6; ++rank) {
    for (int i = 0; i < 50; ++i) {
      program.add(rank, message(OpKind::isend, (rank + 1) % 6, 0, 1000));
      program.add(rank, message(OpKind::recv, (rank + 5) % 6, 0, 0));
    }
    if (rank == 4) program.add(rank, message(OpKind::send, 77, 0, 1));
    program.add(rank, message(OpKind::recv, (rank + 5) % 6, 0, 0));
  }
  for (const unsigned threads : {1U, 2U, 3U, 6U}) {
    const auto replayed = [&] {
      return said(program, find_parameters("myrinet", Model::loggps), {}, threads);
    };
    EXPECT_EQ(refusal(replayed), "rank 4: an operation names rank 77, but there are 6") << threads;
  }
}

TEST(ReplayThreads, NoBranchOfAnotherRankIsWaitedFor) {
  Program program(2);
  program.add(0, branch(1, true, false));
  program.add(0, branch(1, false, false));
  EXPECT_THROW((void)said(program, find_parameters("myrinet", Model::loggps), {}, 1), ompl::InputError);
}

}  // namespace
