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

}  // namespace shmem_core
