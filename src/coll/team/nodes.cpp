// SPDX-License-Identifier: BSD-3-Clause
#include "coll/team/nodes.hpp"

#include <algorithm>
#include <unordered_map>

namespace ompl::coll {

Nodes::Nodes(const std::vector<uint32_t>& hosts) {
  std::unordered_map<uint32_t, uint32_t> nodes;  // by host
  for (uint32_t member = 0; member < hosts.size(); ++member) {
    const uint32_t node = nodes.try_emplace(hosts[member], count()).first->second;
    if (node == count()) members_.emplace_back();
    members_[node].push_back(member);
    of_.push_back(node);
  }
}

bool Nodes::clustered() const {
  return count() > 1 && std::ranges::all_of(members_, [](const std::vector<uint32_t>& members) {
           return members.size() > 1;
         });
}

Nodes Nodes::runs() const {
  std::vector<uint32_t> run_of;
  for (std::size_t member = 0; member < of_.size(); ++member) {
    const bool begins = member > 0 && of_[member] != of_[member - 1];
    run_of.push_back(member == 0 ? 0 : run_of.back() + (begins ? 1 : 0));
  }
  return Nodes(run_of);
}

}  // namespace ompl::coll
