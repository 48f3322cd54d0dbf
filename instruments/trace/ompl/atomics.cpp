// SPDX-License-Identifier: BSD-3-Clause
// The interposer's atomics: all are one kind of record, and a Word that says which.
#include "call.hpp"

namespace ompl::trace {

namespace {

static_assert(uint32_t{Word::kFetch} == OMPL_ATOMIC_FETCH && uint32_t{Word::kSet} == OMPL_ATOMIC_SET &&
              uint32_t{Word::kAdd} == OMPL_ATOMIC_ADD && uint32_t{Word::kAnd} == OMPL_ATOMIC_AND &&
              uint32_t{Word::kOr} == OMPL_ATOMIC_OR && uint32_t{Word::kXor} == OMPL_ATOMIC_XOR &&
              uint32_t{Word::kSwapIfEqual} == OMPL_ATOMIC_CSWAP &&
              uint32_t{Word::kFloatMax} == OMPL_ATOMIC_FMAX);

Fields fields_of(uint32_t rank, uint32_t width, bool fetches) {
  return {.peer = static_cast<int32_t>(rank), .bytes = width / 8, .tag = fetches ? 1 : 0};
}

template <typename Function>
int atomic(void* caller, uint32_t rank, const Word& word, bool fetches, const Function& real) {
  Call call(Kind::kOmplAtomic, caller, fields_of(rank, word.width, fetches));
  const int code = call.run(real);
  call.append();
  call.append(word);
  return code;
}

template <typename Function>
int atomic_nb(void* caller, uint32_t rank, const Word& word, bool fetches, ompl_handle* handle,
              const Function& real) {
  Call call(Kind::kOmplAtomicNb, caller, fields_of(rank, word.width, fetches));
  const int code = call.post(real, handle);
  if (Call::was_posted(code)) call.append(word);
  return code;
}

}  // namespace

}  // namespace ompl::trace

using ompl::trace::Word;
using ompl::trace::word_of;

// The named ones that give no result, and those that do.
#define OMPL_TRACED_UPDATE(name, width, function)                                               \
  int ompl_##name##width(uint32_t target_rank, uint64_t addr, uint##width##_t value) {          \
    return ompl::trace::atomic(                                                                 \
        __builtin_return_address(0), target_rank, word_of(addr, function, width, value), false, \
        [&] { return OMPL_REAL(ompl_##name##width)(target_rank, addr, value); });               \
  }
#define OMPL_TRACED_FETCHING(name, width, function)                                            \
  int ompl_##name##width(uint32_t target_rank, uint64_t addr, uint##width##_t value,           \
                         uint##width##_t* before) {                                            \
    return ompl::trace::atomic(                                                                \
        __builtin_return_address(0), target_rank, word_of(addr, function, width, value), true, \
        [&] { return OMPL_REAL(ompl_##name##width)(target_rank, addr, value, before); });      \
  }
#define OMPL_TRACED_ATOMICS(width)                                                                     \
  int ompl_ctx_atomic##width(ompl_ctx* ctx, uint32_t target_rank, uint64_t addr, int op,               \
                             uint##width##_t operand, uint##width##_t compare,                         \
                             uint##width##_t* before, int64_t timeout_ns) {                            \
    return ompl::trace::atomic(                                                                        \
        __builtin_return_address(0), target_rank,                                                      \
        word_of(addr, static_cast<uint32_t>(op), width, operand, compare), before != nullptr, [&] {    \
          return OMPL_REAL(ompl_ctx_atomic##width)(ctx, target_rank, addr, op, operand, compare,       \
                                                   before, timeout_ns);                                \
        });                                                                                            \
  }                                                                                                    \
  int ompl_atomic##width##_nb(ompl_ctx* ctx, uint32_t target_rank, uint64_t addr, int op,              \
                              uint##width##_t operand, uint##width##_t compare,                        \
                              uint##width##_t* before, ompl_handle* handle) {                          \
    return ompl::trace::atomic_nb(__builtin_return_address(0), target_rank,                            \
                                  word_of(addr, static_cast<uint32_t>(op), width, operand, compare),   \
                                  before != nullptr, handle, [&] {                                     \
                                    return OMPL_REAL(ompl_atomic##width##_nb)(                         \
                                        ctx, target_rank, addr, op, operand, compare, before, handle); \
                                  });                                                                  \
  }                                                                                                    \
  int ompl_fetch##width(uint32_t target_rank, uint64_t addr, uint##width##_t* value) {                 \
    return ompl::trace::atomic(                                                                        \
        __builtin_return_address(0), target_rank, word_of(addr, Word::kFetch, width, 0), true,         \
        [&] { return OMPL_REAL(ompl_fetch##width)(target_rank, addr, value); });                       \
  }                                                                                                    \
  int ompl_compare_swap##width(uint32_t target_rank, uint64_t addr, uint##width##_t compare,           \
                               uint##width##_t value, uint##width##_t* before) {                       \
    return ompl::trace::atomic(__builtin_return_address(0), target_rank,                               \
                               word_of(addr, Word::kSwapIfEqual, width, value, compare), true, [&] {   \
                                 return OMPL_REAL(ompl_compare_swap##width)(target_rank, addr,         \
                                                                            compare, value, before);   \
                               });                                                                     \
  }                                                                                                    \
  OMPL_TRACED_UPDATE(set, width, Word::kSet)                                                           \
  OMPL_TRACED_UPDATE(add, width, Word::kAdd)                                                           \
  OMPL_TRACED_UPDATE(and, width, Word::kAnd)                                                           \
  OMPL_TRACED_UPDATE(or, width, Word::kOr)                                                             \
  OMPL_TRACED_UPDATE(xor, width, Word::kXor)                                                           \
  OMPL_TRACED_FETCHING(fetch_add, width, Word::kAdd)                                                   \
  OMPL_TRACED_FETCHING(swap, width, Word::kSet)

extern "C" {
OMPL_TRACED_ATOMICS(32)
OMPL_TRACED_ATOMICS(64)
}
