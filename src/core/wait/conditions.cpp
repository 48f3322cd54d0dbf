// SPDX-License-Identifier: BSD-3-Clause
#include "core/wait/conditions.hpp"

#include "core/data/checks.hpp"
#include "core/wait/block.hpp"
#include "core/wait/search.hpp"
#include "util/status.hpp"

namespace ompl {
namespace {

// Modulo 2^32 or 2^64: the sign of the difference decides.
template <class Word>
bool compare(Word flag, uint32_t comparison, Word value) {
  using Signed = std::make_signed_t<Word>;
  const auto difference = static_cast<Signed>(flag - value);
  switch (comparison) {
    case OMPL_TAKE:
      return flag != 0;
    case OMPL_TAKE_MANY:
      return flag >= value;
    case OMPL_EQ:
      return difference == 0;
    case OMPL_NE:
      return difference != 0;
    case OMPL_GT:
      return difference > 0;
    case OMPL_GE:
      return difference >= 0;
    case OMPL_LT:
      return difference < 0;
    default:
      return difference <= 0;  // OMPL_LE: checked
  }
}

bool is_wide(const ompl_condition& condition) { return condition.width == 64; }

// What a condition takes from its flag; 0: nothing, it compares.
uint64_t amount_of(const ompl_condition& condition) {
  if (condition.comparison == OMPL_TAKE_MANY) return condition.value;
  return condition.comparison == OMPL_TAKE ? 1 : 0;
}

bool holds(std::byte* segment, const ompl_condition& condition) {
  std::byte* const word = segment + condition.flag_addr;
  if (is_wide(condition))
    return compare(arch::word64(word).load(), condition.comparison, condition.value);
  return compare(arch::word32(word).load(), condition.comparison,
                 static_cast<uint32_t>(condition.value));
}

// Takes only once all hold. Who loses a race for one of them gives back what it took, and wakes [9].
bool meet_all(Runtime& runtime, Conditions conditions) {
  std::byte* const segment = runtime.memory.segment().base();
  for (const ompl_condition& condition : conditions) {
    if (!holds(segment, condition)) return false;
  }
  for (std::size_t met = 0; met < conditions.size(); ++met) {
    if (try_consume(segment, conditions[met])) continue;
    while (met-- > 0) {
      const uint64_t amount = amount_of(conditions[met]);
      if (amount == 0) continue;
      runtime.sleepers.raise(
          runtime.rank(), segment,
          {.offset = conditions[met].flag_addr,
           .value = amount,
           .op = is_wide(conditions[met]) ? SignalOp::update64 : SignalOp::update32});
    }
    return false;
  }
  return true;
}

// A look for deaths begins with one at the clock, ten times a poll's cost.
constexpr uint32_t kPollsPerLook = 256;

}  // namespace

int wait(Context& c, uint64_t flag, Deadline deadline) {
  if (const int code = check_flag(c, c.rank, flag, "ompl_wait"); code != OMPL_OK) return code;
  Caller caller(c);
  const int code = wait_flag(c, flag, Call::wait, deadline);
  if (code == OMPL_OK) ++caller.now().statistics.waits;
  return code;
}

int wait_flag(Context& c, uint64_t flag, Call call, Deadline deadline, uint32_t awaited) {
  Runtime& runtime = *c.runtime;
  std::byte* word = runtime.memory.segment().base() + flag;
  const Blocked what{.call = call,
                     .awaited = awaited,
                     .offset = flag,
                     .bucket = &bucket_of(runtime.memory.header(), flag),
                     .flag = true,
                     .world = call == Call::barrier};
  Blocker blocker(c, what, deadline);
  const int code = blocker.run([word] { return take<uint32_t>(word) ? 1 : 0; });
  if (runtime.network != nullptr) runtime.network->pool.note_arrival(blocker.context(), flag);
  return code;
}

int poll(Context& c, uint64_t flag) {
  if (const int code = check_flag(c, c.rank, flag, "ompl_poll"); code != OMPL_OK) return code;
  Runtime& runtime = *c.runtime;
  const auto word = arch::word32(runtime.memory.segment().base() + flag);
  if (word.load(std::memory_order_acquire) != 0) return 1;
  if (runtime.network != nullptr) {
    runtime.network->sender.send_held(c);
    if (runtime.network->pool.progress(c, c.arrival_slot) && word.load(std::memory_order_acquire) != 0)
      return 1;
  }
  if (runtime.remote_calls.progress() && word.load(std::memory_order_acquire) != 0) return 1;
  if (++c.empty_polls % kPollsPerLook == 0) runtime.failures.look_for_deaths();
  return runtime.failures.hopeless() ? runtime.failures.report_failure() : 0;
}

bool try_consume(std::byte* segment, const ompl_condition& condition) {
  const uint64_t amount = amount_of(condition);
  if (amount == 0) return holds(segment, condition);
  std::byte* const word = segment + condition.flag_addr;
  return is_wide(condition) ? take<uint64_t>(word, amount)
                            : take<uint32_t>(word, static_cast<uint32_t>(amount));
}

int wait_until(Context& c, const ompl_condition& condition, Deadline deadline) {
  if (const int code = check_condition(c, condition, "ompl_ctx_wait_until"); code != OMPL_OK)
    return code;
  Runtime& runtime = *c.runtime;
  const Blocked what{.call = Call::wait_until,
                     .offset = condition.flag_addr,
                     .bucket = &bucket_of(runtime.memory.header(), condition.flag_addr),
                     .flag = true};
  Blocker blocker(c, what, deadline);
  std::byte* const segment = runtime.memory.segment().base();
  const int code = blocker.run([&] { return try_consume(segment, condition) ? 1 : 0; });
  if (runtime.network != nullptr)
    runtime.network->pool.note_arrival(blocker.context(), condition.flag_addr);
  if (code == OMPL_OK) ++blocker.context().statistics.waits;
  return code;
}

int wait_some(Context& c, Conditions conditions, std::size_t* indices, std::size_t most,
              std::size_t* found, Deadline deadline) {
  const char* const name = most == 1 ? "ompl_ctx_wait_any" : "ompl_ctx_wait_some";
  if (const int code = check_conditions(c, conditions, name); code != OMPL_OK) return code;
  std::byte* const segment = c.runtime->memory.segment().base();
  return wait_for_some(c, {.call = Call::wait_many}, name, conditions.size(), indices, most, found,
                       deadline, [&](std::size_t i) { return try_consume(segment, conditions[i]); });
}

int wait_all(Context& c, Conditions conditions, Deadline deadline) {
  if (const int code = check_conditions(c, conditions, "ompl_ctx_wait_all"); code != OMPL_OK)
    return code;
  const Blocked what{.call = Call::wait_many};
  Blocker blocker(c, what, deadline);
  const int code = blocker.run([&] { return meet_all(*c.runtime, conditions) ? 1 : 0; });
  if (code == OMPL_OK) blocker.context().statistics.waits += conditions.size();
  return code;
}

}  // namespace ompl
