// SPDX-License-Identifier: BSD-3-Clause
// Hierarchical collectives as schedules: who talks to whom. What they compute, the conformance suite looks at.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <utility>
#include <vector>

#include "coll/algorithms/algorithms.hpp"
#include "coll/team/nodes.hpp"
#include "coll/tuner/kind.hpp"
#include "omnipgas/coll.h"

namespace ompl::coll {
namespace {

constexpr int32_t kCollectives[] = {OMPL_BARRIER,        OMPL_BROADCAST, OMPL_REDUCE,  OMPL_ALLREDUCE,
                                    OMPL_ALLGATHER,      OMPL_GATHER,    OMPL_SCATTER, OMPL_ALLTOALL,
                                    OMPL_REDUCE_SCATTER, OMPL_SCAN,      OMPL_EXSCAN};
using Hosts = std::vector<uint32_t>;

bool scans(int32_t collective) { return collective == OMPL_SCAN || collective == OMPL_EXSCAN; }

CollectiveCall call_of(const Nodes& nodes, const Hosts& hosts, int32_t collective) {
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

void collect(CollectiveCall call, Messages* sent, Messages* received) {
  constexpr std::array kRooted{OMPL_BROADCAST, OMPL_REDUCE, OMPL_GATHER, OMPL_SCATTER};
  if (std::ranges::count(kRooted, call.collective) == 0) call.root = 0;
  for (call.me = 0; call.me < call.size; ++call.me) {
    const auto schedule = compile(call);
    ASSERT_NE(schedule, nullptr);
    for (const ScheduleStep& step : schedule->steps) {
      if (step.kind == ScheduleStep::Kind::send) (*sent)[{call.me, step.peer}].push_back(step.length);
      if (step.kind == ScheduleStep::Kind::receive || step.kind == ScheduleStep::Kind::combine)
        (*received)[{step.peer, call.me}].push_back(step.length);
    }
  }
}

// One message of so many bytes from the leader of a node, member 0, to that of the other one, member 1, and one back.
void expect_between_leaders(const CollectiveCall& call, uint64_t there, uint64_t back) {
  Messages sent;
  Messages received;
  ASSERT_NO_FATAL_FAILURE(collect(call, &sent, &received));
  EXPECT_EQ(sent, received);
  EXPECT_EQ((sent[{0, 1}]), (std::vector<uint64_t>{there}));
  EXPECT_EQ((sent[{1, 0}]), (std::vector<uint64_t>{back}));
}

// Between nodes, of all members; -1 where that depends on the algorithm of the leaders.
int64_t least_bytes(const Nodes& nodes, const CollectiveCall& call) {
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
    case OMPL_REDUCE_SCATTER:  // by halves
      return std::has_single_bit(nodes.count()) ? others * n * m : -1;
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

TEST(Hierarchy, RunsAreMembersOfANodeSideBySide) {
  const Nodes runs = Nodes({7, 7, 3, 7, 7, 7, 3, 3}).runs();
  EXPECT_EQ(runs.count(), 4U);
  EXPECT_EQ(runs.members(0), (Hosts{0, 1}));
  EXPECT_EQ(runs.members(1), (Hosts{2}));
  EXPECT_EQ(runs.members(2), (Hosts{3, 4, 5}));
  EXPECT_EQ(runs.members(3), (Hosts{6, 7}));
}

TEST(Hierarchy, OnePerNodeTalksToOthers) {
  for (const Hosts& hosts : {Hosts{0, 0, 0, 3, 3}, Hosts{0, 1, 0, 1, 0}, Hosts{0, 0, 2, 2, 4, 4, 4},
                             Hosts{0, 1, 1, 1}, Hosts{0, 0, 0, 0}, Hosts{0, 1, 2, 3, 4}, Hosts{0, 0}}) {
    SCOPED_TRACE(testing::PrintToString(hosts));
    const Nodes all(hosts);
    for (const int32_t collective : kCollectives) {
      SCOPED_TRACE(ompl_coll_name(collective));
      const Nodes nodes = scans(collective) ? all.runs() : all;
      const CollectiveCall call = call_of(all, hosts, collective);
      Messages sent;
      Messages received;
      ASSERT_NO_FATAL_FAILURE(collect(call, &sent, &received));
      EXPECT_FALSE(sent.empty());
      EXPECT_EQ(sent, received);
      std::vector<std::vector<bool>> speaks(nodes.count(), std::vector<bool>(hosts.size()));
      int64_t bytes = 0;
      for (const auto& [ends, lengths] : sent) {
        const auto& [from, to] = ends;
        if (nodes.of(from) == nodes.of(to)) continue;
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
    CollectiveCall call = call_of(nodes, hosts, collective);
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
  EXPECT_EQ(chosen({0, 0, 2, 2}, OMPL_ALLREDUCE, false), OMPL_COLL_DIRECT);
  EXPECT_EQ(chosen({0, 0, 2, 2}, OMPL_REDUCE, false), OMPL_COLL_BINOMIAL);
  EXPECT_EQ(chosen({0, 0, 2, 2}, OMPL_REDUCE_SCATTER, false), OMPL_COLL_BINOMIAL);
}

// Whatever the operation: what comes before a member of a node is not whole nodes there.
TEST(Hierarchy, ScansGoByRuns) {
  for (const int32_t collective : {OMPL_SCAN, OMPL_EXSCAN}) {
    for (const bool commutative : {true, false}) {
      const auto chosen = [&](const Hosts& hosts) {
        const Nodes nodes(hosts);
        CollectiveCall call = call_of(nodes, hosts, collective);
        call.root = 0;
        call.commutative = commutative;
        EXPECT_NE(compile(call), nullptr);
        EXPECT_EQ(kind_of(call).clustered, nodes.runs().clustered());
        return choose(call);
      };
      EXPECT_EQ(chosen({0, 0, 2, 2}), OMPL_COLL_HIERARCHICAL);
      EXPECT_EQ(chosen({0, 0, 2, 2, 0, 0}), OMPL_COLL_HIERARCHICAL);
      EXPECT_EQ(chosen({0, 2, 0, 2}), OMPL_COLL_RECURSIVE_DOUBLING);
      EXPECT_EQ(chosen({0, 0, 2, 0, 2}), OMPL_COLL_RECURSIVE_DOUBLING);
    }
  }
}

// Each node hears once what came before it, of whoever speaks for the one before.
TEST(Hierarchy, AScanOfTwoNodesSendsOneMessageBetweenThem) {
  const Hosts hosts{0, 0, 0, 3, 3};
  const Nodes nodes(hosts);
  for (const int32_t collective : {OMPL_SCAN, OMPL_EXSCAN}) {
    Messages sent;
    Messages received;
    const CollectiveCall call = call_of(nodes, hosts, collective);
    ASSERT_NO_FATAL_FAILURE(collect(call, &sent, &received));
    const std::pair<uint32_t, uint32_t> there{0, 3};
    EXPECT_EQ(sent[there], (std::vector<uint64_t>{call.length}));
    std::erase_if(sent, [&](const auto& message) {
      return nodes.of(message.first.first) == nodes.of(message.first.second);
    });
    EXPECT_EQ(sent.size(), 1U);
  }
}

// Of nodes that are not alike, too.
TEST(Hierarchy, AReduceScatterSendsANodeItsBlocksTogether) {
  const Hosts hosts{0, 1, 0, 1, 0};
  const Nodes nodes(hosts);
  const CollectiveCall call = call_of(nodes, hosts, OMPL_REDUCE_SCATTER);
  expect_between_leaders(call, 2 * call.length, 3 * call.length);
}

// They send fewer messages between nodes, but no fewer bytes.
TEST(Hierarchy, NotChosenForLongBlocksThatAreNobodyElses) {
  const Hosts hosts{0, 0, 2, 2};
  const Nodes nodes(hosts);
  for (const int32_t collective : {OMPL_GATHER, OMPL_SCATTER, OMPL_ALLTOALL}) {
    CollectiveCall call = call_of(nodes, hosts, collective);
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
  CollectiveCall call = call_of(nodes, hosts, OMPL_ALLGATHER);
  call.length = 0;
  call.listed = true;
  call.received = {.length = 0, .lengths = {10, 20, 30, 40, 50}, .offsets = {0, 100, 200, 300, 400}};
  expect_between_leaders(call, 10 + 30 + 50, 20 + 40);
}

TEST(Hierarchy, DoesNotReorderWhatDoesNotCommute) {
  const Hosts hosts{0, 1, 0, 1};
  const Nodes nodes(hosts);
  for (const int32_t collective : {OMPL_REDUCE, OMPL_ALLREDUCE, OMPL_REDUCE_SCATTER}) {
    CollectiveCall call = call_of(nodes, hosts, collective);
    call.root = 0;
    EXPECT_NE(compile(call), nullptr);
    call.commutative = false;
    EXPECT_EQ(compile(call), nullptr);
  }
}

}  // namespace
}  // namespace ompl::coll
