// SPDX-License-Identifier: BSD-3-Clause
// What a node's progress thread does for one team. Thread rule: that thread.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "coll/progress/proxy_executor.hpp"

namespace ompl::coll {

class TeamProxies {
 public:
  explicit TeamProxies(Team& team);

  // As ProxyExecutor::advance(), for all.
  bool advance(Context& c, MemberMemories& memories, bool* moved);
  // Ends all that it has.
  void end(Context& c, int code, const std::string& why);

 private:
  Team& team_;
  std::vector<std::deque<ProxyExecutor>> members_;  // of the node, their tag queues
};

}  // namespace ompl::coll
