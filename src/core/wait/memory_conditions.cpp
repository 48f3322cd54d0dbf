// SPDX-License-Identifier: BSD-3-Clause
#include "core/wait/memory_conditions.hpp"

#include <type_traits>

#include "core/data/checks.hpp"
#include "core/wait/block.hpp"
#include "core/wait/search.hpp"
#include "omnipgas/ompl_memory.h"
#include "util/status.hpp"

namespace ompl {
namespace {

constexpr const char* kName = "ompl_wait_memory";

template <class Number>
bool compare_numbers(Number word, uint32_t comparison, Number value) {
  switch (comparison) {
    case OMPL_EQ:
      return word == value;
    case OMPL_NE:
      return word != value;
    case OMPL_GT:
      return word > value;
    case OMPL_GE:
      return word >= value;
    case OMPL_LT:
      return word < value;
    default:
      return word <= value;  // OMPL_LE: checked
  }
}

template <class Word>
bool holds_as(std::byte* place, const ompl_condition& condition) {
  using Signed = std::make_signed_t<Word>;
  const Word word = std::atomic_ref(*reinterpret_cast<Word*>(place)).load(std::memory_order_acquire);
  const auto value = static_cast<Word>(condition.value);
  if ((condition.comparison & OMPL_SIGNED) == 0)
    return compare_numbers(word, condition.comparison, value);
  return compare_numbers(static_cast<Signed>(word), condition.comparison & ~uint32_t{OMPL_SIGNED},
                         static_cast<Signed>(value));
}

bool memory_holds(std::byte* segment, const ompl_condition& condition) {
  std::byte* const place = segment + condition.flag_addr;
  switch (condition.width) {
    case 8:
      return holds_as<uint8_t>(place, condition);
    case 16:
      return holds_as<uint16_t>(place, condition);
    case 32:
      return holds_as<uint32_t>(place, condition);
    default:
      return holds_as<uint64_t>(place, condition);
  }
}

int check(Context& c, const ompl_condition& condition) {
  const uint32_t width = condition.width;
  if (width != 8 && width != 16 && width != 32 && width != 64)
    return fail(OMPL_ERR_ARG, "{}: a word has 8, 16, 32 or 64 bits, not {}", kName, width);
  const uint32_t comparison = condition.comparison & ~uint32_t{OMPL_SIGNED};
  if (comparison < OMPL_EQ || comparison > OMPL_LE)
    return fail(OMPL_ERR_ARG,
                "{}: {} is no comparison; use OMPL_EQ, ... OMPL_LE, with OMPL_SIGNED or not", kName,
                condition.comparison);
  return check_flag(c, c.rank, condition.flag_addr, kName, width / 8);
}

int check(Context& c, Conditions conditions) {
  if (conditions.empty() || conditions.data() == nullptr)
    return fail(OMPL_ERR_ARG, "{}: there is no condition to wait for", kName);
  for (const ompl_condition& condition : conditions) {
    if (const int code = check(c, condition); code != OMPL_OK) return code;
  }
  return OMPL_OK;
}

Blocked blocked_at(const ompl_condition& condition) {
  return {.call = Call::wait_memory, .offset = condition.flag_addr, .unannounced = true};
}

}  // namespace

int wait_memory_some(Context& c, Conditions conditions, std::size_t* indices, std::size_t most,
                     std::size_t* found, Deadline deadline) {
  if (const int code = check(c, conditions); code != OMPL_OK) return code;
  std::byte* const segment = c.runtime->memory.segment().base();
  return wait_for_some(c, blocked_at(conditions.front()), kName, conditions.size(), indices, most,
                       found, deadline,
                       [&](std::size_t i) { return memory_holds(segment, conditions[i]); });
}

int wait_memory_all(Context& c, Conditions conditions, Deadline deadline) {
  if (const int code = check(c, conditions); code != OMPL_OK) return code;
  std::byte* const segment = c.runtime->memory.segment().base();
  Caller caller(c);
  for (const ompl_condition& condition : conditions) {
    Blocker blocker(caller.now(), blocked_at(condition), deadline);
    const int code = blocker.run([&] { return memory_holds(segment, condition) ? 1 : 0; });
    if (code != OMPL_OK) return code;
  }
  caller.now().statistics.waits += conditions.size();
  return OMPL_OK;
}

}  // namespace ompl
