// SPDX-License-Identifier: BSD-3-Clause
// A member's side of mode `node`: which requests of a tag queue the node's progress thread gets, and what becomes of them.
// Thread rule: one thread at a time, which has claimed the tag queue.
#pragma once

#include "coll/progress/offload_queue.hpp"
#include "coll/request.hpp"

namespace ompl::coll {

class Team;

class OffloadClient {
 public:
  OffloadClient(Team& team, uint32_t tag);

  // Offloads the request, unless it was. False: it stays here for now, and so must all behind it.
  bool offer(CollectiveRequest& request);

  enum class Owner : uint8_t { proxy, over, own };
  // Who has a request that was offloaded, the first of the tag queue; if nobody does yet, and `back` wants it, this rank takes it.
  Owner owner(const CollectiveRequest& request, bool back);
  // Ends a request that the progress thread has, or had: nobody will touch its buffers any more.
  void recall(const CollectiveRequest& request);
  // How it ended, by the progress thread.
  int result(CollectiveRequest& request);
  // A request that was offloaded has ended here.
  void end(const CollectiveRequest& request);

  // The progress thread may wait for what this rank has done.
  void nudge();
  [[nodiscard]] uint64_t moves() const { return queue_.moves.load(std::memory_order_relaxed); }

 private:
  [[nodiscard]] bool may_go(const CollectiveRequest& request) const;
  [[nodiscard]] bool is_thread_there() const;
  void notify();
  void wake_from_network();

  Team& team_;
  OffloadQueue& queue_;
  const NodeEndpoint& own_;
  NodeEndpoint* const endpoint_;  // null: there can be none
  uint32_t ended_ = 0;            // of those posted: their places may be used again
};

}  // namespace ompl::coll
