// SPDX-License-Identifier: BSD-3-Clause
// Words that images share: events, locks, atomics.
#include <algorithm>
#include <atomic>

#include "core/state.hpp"

namespace caf {
namespace {

uint64_t offset_of(uint32_t rank, uint64_t address) {
  return offset_in(rank, address, sizeof(uint32_t));
}

int outcome(int code, uint32_t rank) { return code == OMPL_OK ? kOk : layer_error(code, rank); }

// For what a program may call in a loop until another image has done something.
void progress_in_loops() {
  thread_local unsigned calls = 0;
  if (++calls % 16 == 0) ompl_progress(OMPL_CTX_DEFAULT, 0);
}

int everybody_else_is_gone() {
  const State& now = state();
  int stat = kOk;
  for (uint32_t rank = 0; rank < now.size; ++rank) {
    if (rank == now.me) continue;
    if (!now.failed[rank] && !now.stopped[rank]) return kOk;
    if (stat != kStopped) stat = now.stopped[rank] ? kStopped : kFailed;
  }
  return stat == kOk ? kOk : refuse(stat, "no other image is left that could post the event");
}

// One attempt. *holder receives the rank that had the lock, or -1.
int try_lock(uint32_t rank, uint64_t address, uint32_t expected, int64_t* holder) {
  uint32_t before = 0;
  const uint32_t mine = state().me + 1;
  const int code = ompl_ctx_atomic32(OMPL_CTX_DEFAULT, rank, offset_of(rank, address),
                                     OMPL_ATOMIC_CSWAP, mine, expected, &before, OMPL_FOREVER);
  *holder = before == expected ? -1 : static_cast<int64_t>(before) - 1;
  return outcome(code, rank);
}

}  // namespace

int event_post(uint32_t rank, uint64_t address) {
  if (const int code = alive(rank); code != kOk) return code;
  if (!nothing_but_to(rank)) {  // the post is ordered after puts to the same rank alone
    if (const int code = complete(); code != kOk) return code;
  }
  const ompl_signal signal{offset_of(rank, address), 1, OMPL_ADD32};
  if (const int code = ompl_ctx_signal(OMPL_CTX_DEFAULT, rank, &signal, OMPL_FOREVER); code != OMPL_OK)
    return layer_error(code, rank);
  learn();
  if (state().failed[rank]) return layer_error(OMPL_ERR_PEER, rank);
  signalled_to(rank);
  return kOk;
}

int event_wait(uint64_t address, uint32_t until) {
  if (const int code = complete(); code != kOk) return code;
  const ompl_condition posted{offset_of(state().me, address), std::max(until, 1U), OMPL_TAKE_MANY, 32};
  return await(posted, &everybody_else_is_gone);
}

int event_query(uint32_t rank, uint64_t address, int* count) {
  uint32_t value = 0;
  progress_in_loops();
  if (const int code = ompl_fetch32(rank, offset_of(rank, address), &value); code != OMPL_OK)
    return layer_error(code, rank);
  *count = static_cast<int>(value);
  return kOk;
}

// Vain attempts become rarer, so that many images that want one lock do not fill its owner's network.
int lock(uint32_t rank, uint64_t address, bool* acquired) {
  if (const int code = complete(); code != kOk) return code;
  uint32_t expected = 0;
  bool failed_holder = false;
  for (int64_t pause = 1'000;; pause = std::min<int64_t>(pause * 2, 500'000)) {
    int64_t holder = -1;
    if (const int code = try_lock(rank, address, expected, &holder); code != kOk) return code;
    if (holder < 0) break;
    if (holder == state().me) return refuse(kLocked, "this image has locked it already");
    learn();
    failed_holder = state().failed[static_cast<std::size_t>(holder)];
    expected = failed_holder ? static_cast<uint32_t>(holder) + 1 : 0;
    if (failed_holder) continue;
    if (acquired != nullptr) {
      *acquired = false;
      return kOk;
    }
    ompl_progress(OMPL_CTX_DEFAULT, pause < 20'000 ? 0 : pause);
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (acquired != nullptr) *acquired = true;
  return expected != 0 ? refuse(kUnlockedFailed, "the image that had locked it has failed") : kOk;
}

int unlock(uint32_t rank, uint64_t address) {
  const int sent = complete();
  uint32_t before = 0;
  const uint32_t mine = state().me + 1;
  const int code = ompl_ctx_atomic32(OMPL_CTX_DEFAULT, rank, offset_of(rank, address),
                                     OMPL_ATOMIC_CSWAP, 0, mine, &before, OMPL_FOREVER);
  if (code != OMPL_OK) return layer_error(code, rank);
  if (before == 0) return refuse(kUnlocked, "it is not locked");
  if (before != mine) return refuse(kLockedOther, "another image has locked it");
  return sent;
}

namespace {

// By ompl_ctx_atomic32() or ompl_ctx_atomic64().
template <class Atomic, class Word>
int atomic_by(Atomic* call, uint32_t rank, uint64_t address, int op, Word operand, Word compare,
              Word* before) {
  progress_in_loops();
  if (const int code = alive(rank); code != kOk) return code;
  const int code = call(OMPL_CTX_DEFAULT, rank, offset_of(rank, address), op, operand, compare, before,
                        OMPL_FOREVER);
  if (code != OMPL_OK) return layer_error(code, rank);
  if (before == nullptr) signalled_to(rank);
  return kOk;
}

}  // namespace

int atomic(uint32_t rank, uint64_t address, int op, uint32_t operand, uint32_t compare,
           uint32_t* before) {
  return atomic_by(&ompl_ctx_atomic32, rank, address, op, operand, compare, before);
}

int atomic64(uint32_t rank, uint64_t address, int op, uint64_t operand, uint64_t compare,
             uint64_t* before) {
  return atomic_by(&ompl_ctx_atomic64, rank, address, op, operand, compare, before);
}

}  // namespace caf
