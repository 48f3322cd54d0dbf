// SPDX-License-Identifier: BSD-3-Clause
#include "coll/progress/proxy_executor.hpp"

#include <cerrno>
#include <new>

#include "coll/engine.hpp"
#include "coll/team/team.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::coll {

StandIn::StandIn(Team& team, uint32_t member, uint32_t lane)
    : team_(team),
      rank_(team.ranks()[member]),
      desk_at_(team.desk_at(member, lane)),
      desk_(team.desk(member, lane)),
      executor_(team, team.channels(member, lane)) {}

bool StandIn::serve(Context& c, MemberMemory& memory, bool* moved) {
  if (order_ == nullptr) {
    if (!take(memory)) return false;
    *moved = true;
  }
  if (const int broken = team_.broken(); broken != OMPL_OK) {
    end(c, broken, team_.why_broken());
    return false;
  }
  if (desk_.recalled.load(std::memory_order_acquire) != 0) {
    end(c, OMPL_ERR_STATE, "the member took it back");
    return false;
  }
  const uint64_t before = executor_.moves();
  const bool over = executor_.advance(c, execution_, Executor::kTurns) == Executor::Turn::done;
  *moved = *moved || over || executor_.moves() != before;
  desk_.moves.store(executor_.moves(), std::memory_order_relaxed);
  if (over) end(c, execution_.failure, execution_.why);
  return !over;
}

// The next order, if nobody has it; one that cannot be served goes back to the member, who may sleep.
bool StandIn::take(MemberMemory& memory) {
  const uint32_t number = desk_.done.load(std::memory_order_acquire);
  if (desk_.posted.load(std::memory_order_acquire) == number) return false;
  Order& order = desk_.order(number);
  if (!order.take(number, Order::Owner::servant)) return false;
  if (const int error = learn(order, memory); error != 0) {
    if (error != ENOMEM) refuse(error);
    order.claim.store(Order::claim_of(number, Order::Owner::member), std::memory_order_seq_cst);
    team_.runtime().wake_sleepers(rank_, desk_at_ + offsetof(Desk, done));
    return false;
  }
  order_ = &order;
  return true;
}

// The member hands over no more.
void StandIn::refuse(int error) {
  if (team_.engine().station(rank_).refused.exchange(error) != 0) return;
  log::info(
      "rank {}: cannot read the memory of rank {} ({}): its callers go on with collectives themselves",
      team_.runtime().rank(), rank_, error_text(error));
}

// 0, or why it cannot be served.
int StandIn::learn(const Order& order, MemberMemory& memory) {
  if (memory.refusal() != 0) return memory.refusal();
  if (order.schedule != known_) {
    known_ = 0;
    try {
      schedule_.steps.resize(order.step_count);
      schedule_.rounds.resize(order.round_count);
      execution_.make_room(order.widest);
    } catch (const std::bad_alloc&) {
      return ENOMEM;
    }
    int error = memory.read(schedule_.steps.data(), order.steps, order.step_count * sizeof(Step));
    if (error == 0)
      error = memory.read(schedule_.rounds.data(), order.rounds, order.round_count * sizeof(uint32_t));
    if (error != 0) return error;
    known_ = order.schedule;
  }
  operation_ = {.element = order.element};
  if (order.type >= 0) operation_.kernel = kernel_of(order.type, order.op, &operation_.element);
  execution_.memory = memory.is_own() ? nullptr : &memory;
  execution_.failure = OMPL_OK;
  execution_.find_scratch(order.scratch);
  // NOLINTBEGIN(performance-no-int-to-ptr)
  execution_.begin({.schedule = &schedule_,
                    .send = reinterpret_cast<std::byte*>(order.send),
                    .receive = reinterpret_cast<std::byte*>(order.receive),
                    .operation = &operation_});
  // NOLINTEND(performance-no-int-to-ptr)
  return 0;
}

void StandIn::end(Context& c, int code, const std::string& why) {
  if (order_ == nullptr) return;
  order_->code = code;
  const std::size_t length = code == OMPL_OK ? 0 : why.copy(order_->why.data(), order_->why.size() - 1);
  order_->why[length] = '\0';
  order_ = nullptr;
  // To memory that is mapped nothing can fail.
  static_cast<void>(team_.runtime().signal(c, rank_, {.offset = desk_at_ + offsetof(Desk, done)}));
}

}  // namespace ompl::coll
