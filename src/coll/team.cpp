// SPDX-License-Identifier: BSD-3-Clause
#include "coll/team.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "coll/engine.hpp"
#include "coll/progress.hpp"
#include "util/status.hpp"

namespace ompl::coll {

Team::Team(Engine& engine, std::vector<uint32_t> ranks, const Layout& layout, uint64_t memory,
           const std::vector<uint64_t>& theirs, uint64_t staging)
    : engine_(engine),
      runtime_(engine.runtime()),
      ranks_(std::move(ranks)),
      nodes_(engine.hosts(ranks_)),
      layout_(layout),
      memory_(memory),
      theirs_(theirs),
      staging_(staging),
      me_(static_cast<uint32_t>(std::ranges::find(ranks_, runtime_.rank()) - ranks_.begin())) {
  if (runtime_.settings().coll_scheduler == "locked-queue") queue_ = std::make_unique<LockedQueue>();
  for (uint32_t lane = 0; lane < layout.lanes; ++lane) {
    std::vector<Channel> channels;
    channels.reserve(layout.members);
    for (uint32_t peer = 0; peer < layout.members; ++peer) {
      const uint64_t staged = layout.cells(lane, peer) - layout.cells(0, 0);
      channels.emplace_back(runtime_,
                            Channel::Ends{.rank = ranks_[peer],
                                          .words_here = memory + layout.words(lane, peer),
                                          .cells_here = memory + layout.cells(lane, peer),
                                          .words_there = theirs[peer] + layout.words(lane, me_),
                                          .cells_there = theirs[peer] + layout.cells(lane, me_),
                                          .staging = static_cast<std::byte*>(runtime_.pointer(
                                              runtime_.rank(), staging == 0 ? 0 : staging + staged)),
                                          .stride = layout.stride});
    }
    lanes_.push_back(std::make_unique<Lane>(*this, std::move(channels)));
  }
}

void Team::drive(Context& c, bool* again) {
  look_at_failures();
  for (const std::unique_ptr<Lane>& lane : lanes_)
    if (lane->busy()) lane->drive(c, again);
}

bool Team::serve(Context& c, bool* again) {
  look_at_failures();
  if (queue_ != nullptr) {
    queue_->drive(c, again);
    return busy();
  }
  bool left = false;
  for (const std::unique_ptr<Lane>& lane : lanes_) {
    if (!lane->busy() || lane->attended() || !is_served(lane->progress())) continue;
    lane->drive(c, again);
    left = left || lane->busy();
  }
  return left;
}

void Team::idle(Context& c, bool* again) {
  look_at_failures();
  for (const std::unique_ptr<Lane>& lane : lanes_)
    if (lane->busy() && lane->progress() == OMPL_PROGRESS_IDLE) lane->drive(c, again);
}

bool Team::has_lane_of(int32_t mode) const {
  if (progress() != OMPL_PROGRESS_AUTO) return progress() == mode;
  return std::ranges::any_of(
      lanes_, [=](const std::unique_ptr<Lane>& lane) { return lane->progress() == mode; });
}

bool Team::busy() const {
  return std::ranges::any_of(lanes_, [](const std::unique_ptr<Lane>& lane) { return lane->busy(); });
}

void Team::tell(Table* table) const {
  for (const std::unique_ptr<Lane>& lane : lanes_) lane->tell(table);
}

uint64_t Team::moves() const {
  uint64_t all = 0;
  for (const std::unique_ptr<Lane>& lane : lanes_) all += lane->moves();
  return all;
}

void Team::break_up(int code, const std::string& why) {
  const std::lock_guard lock(breaking_);
  if (broken() != OMPL_OK) return;
  why_ = why;
  broken_.store(code, std::memory_order_release);
}

// Who is out of reach cannot be told, and learns of that by itself.
void Team::leave(Context& c) {
  for (uint32_t member = 0; member < size(); ++member) {
    const Signal left{.offset = theirs_[member] + offsetof(Notice, left)};
    static_cast<void>(runtime_.signal(c, ranks_[member], left));
  }
  look_at_failures();
}

void Team::look_at_failures() {
  auto* const notice = static_cast<std::byte*>(runtime_.pointer(runtime_.rank(), memory_));
  const auto left = arch::word32(notice + offsetof(Notice, left));
  if (left.load(std::memory_order_acquire) != 0 && broken() == OMPL_OK)
    break_up(OMPL_ERR_MEMORY, "a member has found no memory to take part in a collective");
  const uint32_t known = runtime_.failures();
  if (known == failures_seen_.load(std::memory_order_relaxed)) return;
  failures_seen_.store(known, std::memory_order_relaxed);
  for (const uint32_t rank : ranks_) {
    const int failure = runtime_.peer(rank).failure.load();
    if (failure == OMPL_OK) continue;
    break_up(failure, fmt::format("rank {}, of the team, {}", rank,
                                  failure == OMPL_ERR_PEER ? "died" : "is out of reach"));
  }
}

}  // namespace ompl::coll
