// SPDX-License-Identifier: BSD-3-Clause
#include "coll/service.hpp"

#include "coll/team.hpp"

namespace ompl::coll {

Service::Service(Team& team) : team_(team), members_(team.size()) {
  for (uint32_t member = 0; member < team.size(); ++member)
    for (uint32_t lane = 0; lane < team.layout().lanes; ++lane)
      members_[member].emplace_back(team, member, lane);
}

bool Service::serve(Context& c, MemberMemories& memories, bool* moved) {
  team_.look_at_failures();
  bool left = false;
  for (uint32_t member = 0; member < team_.size(); ++member) {
    MemberMemory& memory = memories.of(team_.ranks()[member]);
    for (StandIn& lane : members_[member]) left = lane.serve(c, memory, moved) || left;
  }
  return left;
}

void Service::end(Context& c, int code, const std::string& why) {
  for (std::deque<StandIn>& lanes : members_)
    for (StandIn& lane : lanes) lane.end(c, code, why);
}

}  // namespace ompl::coll
