// SPDX-License-Identifier: BSD-3-Clause
#include "coll/progress/offload_client.hpp"

#include "arch/give_way.hpp"
#include "coll/engine.hpp"
#include "coll/team/team.hpp"
#include "core/wait/deadline.hpp"
#include "util/log.hpp"

namespace ompl::coll {
namespace {

constexpr int64_t kPatience_ns = 10'000'000'000;  // with a progress thread that does not let go

uint64_t as_number(const void* address) { return reinterpret_cast<uintptr_t>(address); }

}  // namespace

OffloadClient::OffloadClient(Team& team, uint32_t tag)
    : team_(team),
      queue_(team.offload_queue(team.me(), tag)),
      own_(team.engine().node_endpoint(team.runtime().rank())),
      endpoint_(team.progress_rank() == kNoRank ? nullptr
                                                : &team.engine().node_endpoint(team.progress_rank())) {}

bool OffloadClient::is_thread_there() const {
  const PeerState& peer = team_.runtime().failures.peer(team_.progress_rank());
  return peer.failure.load() == OMPL_OK && endpoint_->open.load(std::memory_order_seq_cst) != 0;
}

// A progress thread that may wait for a network sleeps among its rank's waiters for several flags: any word's signal wakes these.
void OffloadClient::notify() {
  endpoint_->events.notify();
  wake_from_network();
}

void OffloadClient::nudge() {
  endpoint_->events.nudge();
  wake_from_network();
}

void OffloadClient::wake_from_network() {
  if (team_.engine().has_network())
    team_.runtime().sleepers.wake_sleepers(team_.progress_rank(), team_.memory());
}

// A caller that waits has nothing better to do than to go on with it itself. The progress thread knows no functions of the user's, nor
// times and signatures.
bool OffloadClient::may_go(const CollectiveRequest& request) const {
  return request.in_background && request.stage == CollectiveRequest::Stage::waiting &&
         request.operation.function == nullptr && request.exchange == nullptr &&
         request.prepared->can_be_offloaded && request.worth_waking && team_.broken() == OMPL_OK &&
         is_thread_there() && own_.refused.load(std::memory_order_relaxed) == 0;
}

bool OffloadClient::offer(CollectiveRequest& request) {
  if (request.offloaded) return true;
  const uint32_t number = queue_.posted.load(std::memory_order_relaxed);
  if (number - ended_ == OffloadQueue::kPlaces || !may_go(request)) return false;
  const Schedule& schedule = *request.prepared->schedules.front();
  OffloadRequest& place = queue_.request(number);
  place.schedule = request.prepared->number;
  place.steps = as_number(schedule.steps.data());
  place.rounds = as_number(schedule.rounds.data());
  place.step_count = static_cast<uint32_t>(schedule.steps.size());
  place.round_count = static_cast<uint32_t>(schedule.rounds.size());
  place.widest = schedule.widest;
  place.scratch = schedule.scratch;
  place.type = request.operation.type;
  place.op = request.operation.number;
  place.element = request.operation.element;
  place.send = as_number(request.send);
  place.receive = as_number(request.receive);
  place.claim.store(OffloadRequest::claim_of(number, OffloadRequest::Owner::nobody),
                    std::memory_order_relaxed);
  queue_.posted.store(number + 1, std::memory_order_release);
  request.offloaded = true;
  request.offload_number = number;
  notify();
  return true;
}

OffloadClient::Owner OffloadClient::owner(const CollectiveRequest& request, bool back) {
  OffloadRequest& place = queue_.request(request.offload_number);
  if (place.is_of(request.offload_number, OffloadRequest::Owner::member)) return Owner::own;
  if (static_cast<int32_t>(queue_.done.load(std::memory_order_acquire) - request.offload_number) > 0)
    return Owner::over;
  if ((back || !is_thread_there()) && place.take(request.offload_number, OffloadRequest::Owner::member))
    return Owner::own;
  return Owner::proxy;
}

// Only a progress thread that died, or is stopped, does not answer.
void OffloadClient::recall(const CollectiveRequest& request) {
  Runtime& runtime = team_.runtime();
  queue_.recalled.store(1, std::memory_order_release);
  notify();
  const Deadline limit = Deadline::in(kPatience_ns);
  while (owner(request, true) == Owner::proxy &&
         runtime.failures.peer(team_.progress_rank()).failure.load() == OMPL_OK) {
    if (limit.passed()) {
      log::warn(
          "rank {}: rank {}, which has the node's progress thread, does not release the buffers of a "
          "collective",
          runtime.rank(), team_.progress_rank());
      return;
    }
    runtime.failures.look_for_deaths();
    arch::give_way();
  }
}

int OffloadClient::result(CollectiveRequest& request) {
  const OffloadRequest& place = queue_.request(request.offload_number);
  request.execution.failure = place.code;
  request.execution.why = place.why.data();
  return place.code;
}

void OffloadClient::end(const CollectiveRequest& request) {
  ++ended_;
  if (!queue_.request(request.offload_number)
           .is_of(request.offload_number, OffloadRequest::Owner::member))
    return;
  const uint32_t done = queue_.done.fetch_add(1, std::memory_order_seq_cst) + 1;
  if (done != queue_.posted.load(std::memory_order_relaxed)) notify();
}

}  // namespace ompl::coll
