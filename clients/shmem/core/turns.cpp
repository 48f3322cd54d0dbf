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
constexpr uint64_t kCount = sizeof(uint64_t);  // from the begin of an entry
constexpr int64_t kPause = 200'000;            // ns
uint64_t entry(uint64_t number) { return state().words + (3 + 2 * number) * sizeof(uint64_t); }

// The layer has fewer ranks than 2^29.
uint64_t number_of(const ActiveSet& set) {
  return uint64_t{1} << 63 | static_cast<uint64_t>(set.log_stride) << 58 |
         static_cast<uint64_t>(set.start) << 29 | static_cast<uint64_t>(set.size);
}

ompl_condition word_is(uint64_t word, uint64_t value) {
  return {.flag_addr = state().words + word, .value = value, .comparison = OMPL_EQ, .width = 64};
}

// With progress; a PE that fails ends it.
int pause_a_moment() {
  const ompl_condition never = word_is(kNever, 1);
  const int code = ompl_wait_memory(OMPL_CTX_DEFAULT, &never, kPause);
  return code == OMPL_ERR_TIMEOUT ? OMPL_OK : code;
}

uint64_t own_word(uint64_t offset) {
  return __atomic_load_n(static_cast<const uint64_t*>(own_memory(offset)), __ATOMIC_ACQUIRE);
}

}  // namespace

SetTurn::SetTurn(const ActiveSet& set, const std::vector<uint32_t>& members)
    : members_(members), key_(number_of(set)), first_(members.front() == own_rank()) {}

int SetTurn::begin() {
  if (const int code = enter(); code != OMPL_OK) return code;
  if (first_) {
    if (const int code = await_all(); code != OMPL_OK) return code;
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

// Into an entry of the set, or one that is free.
int SetTurn::enter() const {
  const uint32_t first = members_.front();
  for (uint64_t tries = 0;; ++tries) {
    if (tries > 0 && tries % kEntries == 0) {
      if (const int code = pause_a_moment(); code != OMPL_OK) return code;
    }
    const uint64_t place = entry((key_ + tries) % kEntries);
    uint64_t before = 0;
    if (const int code = ompl_compare_swap64(first, place, 0, key_, &before); code != OMPL_OK)
      return code;
    if (before == 0 || before == key_) return ompl_add64(first, place + kCount, 1);
  }
}

uint64_t SetTurn::entered() const {
  uint64_t count = 0;
  for (uint64_t i = 0; i < kEntries; ++i)
    if (own_word(entry(i)) == key_) count += own_word(entry(i) + kCount);
  return count;
}

// Then nobody enters itself any more, and the entries are free again.
int SetTurn::await_all() const {
  while (entered() < members_.size())
    if (const int code = pause_a_moment(); code != OMPL_OK) return code;
  for (uint64_t i = 0; i < kEntries; ++i) {
    if (own_word(entry(i)) != key_) continue;
    if (const int code = ompl_set64(own_rank(), entry(i) + kCount, 0); code != OMPL_OK) return code;
    if (const int code = ompl_set64(own_rank(), entry(i), 0); code != OMPL_OK) return code;
  }
  return OMPL_OK;
}

int SetTurn::take_lock() {
  for (;;) {
    uint64_t before = 0;
    const int code = ompl_compare_swap64(0, state().words + kLock, 0, 1, &before);
    if (code != OMPL_OK || before == 0) return code;
    if (const int paused = pause_a_moment(); paused != OMPL_OK) return paused;
  }
}

}  // namespace shmem_core
