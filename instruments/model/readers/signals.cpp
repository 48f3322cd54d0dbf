// SPDX-License-Identifier: BSD-3-Clause
#include "model/readers/signals.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

namespace ompl::model {

namespace {

using trace::CallView;
using trace::Kind;
using trace::Word;

uint64_t cut(uint64_t value, uint32_t width) {
  return width == 32 ? static_cast<uint32_t>(value) : value;
}

// What functions of signed words and of floating point do; both words as values of T.
template <class T, class Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>>
uint64_t computed(uint64_t before, const Word& by) {
  const T old = std::bit_cast<T>(static_cast<Bits>(before));
  const T operand = std::bit_cast<T>(static_cast<Bits>(by.value));
  switch (by.function) {
    case Word::kFloatAdd:
      return std::bit_cast<Bits>(static_cast<T>(old + operand));
    case Word::kSignedMin:
      return std::bit_cast<Bits>(std::min(old, operand));
    case Word::kSignedMax:
      return std::bit_cast<Bits>(std::max(old, operand));
    case Word::kFloatMin:
      return std::bit_cast<Bits>(static_cast<T>(std::fmin(old, operand)));
    default:
      return std::bit_cast<Bits>(static_cast<T>(std::fmax(old, operand)));
  }
}

uint64_t applied(uint64_t before, const Word& by) {
  switch (by.function) {
    case Word::kSet:
      return cut(by.value, by.width);
    case Word::kAdd:
      return cut(before + by.value, by.width);
    case Word::kAnd:
      return before & by.value;
    case Word::kOr:
      return before | by.value;
    case Word::kXor:
      return before ^ by.value;
    case Word::kSwapIfEqual:
      return before == by.compare ? by.value : before;
    case Word::kUnsignedMin:
      return std::min(before, by.value);
    case Word::kUnsignedMax:
      return std::max(before, by.value);
    case Word::kSignedMin:
    case Word::kSignedMax:
      return by.width == 32 ? computed<int32_t>(before, by) : computed<int64_t>(before, by);
    case Word::kFloatAdd:
    case Word::kFloatMin:
    case Word::kFloatMax:
      return by.width == 32 ? computed<float>(before, by) : computed<double>(before, by);
    default:
      return before;
  }
}

bool holds(uint64_t value, const Word& condition) {
  // Modulo 2^width: greater if the difference, as a signed number, is positive.
  const uint64_t more = value - condition.value;
  const int64_t difference = condition.width == 32 ? static_cast<int32_t>(static_cast<uint32_t>(more))
                                                   : static_cast<int64_t>(more);
  switch (condition.function) {
    case Word::kTake:
      return value != 0;
    case Word::kTakeMany:
      return value >= condition.value;
    case Word::kEqual:
      return difference == 0;
    case Word::kNotEqual:
      return difference != 0;
    case Word::kGreater:
      return difference > 0;
    case Word::kGreaterOrEqual:
      return difference >= 0;
    case Word::kLess:
      return difference < 0;
    default:
      return difference <= 0;
  }
}

uint64_t taken_amount(const Word& condition) {
  if (condition.function == Word::kTakeMany) return condition.value;
  return condition.function == Word::kTake ? 1 : 0;
}

// Of a flag that the record alone tells of: ompl_put_word() and ompl_wait().
Word plain(const trace::Record& call, uint32_t function) {
  Word word{};
  word.number = call.request;
  word.function = function;
  word.width = 32;
  word.value = 1;
  return word;
}

}  // namespace

Signals::Signals(std::span<const trace::RankTrace* const> ranks) {
  for (const trace::RankTrace* const trace : ranks)
    for (std::size_t thread = 0; thread < trace->threads().size(); ++thread)
      trace->for_each_call(trace->threads()[thread],
                           [&](const CallView& view) { add(*trace, thread, view); });
  for (auto& [place, uses] : uses_) settle(place, uses);
}

void Signals::add(const trace::RankTrace& trace, std::size_t thread, const CallView& view) {
  const trace::Record& call = *view.call;
  const uint32_t rank = trace.header().rank;
  if ((call.flags & (trace::kFailed | trace::kRetried)) != 0) return;
  const auto signal = [&](const Word& word) {
    uses_[{static_cast<uint32_t>(call.peer), word.number}].signals.push_back(
        {trace.reference_ns(call.begin), word});
  };
  const auto wait = [&](const Word& word) {
    uses_[{rank, word.number}].waits.push_back({trace.reference_ns(call.end), thread, word});
  };
  switch (call.kind) {
    case Kind::kOmplPutWord:
    case Kind::kOmplPutSignal:
      return signal(plain(call, Word::kAdd));
    case Kind::kOmplSignal:
    case Kind::kOmplSignalNb:
      if (view.words.empty()) return signal(plain(call, Word::kAdd));
      [[fallthrough]];
    case Kind::kOmplPutNb:
    case Kind::kOmplPutStrided:
    case Kind::kOmplPutIndexed:
    case Kind::kOmplAtomic:
    case Kind::kOmplAtomicNb:
      std::ranges::for_each(view.words, signal);
      return;
    case Kind::kOmplWait:
      return wait(plain(call, Word::kTake));
    case Kind::kOmplWaitUntil:
    case Kind::kOmplWaitAny:
    case Kind::kOmplWaitSome:
    case Kind::kOmplWaitAll:
    case Kind::kOmplWaitMemory:
    case Kind::kOmplFlagThen:
      std::ranges::for_each(view.words, wait);
      return;
    default:
      return;
  }
}

void Signals::settle(const Place& place, Uses& uses) {
  std::ranges::stable_sort(uses.signals, {}, &Signal::time);
  std::ranges::stable_sort(uses.waits, {}, &Wait::time);
  uint64_t value = 0;
  auto next = uses.signals.cbegin();
  for (const Wait& wait : uses.waits) {
    auto last = next;
    uint64_t now = value;
    while (!holds(now, wait.word) && last != uses.signals.cend()) now = applied(now, (last++)->word);
    uint32_t count = 0;
    if (holds(now, wait.word)) {
      count = static_cast<uint32_t>(last - next);
      next = last;
      value = cut(now - taken_amount(wait.word), wait.word.width);
    }
    taken_[{place.first, wait.thread, place.second}].push_back(count);
  }
  uses.signals = {};
}

bool Signals::is_waited_for(uint32_t rank, uint32_t word) const {
  const auto found = uses_.find({rank, word});
  return found != uses_.end() && !found->second.waits.empty();
}

std::span<const uint32_t> Signals::taken_by(uint32_t rank, std::size_t thread, uint32_t word) const {
  const auto found = taken_.find({rank, thread, word});
  return found == taken_.end() ? std::span<const uint32_t>{} : found->second;
}

}  // namespace ompl::model
