// SPDX-License-Identifier: BSD-3-Clause
// Hierarchical collectives as schedules: who talks to whom. What they compute, the conformance suite looks at.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "coll/algorithms/algorithms.hpp"
#include "coll/nodes.hpp"
#include "omnipgas/coll.h"

namespace ompl::coll {
namespace {

constexpr int32_t kCollectives[] = {OMPL_BARRIER,   OMPL_BROADCAST, OMPL_REDUCE,  OMPL_ALLREDUCE,
                                    OMPL_ALLGATHER, OMPL_GATHER,    OMPL_SCATTER, OMPL_ALLTOALL};
using Hosts = std::vector<uint32_t>;

Call call_of(const Nodes& nodes, const Hosts& hosts, int32_t collective) {
  return {.collective = collective,
          .algorithm = OMPL_COLL_HIERARCHICAL,
          .size = static_cast<uint32_t>(hosts.size()),
          .root = static_cast<uint32_t>(hosts.size()) - 1,
          .element = 8,
          .most_combined = 64,
          .length = 800,
          .nodes = &nodes};
}

// By sender and receiver.
using Messages = std::map<std::pair<uint32_t, uint32_t>, std::vector<uint64_t>>;

void collect(Call call, Messages* sent, Messages* received) {
  constexpr std::array kRooted{OMPL_BROADCAST, OMPL_REDUCE, OMPL_GATHER, OMPL_SCATTER};
  if (std::ranges::count(kRooted, call.collective) == 0) call.root = 0;
  for (call.me = 0; call.me < call.size; ++call.me) {
    const auto schedule = compile(call);
    ASSERT_NE(schedule, nullptr);
    for (const Step& step : schedule->steps) {
      if (step.kind == Step::Kind::send) (*sent)[{call.me, step.peer}].push_back(step.length);
      if (step.kind == Step::Kind::receive || step.kind == Step::Kind::combine)
        (*received)[{step.peer, call.me}].push_back(step.length);
    }
  }
}

// Between nodes, of all members; -1 where that depends on the algorithm of the leaders.
int64_t least_bytes(const Nodes& nodes, const Call& call) {
  const int64_t others = nodes.count() - 1;
  const int64_t n = call.size;
  const auto m = static_cast<int64_t>(call.length);
  int64_t apart = n * n;  // ordered pairs of members on different nodes
  for (uint32_t i = 0; i < nodes.count(); ++i)
    apart -= std::ssize(nodes.members(i)) * std::ssize(nodes.members(i));
  switch (call.collective) {
    case OMPL_BARRIER:
      return 0;
    case OMPL_BROADCAST:
    case OMPL_REDUCE:
      return others * m;
    case OMPL_ALLGATHER:
      return others * n * m;
    case OMPL_GATHER:
    case OMPL_SCATTER:
      return (n - std::ssize(nodes.members(nodes.of(call.root)))) * m;
    case OMPL_ALLTOALL:
      return apart * m;
    default:
      return -1;
  }
}

TEST(Hierarchy, NodesStandInTheOrderOfTheirFirstMembers) {
  const Nodes nodes({7, 3, 7, 3, 3});
  EXPECT_EQ(nodes.count(), 2U);
  EXPECT_EQ(nodes.members(0), (Hosts{0, 2}));
  EXPECT_EQ(nodes.members(1), (Hosts{1, 3, 4}));
  EXPECT_EQ(nodes.of(4), 1U);
  EXPECT_TRUE(nodes.clustered());
}

TEST(Hierarchy, OnePerNodeTalksToOthers) {
  for (const Hosts& hosts : {Hosts{0, 0, 0, 3, 3}, Hosts{0, 1, 0, 1, 0}, Hosts{0, 0, 2, 2, 4, 4, 4},
                             Hosts{0, 1, 1, 1}, Hosts{0, 0, 0, 0}, Hosts{0, 1, 2, 3, 4}, Hosts{0, 0}}) {
    SCOPED_TRACE(testing::PrintToString(hosts));
    const Nodes nodes(hosts);
    for (const int32_t collective : kCollectives) {
      SCOPED_TRACE(ompl_coll_name(collective));
      const Call call = call_of(nodes, hosts, collective);
      Messages sent;
      Messages received;
      ASSERT_NO_FATAL_FAILURE(collect(call, &sent, &received));
      EXPECT_FALSE(sent.empty());
      EXPECT_EQ(sent, received);
      std::vector<std::vector<bool>> speaks(nodes.count(), std::vector<bool>(hosts.size()));
      int64_t bytes = 0;
      for (const auto& [ends, lengths] : sent) {
        const auto& [from, to] = ends;
        if (hosts[from] == hosts[to]) continue;
        speaks[nodes.of(from)][from] = speaks[nodes.of(to)][to] = true;
        for (const uint64_t length : lengths) bytes += static_cast<int64_t>(length);
      }
      for (const std::vector<bool>& speakers : speaks)
        EXPECT_EQ(std::ranges::count(speakers, true), nodes.count() > 1 ? 1 : 0);
      const int64_t least = least_bytes(nodes, call);
      if (least >= 0) {
        EXPECT_EQ(bytes, least);
      }
    }
  }
}

TEST(Hierarchy, ChosenWhereSeveralNodesHaveSeveralMembersEach) {
  const auto chosen = [](const Hosts& hosts, int32_t collective, bool commutative = true) {
    const Nodes nodes(hosts);
    Call call = call_of(nodes, hosts, collective);
    call.algorithm = OMPL_COLL_AUTO;
    call.commutative = commutative;
    return choose(call);
  };
  for (const int32_t collective : kCollectives) {
    EXPECT_EQ(chosen({0, 0, 2, 2}, collective), OMPL_COLL_HIERARCHICAL);
    EXPECT_NE(chosen({0, 0, 0, 0}, collective), OMPL_COLL_HIERARCHICAL);
    EXPECT_NE(chosen({0, 1, 2, 3}, collective), OMPL_COLL_HIERARCHICAL);
    EXPECT_NE(chosen({0, 0, 0, 3}, collective), OMPL_COLL_HIERARCHICAL);
  }
  EXPECT_EQ(chosen({0, 0, 2, 2}, OMPL_ALLREDUCE, false), OMPL_COLL_RECURSIVE_DOUBLING);
  EXPECT_EQ(chosen({0, 0, 2, 2}, OMPL_REDUCE, false), OMPL_COLL_BINOMIAL);
}

// They send fewer messages between nodes, but no fewer bytes.
TEST(Hierarchy, NotChosenForLongBlocksThatAreNobodyElses) {
  const Hosts hosts{0, 0, 2, 2};
  const Nodes nodes(hosts);
  for (const int32_t collective : {OMPL_GATHER, OMPL_SCATTER, OMPL_ALLTOALL}) {
    Call call = call_of(nodes, hosts, collective);
    call.algorithm = OMPL_COLL_AUTO;
    EXPECT_EQ(choose(call), OMPL_COLL_HIERARCHICAL);
    call.length = 8000;
    EXPECT_EQ(choose(call), OMPL_COLL_DIRECT);
    call.length = 0;
    call.listed = true;
    EXPECT_EQ(choose(call), OMPL_COLL_DIRECT);
  }
}

// The blocks of a node's members go as one message, however long each is.
TEST(Hierarchy, ListedBlocksOfANodeGoTogether) {
  const Hosts hosts{0, 1, 0, 1, 0};
  const Nodes nodes(hosts);
  Call call = call_of(nodes, hosts, OMPL_ALLGATHER);
  call.length = 0;
  call.listed = true;
  call.received = {.length = 0, .lengths = {10, 20, 30, 40, 50}, .offsets = {0, 100, 200, 300, 400}};
  Messages sent;
  Messages received;
  ASSERT_NO_FATAL_FAILURE(collect(call, &sent, &received));
  EXPECT_EQ(sent, received);
  const std::pair<uint32_t, uint32_t> there{0, 1};
  const std::pair<uint32_t, uint32_t> back{1, 0};
  EXPECT_EQ(sent[there], (std::vector<uint64_t>{10 + 30 + 50}));
  EXPECT_EQ(sent[back], (std::vector<uint64_t>{20 + 40}));
}

TEST(Hierarchy, DoesNotReorderWhatDoesNotCommute) {
  const Hosts hosts{0, 1, 0, 1};
  const Nodes nodes(hosts);
  for (const int32_t collective : {OMPL_REDUCE, OMPL_ALLREDUCE}) {
    Call call = call_of(nodes, hosts, collective);
    call.root = 0;
    EXPECT_NE(compile(call), nullptr);
    call.commutative = false;
    EXPECT_EQ(compile(call), nullptr);
  }
}

}  // namespace
}  // namespace ompl::coll
