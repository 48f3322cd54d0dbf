// SPDX-License-Identifier: BSD-3-Clause
#include "core/turns.hpp"

namespace shmem_core {

bool TeamTurns::take(uint64_t team) {
  const std::lock_guard lock(mutex_);
  if (taken_ || (!waiting_.empty() && *waiting_.begin() < team)) return false;
  taken_ = true;
  return true;
}

void TeamTurns::end() {
  const std::lock_guard lock(mutex_);
  taken_ = false;
}

void TeamTurns::begin_alone() {
  while (!take(0)) ompl_progress(OMPL_CTX_DEFAULT, 0);
}

int TeamTurns::begin(const Team& team) {
  if (state().thread_level != SHMEM_THREAD_MULTIPLE) {
    begin_alone();
    return OMPL_OK;
  }
  if (const int code = ompl_team_barrier(team.team, nullptr, nullptr); code != OMPL_OK) return code;
  {
    const std::lock_guard lock(mutex_);
    waiting_.insert(team.id);
  }
  int code = OMPL_OK;
  for (;;) {
    const int32_t mine = take(team.id) ? 1 : 0;
    int32_t all = 0;
    code = ompl_allreduce(team.team, &mine, &all, 1, OMPL_INT32, OMPL_MIN, nullptr, nullptr);
    if (code == OMPL_OK && all == 1) break;
    if (mine == 1) end();
    if (code != OMPL_OK) break;
    ompl_progress(OMPL_CTX_DEFAULT, 0);
  }
  const std::lock_guard lock(mutex_);
  waiting_.erase(waiting_.find(team.id));
  return code;
}

namespace {

// Offsets from State::words.
constexpr uint64_t kLock = 0;
constexpr uint64_t kTurn = sizeof(uint64_t);
constexpr uint64_t kNever = 2 * sizeof(uint64_t);
constexpr int64_t kPause = 1'000'000;  // ns, before the lock is tried again

// The layer has fewer ranks than 2^29.
uint64_t number_of(const ActiveSet& set) {
  return uint64_t{1} << 63 | static_cast<uint64_t>(set.log_stride) << 58 |
         static_cast<uint64_t>(set.start) << 29 | static_cast<uint64_t>(set.size);
}

ompl_condition word_is(uint64_t word, uint64_t value) {
  return {.flag_addr = state().words + word, .value = value, .comparison = OMPL_EQ, .width = 64};
}

}  // namespace

SetTurn::SetTurn(const ActiveSet& set, const std::vector<uint32_t>& members)
    : members_(members), key_(number_of(set)), first_(members.front() == own_rank()) {}

int SetTurn::begin() {
  if (first_) {
    if (const int code = take_lock(); code != OMPL_OK) return code;
    for (const uint32_t rank : members_)
      if (const int code = ompl_set64(rank, state().words + kTurn, key_); code != OMPL_OK) return code;
  }
  const ompl_condition mine = word_is(kTurn, key_);
  return ompl_wait_memory(OMPL_CTX_DEFAULT, &mine, OMPL_FOREVER);
}

// Whoever has the lock next finds no word that says that it is this set's turn.
int SetTurn::end(ompl_team* team) {
  if (const int code = ompl_set64(own_rank(), state().words + kTurn, 0); code != OMPL_OK) return code;
  if (const int code = ompl_team_barrier(team, nullptr, nullptr); code != OMPL_OK) return code;
  return first_ ? ompl_set64(0, state().words + kLock, 0) : OMPL_OK;
}

// The pause between two tries is a wait, which ends early when a PE fails.
int SetTurn::take_lock() {
  const ompl_condition never = word_is(kNever, 1);
  for (;;) {
    uint64_t before = 0;
    const int code = ompl_compare_swap64(0, state().words + kLock, 0, 1, &before);
    if (code != OMPL_OK || before == 0) return code;
    if (const int waited = ompl_wait_memory(OMPL_CTX_DEFAULT, &never, kPause);
        waited != OMPL_ERR_TIMEOUT)
      return waited;
  }
}

}  // namespace shmem_core
