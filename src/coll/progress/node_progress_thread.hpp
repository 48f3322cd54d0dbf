// SPDX-License-Identifier: BSD-3-Clause
// The thread of mode `node`: goes on with what all ranks of this node have handed over to this one. On a core of its own; asleep, after a
// short spin, on a bell that all of them can ring. Thread rule: begin() and the end by one thread.
#pragma once

#include <atomic>
#include <thread>

#include "coll/progress/member_memory.hpp"
#include "coll/progress/offload_queue.hpp"

namespace ompl::coll {

class NodeServant {
 public:
  explicit NodeServant(Engine& engine);
  // Ends what it has; the members take back what it has not begun.
  ~NodeServant();
  NodeServant(const NodeServant&) = delete;
  NodeServant& operator=(const NodeServant&) = delete;

  // Starts the thread, if it is not started; OMPL_ERR_SYSTEM if none can be.
  int begin();

 private:
  void serve();
  void work(Context& c);

  Engine& engine_;
  Station& station_;
  MemberMemories memories_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace ompl::coll
