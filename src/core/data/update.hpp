// SPDX-License-Identifier: BSD-3-Clause
// The one place where a word of a segment is changed as a record asks: by signals and atomics, of this rank,
// of sisters on this node and from outside. Sequentially consistent, for the sleep protocol.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

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
  }
  return 0;  // not a function: from outside
}
}  // namespace detail

// Executes an update on its word, which is aligned; returns the value before.
inline uint64_t update(std::byte* word, const Signal& record) {
  if (record.op == SignalOp::update64)
    return detail::update(arch::word64(word), record.function, record.value, record.compare);
  return detail::update(arch::word32(word), record.function, static_cast<uint32_t>(record.value),
                        static_cast<uint32_t>(record.compare));
}

// Takes one from a positive flag. An acquire when it succeeds.
template <class Word>
inline bool take(std::byte* word) {
  const std::atomic_ref<Word> flag(*reinterpret_cast<Word*>(word));
  Word count = flag.load(std::memory_order_seq_cst);
  while (count != 0) {
    if (flag.compare_exchange_weak(count, count - 1, std::memory_order_seq_cst)) return true;
  }
  return false;
}

}  // namespace ompl
