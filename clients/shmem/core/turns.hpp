// SPDX-License-Identifier: BSD-3-Clause
// The layer wants one thread of a PE at a time to make or end teams, and the PEs of a team to do so in the same order. Threads of
// different PEs come in different orders; who simply took a lock might hold what another PE waits for.
//
// So the members of a team first meet, and then vote: each says whether it could take the lock of its PE. If one could not, all
// give it back and vote again. A thread does not take the lock while one waits whose team has a lower number, the same at
// all members, so that one of the teams always gets its turn.
//
// The members of an active set have no team yet in which they could vote. So they meet in a table of the set's first PE: each
// enters itself there. When all have come, that PE takes a lock of the job, and tells them: one such set of the job at a
// time becomes a team, and its members wait for nobody else. Nor does whoever holds the locks of a split.
#pragma once

#include <mutex>
#include <set>
#include <vector>

#include "core/state.hpp"

namespace shmem_core {

class TeamTurns {
 public:
  // Calls `work` in the calling thread of every member of the team, while no other thread of these PEs is in such a call. Collective.
  template <class Work>
  int in_turn(const Team& team, Work work) {
    if (const int code = begin(team); code != OMPL_OK) return code;
    const int code = work();
    end();
    return code;
  }
  // The same without others to agree with.
  template <class Work>
  int alone(Work work) {
    begin_alone();
    const int code = work();
    end();
    return code;
  }

 private:
  int begin(const Team& team);
  void begin_alone();
  void end();
  bool take(uint64_t team);

  std::mutex mutex_;
  bool taken_ = false;
  std::multiset<uint64_t> waiting_;  // numbers of teams whose members have met
};

// The turn of an active set that is to become a team, in the job. Used by the threads that call the collective, one of each member.
class SetTurn {
 public:
  // Bytes of symmetric memory at State::words: the lock (of PE 0), the set whose turn it is (of each PE), what never changes, and
  // the table, of which an entry is a set and how many have come. A set may have several entries.
  static constexpr std::size_t kEntries = 61;
  static constexpr std::size_t kWords = (3 + 2 * kEntries) * sizeof(uint64_t);

  SetTurn(const ActiveSet& set, const std::vector<uint32_t>& members);
  int begin();
  int end(ompl_team* team);  // once it is made

 private:
  int enter() const;
  [[nodiscard]] uint64_t entered() const;
  int await_all() const;
  static int take_lock();

  const std::vector<uint32_t>& members_;
  const uint64_t key_;  // of the set; not 0
  const bool first_;    // this PE takes the lock
};

}  // namespace shmem_core
