// SPDX-License-Identifier: BSD-3-Clause
// Ranks that communicate together: a queue for each tag, and memory of the segment.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "coll/progress/locked_queue.hpp"
#include "coll/progress/proxy_executor.hpp"
#include "coll/tag_queue.hpp"
#include "coll/team/nodes.hpp"
#include "core/job/runtime.hpp"
#include "util/mutex.hpp"

namespace ompl::coll {

class Engine;

class Team {
 public:
  // `memories`: offsets of the layout's bytes in the members' segments, zero; `staging`: offset of memory for the cells of
  // peers that are not mapped, 0 if there are none.
  Team(Engine& engine, std::vector<uint32_t> ranks, const TeamLayout& layout,
       std::vector<uint64_t> memories, uint64_t staging);
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] Engine& engine() const { return engine_; }
  [[nodiscard]] Runtime& runtime() const { return runtime_; }
  [[nodiscard]] const std::vector<uint32_t>& ranks() const { return ranks_; }
  [[nodiscard]] uint32_t me() const { return me_; }
  [[nodiscard]] uint32_t size() const { return layout_.members; }
  [[nodiscard]] const Nodes& nodes() const { return nodes_; }
  [[nodiscard]] const TeamLayout& layout() const { return layout_; }
  [[nodiscard]] uint64_t memory() const { return memories_[me_]; }
  [[nodiscard]] uint64_t staging() const { return staging_; }
  [[nodiscard]] TagQueue& queue(uint32_t tag) { return *queues_[tag]; }
  // Those of a member, whose memory is mapped, for a tag.
  [[nodiscard]] std::vector<Channel> channels(uint32_t member, uint32_t tag) const;
  // Null without OMPL_COLL_SCHEDULER=locked-queue.
  [[nodiscard]] LockedQueue* locked_queue() const { return locked_queue_.get(); }

  // Goes on with every tag queue. Any thread.
  void drive(Context& c, bool* again);
  [[nodiscard]] bool busy() const;
  [[nodiscard]] uint64_t moves() const;  // see TagQueue; also for members that this rank serves

  // What was found for its calls; see TagQueue.
  void tell(Table* table) const;

  // OMPL_PROGRESS_NONE, ...; with OMPL_PROGRESS_AUTO each tag queue has its own.
  [[nodiscard]] int32_t progress() const { return progress_.load(std::memory_order_relaxed); }
  void set_progress(int32_t mode) { progress_.store(mode, std::memory_order_relaxed); }
  [[nodiscard]] bool has_queue_of(int32_t mode) const;
  // As Engine::serve().
  bool serve(Context& c, bool* again);
  // Goes on with the tag queues of mode idle.
  void idle(Context& c, bool* again);

  // The members of this node, this one too.
  [[nodiscard]] const std::vector<uint32_t>& neighbours() const {
    return nodes_.members(nodes_.of(me_));
  }
  // The rank whose process may have the node's progress thread: the lowest; kNoRank, and why.
  [[nodiscard]] uint32_t progress_rank() const { return progress_rank_; }
  [[nodiscard]] std::string why_no_progress_rank() const;
  // Whether requests may go there.
  [[nodiscard]] bool offloads() const {
    return progress() == OMPL_PROGRESS_NODE && progress_rank_ != kNoRank;
  }
  // Whether the node's progress thread can carry out a schedule of this member: the other members' of the node if no message of theirs leaves it.
  [[nodiscard]] bool can_be_offloaded(const Schedule& schedule) const;
  // A member's offload queue of a tag, and where it lies in its segment.
  [[nodiscard]] uint64_t offload_queue_at(uint32_t member, uint32_t tag) const {
    return memories_[member] + layout_.offload_queue(tag);
  }
  [[nodiscard]] OffloadQueue& offload_queue(uint32_t member, uint32_t tag) const {
    return *static_cast<OffloadQueue*>(
        runtime_.memory.pointer(ranks_[member], offload_queue_at(member, tag)));
  }
  // Whether this rank's thread for the node has requests of members that are not over. Any thread.
  [[nodiscard]] bool has_offloads() const;
  // For the node's progress thread, if it is of this rank: as ProxyExecutor::advance(), and the end of what it has. Once the service is closed, it does not look
  // at the members' memory, which they may use otherwise.
  bool serve_members(Context& c, MemberMemories& memories, bool* moved);
  void end_service(Context& c);
  void close_service() { closed_.store(true, std::memory_order_seq_cst); }

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
  [[nodiscard]] uint32_t lowest_of_node() const;
  template <class Visit>
  void for_offload_queues(Visit visit) const;

  Engine& engine_;
  Runtime& runtime_;
  const std::vector<uint32_t> ranks_;
  const Nodes nodes_;
  const TeamLayout layout_;
  const std::vector<uint64_t> memories_;  // of the members
  const uint64_t staging_;
  const uint32_t me_;
  const uint32_t progress_rank_;
  std::vector<std::unique_ptr<TagQueue>> queues_;  // by tag
  std::unique_ptr<LockedQueue> locked_queue_;
  std::unique_ptr<TeamProxies> proxies_;  // made by the node's progress thread
  std::atomic<bool> closed_{false};

  std::atomic<int32_t> progress_{OMPL_PROGRESS_NONE};
  std::atomic<uint32_t> failures_seen_{0};
  std::atomic<int> broken_{OMPL_OK};
  Mutex breaking_;
  std::string why_;  // written once, under breaking_, before broken_
};

}  // namespace ompl::coll
