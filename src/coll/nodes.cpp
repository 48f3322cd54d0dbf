// SPDX-License-Identifier: BSD-3-Clause
#include "coll/nodes.hpp"

#include <algorithm>

namespace ompl::coll {

Nodes::Nodes(const std::vector<uint32_t>& hosts) {
  std::vector<uint32_t> known;  // by node
  for (uint32_t member = 0; member < hosts.size(); ++member) {
    const auto found = std::ranges::find(known, hosts[member]);
    const auto node = static_cast<uint32_t>(found - known.begin());
    if (found == known.end()) {
      known.push_back(hosts[member]);
      members_.emplace_back();
    }
    members_[node].push_back(member);
    of_.push_back(node);
  }
}

bool Nodes::clustered() const {
  return count() > 1 && std::ranges::all_of(members_, [](const std::vector<uint32_t>& members) {
           return members.size() > 1;
         });
}

}  // namespace ompl::coll
