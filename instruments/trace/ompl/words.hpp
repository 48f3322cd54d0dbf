// SPDX-License-Identifier: BSD-3-Clause
// Words of a segment as calls name them: flags that are signalled or waited for, and those of atomics.
#pragma once

#include <omnipgas/ompl_ext.h>

#include "call.hpp"
#include "format.hpp"

namespace ompl::trace {

inline Word word_of(uint64_t offset, uint32_t function, uint32_t width, uint64_t value,
                    uint64_t compare = 0) {
  Word word{};
  word.kind = Kind::kWord;
  word.number = word_number(offset);
  word.function = function;
  word.width = width;
  word.value = value;
  word.compare = compare;
  return word;
}

inline Word word_of(const ompl_signal& signal) {
  const bool sets = signal.op == OMPL_SET32 || signal.op == OMPL_SET64;
  const bool wide = signal.op == OMPL_ADD64 || signal.op == OMPL_SET64;
  const uint64_t value = wide ? signal.value : static_cast<uint32_t>(signal.value);
  return word_of(signal.flag_addr, sets ? Word::kSet : Word::kAdd, wide ? 64 : 32, value);
}

static_assert(uint32_t{Word::kTake} == OMPL_TAKE && uint32_t{Word::kEqual} == OMPL_EQ &&
              uint32_t{Word::kNotEqual} == OMPL_NE && uint32_t{Word::kGreater} == OMPL_GT &&
              uint32_t{Word::kGreaterOrEqual} == OMPL_GE && uint32_t{Word::kLess} == OMPL_LT &&
              uint32_t{Word::kLessOrEqual} == OMPL_LE);

inline Word word_of(const ompl_condition& condition) {
  return word_of(condition.flag_addr, condition.comparison, condition.width, condition.value);
}

}  // namespace ompl::trace
