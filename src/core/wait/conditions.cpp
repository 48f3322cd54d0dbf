// SPDX-License-Identifier: BSD-3-Clause
// Waiting for values of own flags, and for several flags. Protocol rules 8, 9; those who wait for several sleep in
// the bucket ANY [15].
#include "core/job/runtime.hpp"
#include "core/wait/block.hpp"
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

}  // namespace

int Runtime::check_condition(Context& c, const ompl_condition& condition, const char* what) {
  if (condition.width != 32 && condition.width != 64)
    return fail(OMPL_ERR_ARG, "{}: a flag has a width of 32 or 64 bits, not {}", what, condition.width);
  if (condition.comparison > OMPL_LE)
    return fail(OMPL_ERR_ARG, "{}: {} is no comparison; use OMPL_TAKE, OMPL_EQ, ... OMPL_LE", what,
                condition.comparison);
  return check_flag(c, rank_, condition.flag_addr, what, condition.width / 8);
}

int Runtime::check_conditions(Context& c, Conditions conditions, const char* what) {
  if (conditions.empty() || conditions.data() == nullptr)
    return fail(OMPL_ERR_ARG, "{}: there is no condition to wait for", what);
  for (const ompl_condition& condition : conditions) {
    if (const int code = check_condition(c, condition, what); code != OMPL_OK) return code;
  }
  return OMPL_OK;
}

bool Runtime::holds(const ompl_condition& condition) const {
  std::byte* const word = segment_.base() + condition.flag_addr;
  if (is_wide(condition))
    return compare(arch::word64(word).load(), condition.comparison, condition.value);
  return compare(arch::word32(word).load(), condition.comparison,
                 static_cast<uint32_t>(condition.value));
}

bool Runtime::try_consume(const ompl_condition& condition) {
  if (condition.comparison != OMPL_TAKE) return holds(condition);
  std::byte* const word = segment_.base() + condition.flag_addr;
  return is_wide(condition) ? take<uint64_t>(word) : take<uint32_t>(word);
}

// Takes only once all hold. Who loses a race for one of them gives back what it took, and wakes [9].
bool Runtime::meet_all(Conditions conditions) {
  for (const ompl_condition& condition : conditions) {
    if (!holds(condition)) return false;
  }
  for (std::size_t met = 0; met < conditions.size(); ++met) {
    if (try_consume(conditions[met])) continue;
    while (met-- > 0) {
      if (conditions[met].comparison != OMPL_TAKE) continue;
      raise(rank_, segment_.base(),
            {.offset = conditions[met].flag_addr,
             .op = is_wide(conditions[met]) ? SignalOp::update64 : SignalOp::update32});
    }
    return false;
  }
  return true;
}

int Runtime::wait_until(Context& c, const ompl_condition& condition, Deadline deadline) {
  if (const int code = check_condition(c, condition, "ompl_ctx_wait_until"); code != OMPL_OK)
    return code;
  const Blocked what{.call = Call::wait_until,
                     .offset = condition.flag_addr,
                     .bucket = &bucket_of(segment_.header(), condition.flag_addr),
                     .flag = true};
  Blocker blocker(c, what, deadline);
  const int code = blocker.run([&] { return try_consume(condition) ? 1 : 0; });
  if (network_ != nullptr) network_->pool.note_arrival(blocker.context(), condition.flag_addr);
  if (code == OMPL_OK) ++blocker.context().statistics.waits;
  return code;
}

int Runtime::wait_some(Context& c, Conditions conditions, std::size_t* indices, std::size_t most,
                       std::size_t* found, Deadline deadline) {
  const char* const name = most == 1 ? "ompl_ctx_wait_any" : "ompl_ctx_wait_some";
  if (const int code = check_conditions(c, conditions, name); code != OMPL_OK) return code;
  if (indices == nullptr || found == nullptr)
    return fail(OMPL_ERR_ARG, "{}: a result pointer is null", name);
  std::size_t met = 0;
  const std::size_t count = conditions.size();
  const std::size_t from = most == 1 ? c.searched_from % count : 0;
  const Blocked what{.call = Call::wait_many};
  Blocker blocker(c, what, deadline);
  const int code = blocker.run([&] {
    for (std::size_t i = 0; i < count && met < most; ++i) {
      const std::size_t index = (from + i) % count;
      if (try_consume(conditions[index])) indices[met++] = index;
    }
    return met > 0 ? 1 : 0;
  });
  if (code != OMPL_OK) return code;
  *found = met;
  Context& now = blocker.context();
  now.searched_from = indices[met - 1] + 1;
  now.statistics.waits += met;
  return OMPL_OK;
}

int Runtime::wait_all(Context& c, Conditions conditions, Deadline deadline) {
  if (const int code = check_conditions(c, conditions, "ompl_ctx_wait_all"); code != OMPL_OK)
    return code;
  const Blocked what{.call = Call::wait_many};
  Blocker blocker(c, what, deadline);
  const int code = blocker.run([&] { return meet_all(conditions) ? 1 : 0; });
  if (code == OMPL_OK) blocker.context().statistics.waits += conditions.size();
  return code;
}

}  // namespace ompl
