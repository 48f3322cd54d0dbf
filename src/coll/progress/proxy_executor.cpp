// SPDX-License-Identifier: BSD-3-Clause
#include "coll/progress/proxy_executor.hpp"

#include <cerrno>
#include <new>

#include "coll/engine.hpp"
#include "coll/team/team.hpp"
#include "core/data/operations.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::coll {

ProxyExecutor::ProxyExecutor(Team& team, uint32_t member, uint32_t tag)
    : team_(team),
      rank_(team.ranks()[member]),
      queue_at_(team.offload_queue_at(member, tag)),
      queue_(team.offload_queue(member, tag)),
      executor_(team, team.channels(member, tag)) {}

bool ProxyExecutor::advance(Context& c, MemberMemory& memory, bool* moved) {
  if (request_ == nullptr) {
    if (!take(memory)) return false;
    *moved = true;
  }
  if (const int broken = team_.broken(); broken != OMPL_OK) {
    end(c, broken, team_.why_broken());
    return false;
  }
  if (queue_.recalled.load(std::memory_order_acquire) != 0) {
    end(c, OMPL_ERR_STATE, "the member took it back");
    return false;
  }
  const uint64_t before = executor_.moves();
  const bool over = executor_.advance(c, execution_, Executor::kTurns) == Executor::Turn::done;
  *moved = *moved || over || executor_.moves() != before;
  queue_.moves.store(executor_.moves(), std::memory_order_relaxed);
  if (over) end(c, execution_.failure, execution_.why);
  return !over;
}

// The next order, if nobody has it; one that cannot be served goes back to the member, who may sleep.
bool ProxyExecutor::take(MemberMemory& memory) {
  const uint32_t number = queue_.done.load(std::memory_order_acquire);
  if (queue_.posted.load(std::memory_order_acquire) == number) return false;
  OffloadRequest& request = queue_.request(number);
  if (!request.take(number, OffloadRequest::Owner::proxy)) return false;
  if (const int error = learn(request, memory); error != 0) {
    if (error != ENOMEM) refuse(error);
    request.claim.store(OffloadRequest::claim_of(number, OffloadRequest::Owner::member),
                        std::memory_order_seq_cst);
    team_.runtime().sleepers.wake_sleepers(rank_, queue_at_ + offsetof(OffloadQueue, done));
    return false;
  }
  request_ = &request;
  return true;
}

// The member hands over no more.
void ProxyExecutor::refuse(int error) {
  if (team_.engine().node_endpoint(rank_).refused.exchange(error) != 0) return;
  log::info(
      "rank {}: cannot read the memory of rank {} ({}): its callers go on with collectives themselves",
      team_.runtime().rank(), rank_, error_text(error));
}

// 0, or why it cannot be served.
int ProxyExecutor::learn(const OffloadRequest& request, MemberMemory& memory) {
  if (memory.refusal() != 0) return memory.refusal();
  if (request.schedule != known_) {
    known_ = 0;
    try {
      schedule_.steps.resize(request.step_count);
      schedule_.rounds.resize(request.round_count);
      execution_.make_room(request.widest);
    } catch (const std::bad_alloc&) {
      return ENOMEM;
    }
    int error =
        memory.read(schedule_.steps.data(), request.steps, request.step_count * sizeof(ScheduleStep));
    if (error == 0)
      error =
          memory.read(schedule_.rounds.data(), request.rounds, request.round_count * sizeof(uint32_t));
    if (error != 0) return error;
    known_ = request.schedule;
  }
  operation_ = {.element = request.element};
  if (request.type >= 0) operation_.kernel = kernel_of(request.type, request.op, &operation_.element);
  execution_.memory = memory.is_own() ? nullptr : &memory;
  execution_.failure = OMPL_OK;
  execution_.find_scratch(request.scratch);
  // NOLINTBEGIN(performance-no-int-to-ptr)
  execution_.begin({.schedule = &schedule_,
                    .send = reinterpret_cast<std::byte*>(request.send),
                    .receive = reinterpret_cast<std::byte*>(request.receive),
                    .operation = &operation_});
  // NOLINTEND(performance-no-int-to-ptr)
  return 0;
}

void ProxyExecutor::end(Context& c, int code, const std::string& why) {
  if (request_ == nullptr) return;
  request_->code = code;
  const std::size_t length =
      code == OMPL_OK ? 0 : why.copy(request_->why.data(), request_->why.size() - 1);
  request_->why[length] = '\0';
  request_ = nullptr;
  // To memory that is mapped nothing can fail.
  static_cast<void>(ompl::signal(c, rank_, {.offset = queue_at_ + offsetof(OffloadQueue, done)}));
}

TeamProxies::TeamProxies(Team& team) : team_(team) {
  for (const uint32_t member : team.neighbours()) {
    std::deque<ProxyExecutor>& proxies = members_.emplace_back();
    for (uint32_t tag = 0; tag < team.layout().tags; ++tag) proxies.emplace_back(team, member, tag);
  }
}

bool TeamProxies::advance(Context& c, MemberMemories& memories, bool* moved) {
  team_.look_at_failures();
  bool left = false;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    MemberMemory& memory = memories.of(team_.ranks()[team_.neighbours()[i]]);
    for (ProxyExecutor& proxy : members_[i]) left = proxy.advance(c, memory, moved) || left;
  }
  return left;
}

void TeamProxies::end(Context& c, int code, const std::string& why) {
  for (std::deque<ProxyExecutor>& proxies : members_)
    for (ProxyExecutor& proxy : proxies) proxy.end(c, code, why);
}

}  // namespace ompl::coll
