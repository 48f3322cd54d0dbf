// SPDX-License-Identifier: BSD-3-Clause
// The one place where a word of a segment is changed as a record asks: by signals and atomics, of this rank,
// of sisters on this node and from outside. Sequentially consistent, for the sleep protocol.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "arch/cpu.hpp"
#include "conduit/conduit.hpp"

namespace ompl {

using conduit::Function;
using conduit::Signal;
using conduit::SignalOp;

inline bool is_update(SignalOp op) { return op == SignalOp::update32 || op == SignalOp::update64; }

// Bytes of the word that an update changes.
inline std::size_t width_of(const Signal& record) {
  return record.op == SignalOp::update64 ? sizeof(uint64_t) : sizeof(uint32_t);
}

namespace detail {
// Replaces the word by `next` of it, both taken as values of T; returns the word before.
template <class T, class Word, class Next>
inline Word replace(std::atomic_ref<Word> word, Next next) {
  Word before = word.load(std::memory_order_relaxed);
  while (!word.compare_exchange_weak(before, std::bit_cast<Word>(T(next(std::bit_cast<T>(before)))))) {
  }
  return before;
}

// The functions that processors have no instruction for. NaN is no number to fmin and fmax: the other one is taken.
template <class Word>
inline Word update_by_exchange(std::atomic_ref<Word> word, Function function, Word operand) {
  using Signed = std::make_signed_t<Word>;
  using Float = std::conditional_t<sizeof(Word) == 8, double, float>;
  const auto integer = static_cast<Signed>(operand);
  const auto real = std::bit_cast<Float>(operand);
  switch (function) {
    case Function::unsigned_min:
      return replace<Word>(word, [=](Word old) { return std::min(old, operand); });
    case Function::unsigned_max:
      return replace<Word>(word, [=](Word old) { return std::max(old, operand); });
    case Function::signed_min:
      return replace<Signed>(word, [=](Signed old) { return std::min(old, integer); });
    case Function::signed_max:
      return replace<Signed>(word, [=](Signed old) { return std::max(old, integer); });
    case Function::float_add:
      return replace<Float>(word, [=](Float old) { return old + real; });
    case Function::float_min:
      return replace<Float>(word, [=](Float old) { return std::fmin(old, real); });
    case Function::float_max:
      return replace<Float>(word, [=](Float old) { return std::fmax(old, real); });
    default:
      return 0;  // not a function: from outside
  }
}

template <class Word>
inline Word update(std::atomic_ref<Word> word, Function function, Word value, Word compare) {
  switch (function) {
    case Function::fetch:
      return word.load();
    case Function::set:
      return word.exchange(value);
    case Function::add:
      return word.fetch_add(value);
    case Function::bit_and:
      return word.fetch_and(value);
    case Function::bit_or:
      return word.fetch_or(value);
    case Function::bit_xor:
      return word.fetch_xor(value);
    case Function::compare_swap:
      word.compare_exchange_strong(compare, value);
      return compare;
    default:
      return update_by_exchange(word, function, value);
  }
}
}  // namespace detail

// Executes an update on its word, which is aligned; returns the value before.
inline uint64_t update(std::byte* word, const Signal& record) {
  if (record.op == SignalOp::update64)
    return detail::update(arch::word64(word), record.function, record.value, record.compare);
  return detail::update(arch::word32(word), record.function, static_cast<uint32_t>(record.value),
                        static_cast<uint32_t>(record.compare));
}

// Takes so much from a flag that has it. An acquire when it succeeds.
template <class Word>
inline bool take(std::byte* word, Word amount = 1) {
  const std::atomic_ref<Word> flag(*reinterpret_cast<Word*>(word));
  Word count = flag.load(std::memory_order_seq_cst);
  while (count >= amount) {
    if (flag.compare_exchange_weak(count, count - amount, std::memory_order_seq_cst)) return true;
  }
  return false;
}

}  // namespace ompl
