// SPDX-License-Identifier: BSD-3-Clause
// The two levels of hierarchical forms: the members of a node, and of each node a leader. The root leads its node.
// Between nodes, blocks travel in the order of the nodes: those of a node's members, ascending, then those of the next node's.
// The order of the members is that only where those of each node stand together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "coll/call.hpp"
#include "coll/schedule/builder.hpp"
#include "coll/team/nodes.hpp"
#include "omnipgas/coll.h"

namespace ompl::coll {

struct Levels {
  explicit Levels(const CollectiveCall& call) : Levels(call, *call.nodes) {}
  // With these instead of the call's nodes.
  Levels(const CollectiveCall& call, const Nodes& nodes)
      : mine(nodes.of(call.me)), node(nodes.members(mine)) {
    for (uint32_t i = 0; i < nodes.count(); ++i) {
      const std::vector<uint32_t>& members = nodes.members(i);
      leaders.push_back(i == nodes.of(call.root) ? call.root : members.front());
      firsts.push_back(static_cast<uint32_t>(order.size()));
      order.insert(order.end(), members.begin(), members.end());
    }
    firsts.push_back(call.size);
  }

  // A collective of the members of this node; the leader is its root.
  [[nodiscard]] CollectiveCall within(const CollectiveCall& call, int32_t collective) const {
    return part(call, collective, call.me, node, leader());
  }
  // Of the leaders.
  [[nodiscard]] CollectiveCall between(const CollectiveCall& call, int32_t collective) const {
    return part(call, collective, leader(), leaders, call.root);
  }
  // Of the leaders, with a block for each node.
  [[nodiscard]] CollectiveCall between(const CollectiveCall& call, int32_t collective,
                                       const Blocks& nodes) const {
    CollectiveCall leading = between(call, collective);
    leading.listed = !nodes.lengths.empty();
    leading.length = nodes.of(mine);
    leading.sent = leading.received = nodes;
    return leading;
  }
  // What there is for each node where there is a block for each member: in the order of the nodes the i-th of all members' begins at `at(i)`.
  template <class At>
  [[nodiscard]] Blocks blocks_of_nodes(At at) const {
    Blocks nodes;
    for (std::size_t i = 0; i < leaders.size(); ++i) {
      nodes.offsets.push_back(at(firsts[i]));
      nodes.lengths.push_back(at(firsts[i + 1]) - at(firsts[i]));
    }
    nodes.length = nodes.lengths.front();
    if (std::ranges::count(nodes.lengths, nodes.length) == std::ssize(nodes.lengths)) {
      nodes.lengths.clear();
      nodes.offsets.clear();
    }
    return nodes;
  }

  [[nodiscard]] uint32_t leader() const { return leaders[mine]; }
  [[nodiscard]] bool leads(const CollectiveCall& call) const { return leader() == call.me; }
  // Whether blocks of one length lie in that order anyway.
  [[nodiscard]] bool in_order() const { return std::ranges::is_sorted(order); }

  uint32_t mine;                  // this node, among the leaders
  std::vector<uint32_t> node;     // members of this node, ascending
  std::vector<uint32_t> leaders;  // one of each node
  std::vector<uint32_t> order;    // all members, node by node
  std::vector<uint32_t> firsts;   // where each node's begin there, and the end

 private:
  static CollectiveCall part(CollectiveCall call, int32_t collective, uint32_t me,
                             const std::vector<uint32_t>& members, uint32_t root) {
    const auto place = [&](uint32_t member) {
      return static_cast<uint32_t>(std::ranges::find(members, member) - members.begin());
    };
    call.collective = collective;
    call.algorithm = OMPL_COLL_AUTO;
    call.me = place(me);
    call.size = static_cast<uint32_t>(members.size());
    call.root = place(root);
    call.nodes = nullptr;
    call.listed = false;
    call.sent = call.received = {};
    return call;
  }
};

// Gather's and scatter's blocks on their way: at the root those of all members, at another leader those of its node, in the order of the nodes.
struct Gathered {
  // `whole`: the root's buffer of all blocks, which is used where they lie in that order anyway.
  Gathered(const CollectiveCall& call, const Levels& levels, Place whole, Builder& b)
      : nodes(levels.blocks_of_nodes([&](uint32_t i) { return i * call.length; })),
        all(whole),
        node(whole) {
    if (!levels.leads(call)) return;
    const bool at_root = call.me == call.root;
    if (!at_root || !levels.in_order())
      all = b.scratch(at_root ? call.size * call.length : nodes.of(levels.mine));
    node = at_root ? all.plus(nodes.at(levels.mine)) : all;
  }

  Blocks nodes;
  Place all;
  Place node;  // of the own node
};

// Whether the form in two levels is for such a call: there are several nodes, with several members each. For scans these stand side by side: what
// comes before a member must be whole nodes, and members of its own.
inline bool is_clustered(const CollectiveCall& call) {
  if (call.nodes == nullptr) return false;
  const bool scans = call.collective == OMPL_SCAN || call.collective == OMPL_EXSCAN;
  return scans ? call.nodes->runs().clustered() : call.nodes->clustered();
}

}  // namespace ompl::coll
