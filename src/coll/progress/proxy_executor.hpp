// SPDX-License-Identifier: BSD-3-Clause
// A member's tag queue at the node's progress thread: carries out what the member has handed over there, on the member's channels and buffers.
// Thread rule: the node's progress thread.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "coll/progress/member_memory.hpp"
#include "coll/progress/offload_queue.hpp"
#include "coll/schedule/executor.hpp"

namespace ompl::coll {

class Team;

class ProxyExecutor {
 public:
  ProxyExecutor(Team& team, uint32_t member, uint32_t tag);

  // Goes on as far as can be without waiting; `moved`: set if anything was done. True if it has something left.
  bool advance(Context& c, MemberMemory& memory, bool* moved);
  // Ends what it has.
  void end(Context& c, int code, const std::string& why);

 private:
  bool take(MemberMemory& memory);
  void refuse(int error);
  int learn(const OffloadRequest& request, MemberMemory& memory);

  Team& team_;
  const uint32_t rank_;
  const uint64_t queue_at_;  // in the member's segment
  OffloadQueue& queue_;
  Executor executor_;
  OffloadRequest* request_ = nullptr;  // that it has
  Schedule schedule_;                  // the last one,
  uint64_t known_ = 0;                 // and its number
  ReductionOperation operation_;
  Execution execution_;
};

// What the thread does for one team.
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
