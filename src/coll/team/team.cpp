// SPDX-License-Identifier: BSD-3-Clause
#include "coll/team/team.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "coll/engine.hpp"
#include "coll/progress/modes.hpp"
#include "core/data/operations.hpp"
#include "util/status.hpp"

namespace ompl::coll {

Team::Team(Engine& engine, std::vector<uint32_t> ranks, const TeamLayout& layout,
           std::vector<uint64_t> memories, uint64_t staging)
    : engine_(engine),
      runtime_(engine.runtime()),
      ranks_(std::move(ranks)),
      nodes_(engine.hosts(ranks_)),
      layout_(layout),
      memories_(std::move(memories)),
      staging_(staging),
      me_(static_cast<uint32_t>(std::ranges::find(ranks_, runtime_.rank()) - ranks_.begin())),
      progress_rank_(why_no_progress_rank().empty() ? lowest_of_node() : kNoRank) {
  if (runtime_.settings.coll_scheduler == "locked-queue")
    locked_queue_ = std::make_unique<LockedQueue>();
  for (uint32_t tag = 0; tag < layout.tags; ++tag)
    queues_.push_back(std::make_unique<TagQueue>(*this, tag));
}

std::vector<Channel> Team::channels(uint32_t member, uint32_t tag) const {
  std::vector<Channel> channels;
  channels.reserve(size());
  const uint64_t here = memories_[member];
  for (uint32_t peer = 0; peer < size(); ++peer) {
    const uint64_t there = memories_[peer];
    const uint64_t staged = layout_.cells(tag, peer) - layout_.cells(0, 0);
    channels.emplace_back(runtime_.memory,
                          Channel::Ends{.member = ranks_[member],
                                        .rank = ranks_[peer],
                                        .words_here = here + layout_.words(tag, peer),
                                        .counters_here = here + layout_.counters(tag, peer),
                                        .cells_here = here + layout_.cells(tag, peer),
                                        .words_there = there + layout_.words(tag, member),
                                        .cells_there = there + layout_.cells(tag, member),
                                        .staging = static_cast<std::byte*>(runtime_.memory.pointer(
                                            runtime_.rank(), staging_ == 0 ? 0 : staging_ + staged)),
                                        .stride = layout_.stride});
  }
  return channels;
}

void Team::drive(Context& c, bool* again) {
  look_at_failures();
  for (const std::unique_ptr<TagQueue>& queue : queues_)
    if (queue->busy()) queue->drive(c, again);
}

bool Team::serve(Context& c, bool* again) {
  look_at_failures();
  if (locked_queue_ != nullptr) {
    locked_queue_->drive(c, again);
    return busy();
  }
  bool left = false;
  for (const std::unique_ptr<TagQueue>& queue : queues_) {
    if (!queue->busy() || queue->attended() || !has_progress_thread(queue->progress())) continue;
    queue->drive(c, again);
    left = left || queue->busy();
  }
  return left;
}

void Team::idle(Context& c, bool* again) {
  look_at_failures();
  for (const std::unique_ptr<TagQueue>& queue : queues_)
    if (queue->busy() && queue->progress() == OMPL_PROGRESS_IDLE) queue->drive(c, again);
}

bool Team::has_queue_of(int32_t mode) const {
  if (progress() != OMPL_PROGRESS_AUTO) return progress() == mode;
  return std::ranges::any_of(
      queues_, [=](const std::unique_ptr<TagQueue>& queue) { return queue->progress() == mode; });
}

uint32_t Team::lowest_of_node() const {
  uint32_t lowest = runtime_.rank();
  for (const uint32_t member : neighbours()) lowest = std::min(lowest, ranks_[member]);
  return lowest;
}

bool Team::can_be_offloaded(const Schedule& schedule) const {
  return progress_rank_ == runtime_.rank() ||
         std::ranges::all_of(schedule.steps, [this](const ScheduleStep& step) {
           return !step.has_peer() || nodes_.of(step.peer) == nodes_.of(me_);
         });
}

std::string Team::why_no_progress_rank() const {
  if (size() == 1) return "the team has one member";
  if (runtime_.settings.coll_scheduler == "locked-queue") return "OMPL_COLL_SCHEDULER is locked-queue";
  return {};
}

// Calls `visit(queue)` for each that this rank's thread for the node looks at.
template <class Visit>
void Team::for_offload_queues(Visit visit) const {
  if (progress_rank_ != runtime_.rank()) return;
  for (const uint32_t member : neighbours())
    for (uint32_t tag = 0; tag < layout_.tags; ++tag) visit(offload_queue(member, tag));
}

bool Team::has_offloads() const {
  bool any = false;
  for_offload_queues(
      [&](const OffloadQueue& queue) { any = any || queue.posted.load() != queue.done.load(); });
  return any;
}

bool Team::serve_members(Context& c, MemberMemories& memories, bool* moved) {
  if (closed_.load(std::memory_order_seq_cst)) return false;
  if (proxies_ == nullptr) proxies_ = std::make_unique<TeamProxies>(*this);
  return proxies_->advance(c, memories, moved);
}

void Team::end_service(Context& c) {
  if (proxies_ != nullptr) proxies_->end(c, OMPL_ERR_STATE, "the node's progress thread has ended");
}

bool Team::busy() const {
  return std::ranges::any_of(queues_,
                             [](const std::unique_ptr<TagQueue>& queue) { return queue->busy(); });
}

void Team::tell(Table* table) const {
  for (const std::unique_ptr<TagQueue>& queue : queues_) queue->tell(table);
}

uint64_t Team::moves() const {
  uint64_t all = 0;
  for (const std::unique_ptr<TagQueue>& queue : queues_) all += queue->moves();
  for_offload_queues(
      [&](const OffloadQueue& queue) { all += queue.moves.load(std::memory_order_relaxed); });
  return all;
}

void Team::break_up(int code, const std::string& why) {
  const Lock lock(breaking_);
  if (broken() != OMPL_OK) return;
  why_ = why;
  broken_.store(code, std::memory_order_release);
}

// Who is out of reach cannot be told, and learns of that by itself.
void Team::leave(Context& c) {
  for (uint32_t member = 0; member < size(); ++member) {
    const Signal left{.offset = memories_[member] + offsetof(Notice, left)};
    static_cast<void>(ompl::signal(c, ranks_[member], left));
  }
  look_at_failures();
}

void Team::look_at_failures() {
  auto* const notice = static_cast<std::byte*>(runtime_.memory.pointer(runtime_.rank(), memory()));
  const auto left = arch::word32(notice + offsetof(Notice, left));
  if (left.load(std::memory_order_acquire) != 0 && broken() == OMPL_OK)
    break_up(OMPL_ERR_MEMORY, "a member has found no memory to take part in a collective");
  const uint32_t known = runtime_.failures.events();
  if (known == failures_seen_.load(std::memory_order_relaxed)) return;
  failures_seen_.store(known, std::memory_order_relaxed);
  uint32_t torn = 0;
  for (const uint32_t rank : ranks_) {
    const PeerState& member = runtime_.failures.peer(rank);
    torn += member.torn.load() ? 1 : 0;
    const int failure = member.failure.load();
    if (failure == OMPL_OK) continue;
    break_up(failure, fmt::format("rank {}, of the team, {}", rank,
                                  failure == OMPL_ERR_PEER ? "died" : "is out of reach"));
  }
  // Whom they have lost is not known: perhaps each other.
  if (torn > 1) break_up(OMPL_ERR_LINK, "members of the team have lost connections");
}

}  // namespace ompl::coll
