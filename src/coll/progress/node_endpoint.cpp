// SPDX-License-Identifier: BSD-3-Clause
#include "coll/progress/node_endpoint.hpp"

#include "coll/team/team.hpp"

namespace ompl::coll {

Service::Service(Team& team) : team_(team) {
  for (const uint32_t member : team.neighbours()) {
    std::deque<StandIn>& lanes = members_.emplace_back();
    for (uint32_t lane = 0; lane < team.layout().lanes; ++lane) lanes.emplace_back(team, member, lane);
  }
}

bool Service::serve(Context& c, MemberMemories& memories, bool* moved) {
  team_.look_at_failures();
  bool left = false;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    MemberMemory& memory = memories.of(team_.ranks()[team_.neighbours()[i]]);
    for (StandIn& lane : members_[i]) left = lane.serve(c, memory, moved) || left;
  }
  return left;
}

void Service::end(Context& c, int code, const std::string& why) {
  for (std::deque<StandIn>& lanes : members_)
    for (StandIn& lane : lanes) lane.end(c, code, why);
}

}  // namespace ompl::coll
