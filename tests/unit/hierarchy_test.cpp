// SPDX-License-Identifier: BSD-3-Clause
// Hierarchical collectives as schedules: who talks to whom. What they compute, the conformance suite looks at.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "coll/algorithms/algorithms.hpp"
#include "coll/nodes.hpp"
#include "omnipgas/coll.h"

namespace ompl::coll {
namespace {

constexpr int32_t kCollectives[] = {OMPL_BARRIER, OMPL_BROADCAST, OMPL_ALLREDUCE};
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
  if (call.collective != OMPL_BROADCAST) call.root = 0;
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
      uint64_t bytes = 0;
      for (const auto& [ends, lengths] : sent) {
        const auto& [from, to] = ends;
        if (hosts[from] == hosts[to]) continue;
        speaks[nodes.of(from)][from] = speaks[nodes.of(to)][to] = true;
        for (const uint64_t length : lengths) bytes += length;
      }
      for (const std::vector<bool>& speakers : speaks)
        EXPECT_EQ(std::ranges::count(speakers, true), nodes.count() > 1 ? 1 : 0);
      if (collective == OMPL_BROADCAST) {
        EXPECT_EQ(bytes, (nodes.count() - 1) * call.length);
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
}

TEST(Hierarchy, DoesNotReorderWhatDoesNotCommute) {
  const Hosts hosts{0, 1, 0, 1};
  const Nodes nodes(hosts);
  Call call = call_of(nodes, hosts, OMPL_ALLREDUCE);
  call.root = 0;
  EXPECT_NE(compile(call), nullptr);
  call.commutative = false;
  EXPECT_EQ(compile(call), nullptr);
}

}  // namespace
}  // namespace ompl::coll
