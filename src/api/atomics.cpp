// SPDX-License-Identifier: BSD-3-Clause
// The atomics of ompl_ext.h. The quick case is that of ompl_put_word(): a word in the thread's window.
#include "api/call.hpp"
#include "core/data/operations.hpp"
#include "omnipgas/ompl_ext.h"

using ompl::Context;
using ompl::Deadline;
using ompl::Function;
using ompl::Handle;
using ompl::Signal;
using ompl::SignalOp;
using ompl::api::with;

namespace {

int no_such_operation(int op) {
  return ompl::fail(OMPL_ERR_ARG, "{} is no atomic; use OMPL_ATOMIC_FETCH ... OMPL_ATOMIC_FMAX", op);
}

template <class Word>
Signal record_of(uint64_t addr, int op, Word operand, Word compare) {
  return {.offset = addr,
          .value = operand,
          .compare = compare,
          .op = sizeof(Word) == 8 ? SignalOp::update64 : SignalOp::update32,
          .function = static_cast<Function>(op)};
}

// Out of line, so that what is quick needs no stack.
template <class Word>
[[gnu::noinline]] int checked(ompl_ctx* ctx, uint32_t rank, uint64_t addr, int op, Word operand,
                              Word compare, Word* before, int64_t timeout_ns) {
  return with(ctx, [=](Context& c) {
    if (op < OMPL_ATOMIC_FETCH || op > OMPL_ATOMIC_FMAX) return no_such_operation(op);
    uint64_t old = 0;
    const int code = ompl::atomic(c, rank, record_of(addr, op, operand, compare),
                                  before != nullptr ? &old : nullptr, Deadline::in(timeout_ns));
    if (code == OMPL_OK && before != nullptr) *before = static_cast<Word>(old);
    return code;
  });
}

// In the thread's window, where nothing is waited for. `op` is constant in most places.
template <class Word>
[[gnu::always_inline]] inline int in_window(void* place, uint32_t rank, uint64_t addr, int op,
                                            Word operand, Word compare, Word* before) {
  if (before != nullptr) ompl_window_fence_before_fetch(op == OMPL_ATOMIC_FETCH);
  const std::atomic_ref<Word> word(*static_cast<Word*>(place));
  const Word old = ompl::detail::update(word, static_cast<Function>(op), operand, compare);
  if (before != nullptr) *before = old;
  if (op != OMPL_ATOMIC_FETCH) ompl_window_changed(rank, addr);
  return OMPL_OK;
}

// On the implicit context, without a limit.
template <class Word>
[[gnu::always_inline]] inline int quick(uint32_t rank, uint64_t addr, int op, Word operand,
                                        Word compare, Word* before) {
  void* const place = ompl_window_word(rank, addr, sizeof(Word));
  if (place == nullptr) return checked(nullptr, rank, addr, op, operand, compare, before, OMPL_FOREVER);
  return in_window(place, rank, addr, op, operand, compare, before);
}

template <class Word>
[[gnu::noinline]] int any_in_window(void* place, uint32_t rank, uint64_t addr, int op, Word operand,
                                    Word compare, Word* before) {
  return in_window(place, rank, addr, op, operand, compare, before);
}

// On any context; on the implicit one a word in the thread's window takes the quick way. An addition of numbers, which has no
// name of its own, is told apart first.
template <class Word>
int anywhere(ompl_ctx* ctx, uint32_t rank, uint64_t addr, int op, Word operand, Word compare,
             Word* before, int64_t timeout_ns) {
  if (ctx == OMPL_CTX_DEFAULT && op >= OMPL_ATOMIC_FETCH && op <= OMPL_ATOMIC_FMAX) {
    if (void* const place = ompl_window_word(rank, addr, sizeof(Word))) {
      if (op == OMPL_ATOMIC_FADD)
        return in_window(place, rank, addr, OMPL_ATOMIC_FADD, operand, compare, before);
      return any_in_window(place, rank, addr, op, operand, compare, before);
    }
  }
  return checked(ctx, rank, addr, op, operand, compare, before, timeout_ns);
}

template <class Word>
int fetching(uint32_t rank, uint64_t addr, int op, Word operand, Word compare, Word* before) {
  if (before == nullptr) [[unlikely]]
    return ompl::fail(OMPL_ERR_ARG, "an atomic: the pointer to the result is null");
  return quick(rank, addr, op, operand, compare, before);
}

template <class Word>
int nonblocking(ompl_ctx* ctx, uint32_t rank, uint64_t addr, int op, Word operand, Word compare,
                Word* before, ompl_handle* handle) {
  return with(ctx, [=](Context& c) {
    if (op < OMPL_ATOMIC_FETCH || op > OMPL_ATOMIC_FMAX) return no_such_operation(op);
    return ompl::atomic_nb(c, rank, record_of(addr, op, operand, compare), before,
                           reinterpret_cast<Handle*>(handle));
  });
}

}  // namespace

extern "C" {

int ompl_ctx_atomic32(ompl_ctx* ctx, uint32_t target_rank, uint64_t addr, int op, uint32_t operand,
                      uint32_t compare, uint32_t* before, int64_t timeout_ns) {
  return anywhere(ctx, target_rank, addr, op, operand, compare, before, timeout_ns);
}

int ompl_ctx_atomic64(ompl_ctx* ctx, uint32_t target_rank, uint64_t addr, int op, uint64_t operand,
                      uint64_t compare, uint64_t* before, int64_t timeout_ns) {
  return anywhere(ctx, target_rank, addr, op, operand, compare, before, timeout_ns);
}

int ompl_atomic32_nb(ompl_ctx* ctx, uint32_t target_rank, uint64_t addr, int op, uint32_t operand,
                     uint32_t compare, uint32_t* before, ompl_handle* handle) {
  return nonblocking(ctx, target_rank, addr, op, operand, compare, before, handle);
}

int ompl_atomic64_nb(ompl_ctx* ctx, uint32_t target_rank, uint64_t addr, int op, uint64_t operand,
                     uint64_t compare, uint64_t* before, ompl_handle* handle) {
  return nonblocking(ctx, target_rank, addr, op, operand, compare, before, handle);
}

int ompl_fetch32(uint32_t target_rank, uint64_t addr, uint32_t* value) {
  return fetching(target_rank, addr, OMPL_ATOMIC_FETCH, uint32_t{0}, uint32_t{0}, value);
}

int ompl_fetch64(uint32_t target_rank, uint64_t addr, uint64_t* value) {
  return fetching(target_rank, addr, OMPL_ATOMIC_FETCH, uint64_t{0}, uint64_t{0}, value);
}

int ompl_set32(uint32_t target_rank, uint64_t addr, uint32_t value) {
  return quick<uint32_t>(target_rank, addr, OMPL_ATOMIC_SET, value, 0, nullptr);
}

int ompl_set64(uint32_t target_rank, uint64_t addr, uint64_t value) {
  return quick<uint64_t>(target_rank, addr, OMPL_ATOMIC_SET, value, 0, nullptr);
}

int ompl_add32(uint32_t target_rank, uint64_t addr, uint32_t value) {
  return quick<uint32_t>(target_rank, addr, OMPL_ATOMIC_ADD, value, 0, nullptr);
}

int ompl_add64(uint32_t target_rank, uint64_t addr, uint64_t value) {
  return quick<uint64_t>(target_rank, addr, OMPL_ATOMIC_ADD, value, 0, nullptr);
}

int ompl_and32(uint32_t target_rank, uint64_t addr, uint32_t value) {
  return quick<uint32_t>(target_rank, addr, OMPL_ATOMIC_AND, value, 0, nullptr);
}

int ompl_and64(uint32_t target_rank, uint64_t addr, uint64_t value) {
  return quick<uint64_t>(target_rank, addr, OMPL_ATOMIC_AND, value, 0, nullptr);
}

int ompl_or32(uint32_t target_rank, uint64_t addr, uint32_t value) {
  return quick<uint32_t>(target_rank, addr, OMPL_ATOMIC_OR, value, 0, nullptr);
}

int ompl_or64(uint32_t target_rank, uint64_t addr, uint64_t value) {
  return quick<uint64_t>(target_rank, addr, OMPL_ATOMIC_OR, value, 0, nullptr);
}

int ompl_xor32(uint32_t target_rank, uint64_t addr, uint32_t value) {
  return quick<uint32_t>(target_rank, addr, OMPL_ATOMIC_XOR, value, 0, nullptr);
}

int ompl_xor64(uint32_t target_rank, uint64_t addr, uint64_t value) {
  return quick<uint64_t>(target_rank, addr, OMPL_ATOMIC_XOR, value, 0, nullptr);
}

int ompl_fetch_add32(uint32_t target_rank, uint64_t addr, uint32_t value, uint32_t* before) {
  return fetching(target_rank, addr, OMPL_ATOMIC_ADD, value, uint32_t{0}, before);
}

int ompl_fetch_add64(uint32_t target_rank, uint64_t addr, uint64_t value, uint64_t* before) {
  return fetching(target_rank, addr, OMPL_ATOMIC_ADD, value, uint64_t{0}, before);
}

int ompl_swap32(uint32_t target_rank, uint64_t addr, uint32_t value, uint32_t* before) {
  return fetching(target_rank, addr, OMPL_ATOMIC_SET, value, uint32_t{0}, before);
}

int ompl_swap64(uint32_t target_rank, uint64_t addr, uint64_t value, uint64_t* before) {
  return fetching(target_rank, addr, OMPL_ATOMIC_SET, value, uint64_t{0}, before);
}

int ompl_compare_swap32(uint32_t target_rank, uint64_t addr, uint32_t compare, uint32_t value,
                        uint32_t* before) {
  return fetching(target_rank, addr, OMPL_ATOMIC_CSWAP, value, compare, before);
}

int ompl_compare_swap64(uint32_t target_rank, uint64_t addr, uint64_t compare, uint64_t value,
                        uint64_t* before) {
  return fetching(target_rank, addr, OMPL_ATOMIC_CSWAP, value, compare, before);
}

}  // extern "C"
