// SPDX-License-Identifier: BSD-3-Clause
// The two levels of hierarchical forms: the members of a node, and of each node a leader. The root leads its node.
// Between nodes, blocks travel in the order of the nodes: those of a node's members, ascending, then those of the next node's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "coll/call.hpp"
#include "coll/nodes.hpp"
#include "omnipgas/coll.h"

namespace ompl::coll {

struct Levels {
  explicit Levels(const Call& call)
      : mine(call.nodes->of(call.me)), top(call.nodes->of(call.root)), node(call.nodes->members(mine)) {
    for (uint32_t i = 0; i < call.nodes->count(); ++i)
      leaders.push_back(i == top ? call.root : call.nodes->members(i).front());
    for (uint32_t i = 0; i < call.nodes->count(); ++i) {
      firsts.push_back(static_cast<uint32_t>(order.size()));
      order.insert(order.end(), call.nodes->members(i).begin(), call.nodes->members(i).end());
    }
    firsts.push_back(call.size);
    std::rotate(node.begin(), std::ranges::find(node, leaders[mine]), node.end());
  }

  // A collective of the members of this node; the leader is its root.
  [[nodiscard]] Call within(const Call& call, int32_t collective) const {
    const auto place = std::ranges::find(node, call.me) - node.begin();
    return part(call, collective, static_cast<uint32_t>(place), node, 0);
  }
  // Of the leaders.
  [[nodiscard]] Call between(const Call& call, int32_t collective) const {
    return part(call, collective, mine, leaders, top);
  }
  [[nodiscard]] bool leads(const Call& call) const { return node.front() == call.me; }
  // Whether blocks of one length lie in that order anyway.
  [[nodiscard]] bool in_order() const { return std::ranges::is_sorted(order); }

  uint32_t mine;                  // this node, among the leaders
  uint32_t top;                   // the root's node, likewise
  std::vector<uint32_t> node;     // members of this node, the leader first
  std::vector<uint32_t> leaders;  // one of each node
  std::vector<uint32_t> order;    // all members, node by node
  std::vector<uint32_t> firsts;   // where each node's begin there, and the end

 private:
  static Call part(Call call, int32_t collective, uint32_t me, const std::vector<uint32_t>& members,
                   uint32_t root) {
    call.collective = collective;
    call.algorithm = OMPL_COLL_AUTO;
    call.me = me;
    call.size = static_cast<uint32_t>(members.size());
    call.root = root;
    call.nodes = nullptr;
    call.listed = false;
    call.sent = call.received = {};
    return call;
  }
};

}  // namespace ompl::coll
