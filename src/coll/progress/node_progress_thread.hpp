// SPDX-License-Identifier: BSD-3-Clause
// The thread of mode `node`: goes on with what all ranks of this node have handed over to this one. On a core of its own; asleep, after a
// short spin, on an event count that all of them can notify. Thread rule: begin() and the end by one thread.
#pragma once

#include <atomic>
#include <thread>

#include "coll/progress/member_memory.hpp"
#include "coll/progress/offload_queue.hpp"

namespace ompl::coll {

class NodeProgressThread {
 public:
  explicit NodeProgressThread(Engine& engine);
  // Ends what it has; the members take back what it has not begun.
  ~NodeProgressThread();
  NodeProgressThread(const NodeProgressThread&) = delete;
  NodeProgressThread& operator=(const NodeProgressThread&) = delete;

  // Starts the thread, if it is not started; OMPL_ERR_SYSTEM if none can be.
  int begin();

 private:
  void run();
  void work(Context& c);

  Engine& engine_;
  NodeEndpoint& endpoint_;
  MemberMemories memories_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace ompl::coll
