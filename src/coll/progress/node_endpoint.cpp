// SPDX-License-Identifier: BSD-3-Clause
#include "coll/progress/node_endpoint.hpp"

#include "coll/team/team.hpp"

namespace ompl::coll {

TeamProxies::TeamProxies(Team& team) : team_(team) {
  for (const uint32_t member : team.neighbours()) {
    std::deque<ProxyExecutor>& proxies = members_.emplace_back();
    for (uint32_t tag = 0; tag < team.layout().tags; ++tag) proxies.emplace_back(team, member, tag);
  }
}

bool TeamProxies::advance(Context& c, MemberMemories& memories, bool* moved) {
  team_.look_at_failures();
  bool left = false;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    MemberMemory& memory = memories.of(team_.ranks()[team_.neighbours()[i]]);
    for (ProxyExecutor& proxy : members_[i]) left = proxy.advance(c, memory, moved) || left;
  }
  return left;
}

void TeamProxies::end(Context& c, int code, const std::string& why) {
  for (std::deque<ProxyExecutor>& proxies : members_)
    for (ProxyExecutor& proxy : proxies) proxy.end(c, code, why);
}

}  // namespace ompl::coll
