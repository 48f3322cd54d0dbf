// SPDX-License-Identifier: BSD-3-Clause
// GOAL schedules become the calls that goal.hpp says; what is wrong is refused with the line.
#include <gtest/gtest.h>

#include <sstream>

#include "model/readers/goal.hpp"
#include "model/replay/replay.hpp"
#include "tests/refusal.hpp"

namespace {

using namespace ompl::model;  // NOLINT(google-build-using-namespace)

std::unique_ptr<Program> parse(const std::string& text) {
  std::istringstream in(text);
  return read_goal(in);
}

// The calls of a rank, a letter each: c, S (send), R (recv), s (isend), r (irecv), w; waits of one call in brackets.
std::string calls(const Trace& trace, uint32_t rank) {
  const auto stream = trace.open();
  std::string out;
  bool in_call = false;
  Op op;
  while (stream->next(rank, op)) {
    if (op.kind != OpKind::wait) {
      out += "cSsRrw"[static_cast<int>(op.kind)];
      continue;
    }
    if (!in_call && op.more) out += '[';
    out += 'w' + std::to_string(op.request);
    if (in_call && !op.more) out += ']';
    in_call = op.more;
  }
  return out;
}

std::string calls_of_rank_0(const std::string& body) {
  return calls(*parse("num_ranks 3\nrank 0 {\n" + body + "}\n"), 0);
}

TEST(Goal, AChainIsMadeOfBlockingCalls) {
  EXPECT_EQ(calls_of_rank_0("a: calc 5\n"
                            "b: send 10b to 1 tag 0\nb requires a\n"
                            "c: recv 10b from 1 tag 0\nc requires b\n"
                            "d: calc 5\nd requires c\n"),
            "cSRc");
}

TEST(Goal, WhatIsIndependentIsPostedAndWaitedForWhereItIsRequired) {
  EXPECT_EQ(calls_of_rank_0("a: recv 10b from 1\nb: recv 10b from 2\nc: send 10b to 1\n"
                            "d: calc 5\nd requires a\nd requires b\n"
                            "e: calc 6\n"),
            "rrs[w0w1]ccw2");
}

TEST(Goal, ARequirementOfTheStartAloneWaitsForNothing) {
  EXPECT_EQ(calls_of_rank_0("a: send 10b to 1\nb: calc 7\nb irequires a\n"), "scw0");
}

TEST(Goal, OperationsComeAfterWhatTheyRequireWhereverThatStands) {
  EXPECT_EQ(calls_of_rank_0("a: send 10b to 1\nb: calc 5\na requires b\n"), "cS");
  EXPECT_EQ(calls_of_rank_0("a: send 1b to 1\nb: recv 1b from 1\na requires b\na requires b\n"), "RS");
}

TEST(Goal, CommentsBlanksAndOptionsAreRead) {
  const auto program = parse(
      "/* two\n ranks */ num_ranks 2\r\n\nrank 1 { // first\n send 7b to 0 tag 3 cpu 1 nic 0\n}\n"
      "rank 0 {\n\tl1:recv 7 b from -1 tag -1\n}\n");
  EXPECT_EQ(calls(*program, 0), "R");
  const auto stream = program->open();
  Op op;
  ASSERT_TRUE(stream->next(0, op));
  EXPECT_EQ(op.peer, Op::kAny);
  EXPECT_EQ(op.tag, Op::kAny);
  ASSERT_TRUE(stream->next(1, op));
  EXPECT_EQ(op.peer, 0);
  EXPECT_EQ(op.tag, 3);
  EXPECT_EQ(op.bytes, 7U);
  EXPECT_EQ(program->where(1, op.site), "line 5");
}

TEST(Goal, ABroadcastByATreeTakesItsTime) {
  // Two steps: 0 to 1, then 0 to 2 and 1 to 3.
  const auto program = parse(
      "num_ranks 4\n"
      "rank 0 {\na: send 1b to 1\nb: send 1b to 2\nb requires a\n}\n"
      "rank 1 {\na: recv 1b from 0\nb: send 1b to 3\nb requires a\n}\n"
      "rank 2 {\nrecv 1b from 0\n}\nrank 3 {\nrecv 1b from 1\n}\n");
  const Parameters myrinet = find_parameters("myrinet", Model::loggps);
  const double step = 6730 + 5.02 + 15.17 + 850 + 6730 + 4.72;
  EXPECT_NEAR(replay(*program, myrinet, {}).predicted_ns, 2 * step, 1e-6);
}

std::string refused(const std::string& text) {
  return refusal([&] { return parse(text); });
}

TEST(Goal, WhatIsWrongIsRefusedWithTheLine) {
  const std::string head = "num_ranks 2\nrank 0 {\n";
  EXPECT_EQ(refused(""), "a GOAL file begins with num_ranks");
  EXPECT_EQ(refused("num_ranks 0\n"), "line 1: no ranks");
  EXPECT_EQ(refused("num_ranks 99999999999999999999\n"),
            "line 1: the number of ranks is above 1048576");
  EXPECT_EQ(refused("num_ranks 2\nrank 2 {\n"), "line 2: the rank is above 1");
  EXPECT_EQ(refused("num_ranks 2\nrank 0 {\n}\nrank 0 {\n}\n"), "line 4: rank 0 comes twice");
  EXPECT_EQ(refused(head), "the file ends within rank 0");
  EXPECT_EQ(refused(head + "a: send 10b from 1\n}\n"), "line 3: expected: send BYTESb to RANK");
  EXPECT_EQ(refused(head + "a: send 10b to -1\n}\n"), "line 3: the rank is negative");
  EXPECT_EQ(refused(head + "a: send 10b to 7\n}\n"), "line 3: the rank is above 1");
  EXPECT_EQ(refused(head + "a: calc\n}\n"), "line 3: the nanoseconds is missing before \"\"");
  EXPECT_EQ(refused(head + "a: calc 5\na: calc 5\n}\n"), "line 4: label a comes twice");
  EXPECT_EQ(refused(head + "a: calc 5\na requires b\n}\n"), "line 4: no operation has the label b");
  EXPECT_EQ(refused(head + "a: calc 5 tag 1\n}\n"), "line 3: expected tag, cpu or nic");
  EXPECT_EQ(refused(head + "a: calc 5\nb: calc 6\na requires b\nb requires a\n}\n"),
            "rank 0: the operation of line 3 requires itself");
  EXPECT_EQ(refused(head + "\x1b[2J\n}\n"), "line 3: expected an operation, a label or }");
  EXPECT_EQ(refused("/* num_ranks 2"), "line 1: the file ends in a comment");
}

TEST(Goal, ADeadlockIsNamed) {
  const auto program = parse(
      "num_ranks 2\nrank 0 {\na: recv 8b from 1 tag 4\nb: send 8b to 1 tag 4\nb requires a\n}\n"
      "rank 1 {\na: recv 8b from 0 tag 4\nb: send 8b to 0 tag 4\nb requires a\n}\n");
  const Result found = replay(*program, find_parameters("myrinet", Model::loggps), {});
  EXPECT_EQ(found.blocked_count, 2U);
  ASSERT_EQ(found.blocked.size(), 2U);
  EXPECT_EQ(found.blocked[0], "rank 0, line 3: receives from rank 1, tag 4, but nobody sends");
  EXPECT_EQ(found.blocked[1], "rank 1, line 8: receives from rank 0, tag 4, but nobody sends");
}

TEST(Goal, MessagesWithoutPartnerAreNamed) {
  const auto program = parse(
      "num_ranks 2\nrank 0 {\nsend 8b to 1 tag 4\nsend 9b to 1 tag 5\n}\n"
      "rank 1 {\nrecv 9b from 0 tag 5\n}\n");
  const Result found = replay(*program, find_parameters("myrinet", Model::loggps), {});
  EXPECT_EQ(found.blocked_count, 0U);
  ASSERT_EQ(found.unmatched.size(), 1U);
  EXPECT_TRUE(found.unmatched[0].is_send);
  EXPECT_EQ(found.unmatched[0].thread, 0U);
  EXPECT_EQ(found.unmatched[0].peer, 1);
  EXPECT_EQ(found.unmatched[0].tag, 4);
  EXPECT_EQ(found.unmatched[0].bytes, 8U);
  EXPECT_EQ(program->where(0, found.unmatched[0].site), "line 3");
}

}  // namespace
