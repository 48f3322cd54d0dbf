// SPDX-License-Identifier: BSD-3-Clause
// What the servant of a node does for one team: a stand-in for the lanes of every member there. Thread rule: the servant.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "coll/progress/proxy_executor.hpp"

namespace ompl::coll {

class Service {
 public:
  explicit Service(Team& team);

  // As StandIn::serve(), for all.
  bool serve(Context& c, MemberMemories& memories, bool* moved);
  // Ends all that it has.
  void end(Context& c, int code, const std::string& why);

 private:
  Team& team_;
  std::vector<std::deque<StandIn>> members_;  // of the node, their lanes
};

}  // namespace ompl::coll
