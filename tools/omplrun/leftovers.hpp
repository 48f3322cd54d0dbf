// SPDX-License-Identifier: BSD-3-Clause
// Nothing of a job survives it. Every process of a job has a variable in its environment whose name is the
// job's own, its mark, by which it is found even if it left its process group, its session or its parent.
#pragma once

#include <sys/types.h>

#include <string>

#include "fd.hpp"

namespace omplrun {

// A random word, fit for the name of a variable.
std::string random_mark();

// Kills every process that was started with `mark` in its environment; returns how many it found.
int kill_marked(const std::string& mark);

// A process that kills what is left of the job if omplrun ends without calling dismiss(), above all when
// omplrun is killed.
class Guard {
 public:
  explicit Guard(const std::string& mark);
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  void dismiss();

 private:
  void wait();

  pid_t pid_ = -1;
  Fd line_;  // its closing is the signal
};

}  // namespace omplrun
