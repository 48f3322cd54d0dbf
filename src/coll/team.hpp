// SPDX-License-Identifier: BSD-3-Clause
// Ranks that communicate together: a lane for each tag, and memory of the segment.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "coll/lane.hpp"
#include "coll/locked_queue.hpp"
#include "coll/nodes.hpp"

namespace ompl::coll {

class Engine;

class Team {
 public:
  // `memory`: offset of the layout's bytes in the own segment, zero; `theirs`: those of the members; `staging`: offset of
  // memory for the cells of peers that are not mapped, 0 if there are none.
  Team(Engine& engine, std::vector<uint32_t> ranks, const Layout& layout, uint64_t memory,
       const std::vector<uint64_t>& theirs, uint64_t staging);
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] Engine& engine() const { return engine_; }
  [[nodiscard]] Runtime& runtime() const { return runtime_; }
  [[nodiscard]] const std::vector<uint32_t>& ranks() const { return ranks_; }
  [[nodiscard]] uint32_t me() const { return me_; }
  [[nodiscard]] uint32_t size() const { return layout_.members; }
  [[nodiscard]] const Nodes& nodes() const { return nodes_; }
  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] uint64_t memory() const { return memory_; }
  [[nodiscard]] uint64_t staging() const { return staging_; }
  [[nodiscard]] Lane& lane(uint32_t tag) { return *lanes_[tag]; }
  // Null, unless lanes are measured under a lock.
  [[nodiscard]] LockedQueue* queue() const { return queue_.get(); }

  // Goes on with every lane. Any thread.
  void drive(Context& c, bool* again);
  [[nodiscard]] bool busy() const;
  [[nodiscard]] uint64_t moves() const;  // see Lane

  // What was found for its calls; see Lane.
  void tell(Table* table) const;

  // OMPL_PROGRESS_NONE, ...; with OMPL_PROGRESS_AUTO each lane has its own.
  [[nodiscard]] int32_t progress() const { return progress_.load(std::memory_order_relaxed); }
  void set_progress(int32_t mode) { progress_.store(mode, std::memory_order_relaxed); }
  [[nodiscard]] bool has_lane_of(int32_t mode) const;
  // As Engine::serve().
  bool serve(Context& c, bool* again);
  // Goes on with the lanes of mode idle.
  void idle(Context& c, bool* again);

  // OMPL_OK, or why nothing of the team will be complete any more. Any thread.
  [[nodiscard]] int broken() const { return broken_.load(std::memory_order_acquire); }
  void break_up(int code, const std::string& why);
  // The reason; once broken() is not OMPL_OK.
  [[nodiscard]] const std::string& why_broken() const { return why_; }
  // Breaks up if a member is known to have failed, or has left.
  void look_at_failures();
  // This member finds no memory to take part in a collective: breaks up, here and at all others.
  void leave(Context& c);

  // Persistent requests.
  std::atomic<uint32_t> persistent{0};

 private:
  Engine& engine_;
  Runtime& runtime_;
  const std::vector<uint32_t> ranks_;
  const Nodes nodes_;
  const Layout layout_;
  const uint64_t memory_;
  const std::vector<uint64_t> theirs_;  // the same of the members
  const uint64_t staging_;
  uint32_t me_ = 0;
  std::vector<std::unique_ptr<Lane>> lanes_;  // by tag
  std::unique_ptr<LockedQueue> queue_;

  std::atomic<int32_t> progress_{OMPL_PROGRESS_NONE};
  std::atomic<uint32_t> failures_seen_{0};
  std::atomic<int> broken_{OMPL_OK};
  std::mutex breaking_;
  std::string why_;
};

}  // namespace ompl::coll
