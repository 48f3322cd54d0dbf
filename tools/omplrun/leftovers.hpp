// SPDX-License-Identifier: BSD-3-Clause
// Nothing of a job survives it. Every process of a job has a variable in its environment whose name is the
// job's own, its mark, by which it is found even if it left its process group, its session or its parent. Names of shared
// memory carry the pid of who made them.
#pragma once

#include <sys/types.h>

#include <ctime>

#include <set>
#include <string>
#include <vector>

#include "event_loop.hpp"

namespace omplrun {

// A random word, fit for the name of a variable.
std::string random_mark();

// Kills every process that was started with `mark` in its environment; returns those that it found.
std::vector<pid_t> kill_marked(const std::string& mark);

// Processes whose parent is this one, those included that have ended and are not buried. Empty too without /proc.
std::set<pid_t> children();

// Whether the process has begun to end by a signal: it closes its files, which others may notice, before its parent can
// know of its end. False too without /proc, or where the system does not tell.
bool dies_by_signal(pid_t pid);

// Removes what libfabric's shm leaves in /dev/shm of a process that ended before it could: this user's files
// PID:UID:NUMBER. To be called while no other process can have that pid.
void remove_names_of(pid_t pid);

// Removes what UCX leaves in /dev/shm of processes that ended after it had made a file and before it had removed the name:
// this user's files ucx_shm_posix_* that were made since then and that no process has open.
void remove_unused_names(const timespec& since);

// Now, as files are stamped: a little earlier.
timespec time_of_files();

// A process that kills what is left of the job, and removes the names of its ranks, if omplrun ends without calling
// dismiss(), above all when omplrun is killed.
class Guard {
 public:
  explicit Guard(const std::string& mark);
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  void begun(pid_t rank) { tell(rank); }
  void ended(pid_t rank) { tell(-rank); }
  void dismiss();

 private:
  void tell(pid_t word);
  void wait();

  pid_t pid_ = -1;
  Fd line_;  // pids, negative of ranks that have ended, 0 to dismiss it; its closing is the signal
};

// A child that has ended, whose pid is nobody else's yet; 0: none has; -1: there is no child.
pid_t ended_child();
// Whether a process of this group is a child of ours, as those become whose parents have ended.
bool has_children_in(pid_t group);
// Throws where the system refuses to wait for children.
void try_waitpid();

}  // namespace omplrun
