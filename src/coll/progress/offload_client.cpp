// SPDX-License-Identifier: BSD-3-Clause
#include "coll/progress/offload_client.hpp"

#include <sched.h>

#include "coll/engine.hpp"
#include "coll/team/team.hpp"
#include "core/wait/deadline.hpp"
#include "util/log.hpp"

namespace ompl::coll {
namespace {

constexpr int64_t kPatience_ns = 10'000'000'000;  // with a servant that does not let go

uint64_t as_number(const void* address) { return reinterpret_cast<uintptr_t>(address); }

}  // namespace

Handover::Handover(Team& team, uint32_t lane)
    : team_(team),
      desk_(team.desk(team.me(), lane)),
      own_(team.engine().station(team.runtime().rank())),
      servant_(team.servant() == kNoRank ? nullptr : &team.engine().station(team.servant())) {}

bool Handover::servant_is_there() const {
  const Peer& peer = team_.runtime().peer(team_.servant());
  return peer.failure.load() == OMPL_OK && servant_->open.load(std::memory_order_seq_cst) != 0;
}

// A servant that may wait for a network sleeps among its rank's waiters for several flags: any word's signal wakes these.
void Handover::ring() {
  servant_->bell.ring();
  wake_from_network();
}

void Handover::nudge() {
  servant_->bell.nudge();
  wake_from_network();
}

void Handover::wake_from_network() {
  if (team_.engine().has_network()) team_.runtime().wake_sleepers(team_.servant(), team_.memory());
}

// A caller that waits has nothing better to do than to go on with it itself. The servant knows no functions of the user's, nor
// times and promises.
bool Handover::may_go(const Request& request) const {
  return request.in_background && request.stage == Request::Stage::waiting &&
         request.operation.function == nullptr && request.exchange == nullptr &&
         request.prepared->can_be_served && request.worth_waking && team_.broken() == OMPL_OK &&
         servant_is_there() && own_.refused.load(std::memory_order_relaxed) == 0;
}

bool Handover::offer(Request& request) {
  if (request.handed_over) return true;
  const uint32_t number = desk_.posted.load(std::memory_order_relaxed);
  if (number - ended_ == Desk::kOrders || !may_go(request)) return false;
  const Schedule& schedule = *request.prepared->schedules.front();
  Order& order = desk_.order(number);
  order.schedule = request.prepared->number;
  order.steps = as_number(schedule.steps.data());
  order.rounds = as_number(schedule.rounds.data());
  order.step_count = static_cast<uint32_t>(schedule.steps.size());
  order.round_count = static_cast<uint32_t>(schedule.rounds.size());
  order.widest = schedule.widest;
  order.scratch = schedule.scratch;
  order.type = request.operation.type;
  order.op = request.operation.number;
  order.element = request.operation.element;
  order.send = as_number(request.send);
  order.receive = as_number(request.receive);
  order.claim.store(Order::claim_of(number, Order::Owner::nobody), std::memory_order_relaxed);
  desk_.posted.store(number + 1, std::memory_order_release);
  request.handed_over = true;
  request.order = number;
  ring();
  return true;
}

Handover::Owner Handover::owner(const Request& request, bool back) {
  Order& order = desk_.order(request.order);
  if (order.is_of(request.order, Order::Owner::member)) return Owner::own;
  if (static_cast<int32_t>(desk_.done.load(std::memory_order_acquire) - request.order) > 0)
    return Owner::over;
  if ((back || !servant_is_there()) && order.take(request.order, Order::Owner::member))
    return Owner::own;
  return Owner::servant;
}

// Only a servant that died, or is stopped, does not answer.
void Handover::recall(const Request& request) {
  Runtime& runtime = team_.runtime();
  desk_.recalled.store(1, std::memory_order_release);
  ring();
  const Deadline limit = Deadline::in(kPatience_ns);
  while (owner(request, true) == Owner::servant &&
         runtime.peer(team_.servant()).failure.load() == OMPL_OK) {
    if (limit.passed()) {
      log::warn(
          "rank {}: rank {}, the servant of the node, does not let go the buffers of a collective",
          runtime.rank(), team_.servant());
      return;
    }
    runtime.look_for_deaths();
    ::sched_yield();
  }
}

int Handover::result(Request& request) {
  const Order& order = desk_.order(request.order);
  request.execution.failure = order.code;
  request.execution.why = order.why.data();
  return order.code;
}

void Handover::end(const Request& request) {
  ++ended_;
  if (!desk_.order(request.order).is_of(request.order, Order::Owner::member)) return;
  const uint32_t done = desk_.done.fetch_add(1, std::memory_order_seq_cst) + 1;
  if (done != desk_.posted.load(std::memory_order_relaxed)) ring();
}

}  // namespace ompl::coll
