// SPDX-License-Identifier: BSD-3-Clause
// A member's side of mode `node`: which requests of a lane the servant of the node gets, and what becomes of them.
// Thread rule: one thread at a time, which has claimed the lane.
#pragma once

#include "coll/progress/offload_queue.hpp"
#include "coll/request.hpp"

namespace ompl::coll {

class Team;

class Handover {
 public:
  Handover(Team& team, uint32_t lane);

  // Hands the request over, unless it was. False: it stays here for now, and so must all behind it.
  bool offer(Request& request);

  enum class Owner : uint8_t { servant, over, own };
  // Who has a request that was handed over, the first of the lane; if nobody does yet, and `back` wants it, this rank takes it.
  Owner owner(const Request& request, bool back);
  // Ends a request that the servant has, or had: nobody will touch its buffers any more.
  void recall(const Request& request);
  // How it ended, by the servant.
  int result(Request& request);
  // A request that was handed over has ended here.
  void end(const Request& request);

  // The servant may wait for what this rank has done.
  void nudge();
  [[nodiscard]] uint64_t moves() const { return desk_.moves.load(std::memory_order_relaxed); }

 private:
  [[nodiscard]] bool may_go(const Request& request) const;
  [[nodiscard]] bool servant_is_there() const;
  void ring();
  void wake_from_network();

  Team& team_;
  Desk& desk_;
  const Station& own_;
  Station* const servant_;  // null: there can be none
  uint32_t ended_ = 0;      // of those posted: their places may be used again
};

}  // namespace ompl::coll
