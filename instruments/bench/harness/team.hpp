// SPDX-License-Identifier: BSD-3-Clause
// The measuring threads of a rank: they live as long as the worker, so that what a library keeps per
// thread stays, and sleep between measurements. The same for every library: if the threads of both ranks
// have a core each, they are bound to it; if not, the threads of either rank share its cores. Of several jobs that measure
// at once (OMNI_JOB) each takes its part.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace bench {

// The cores this process may use.
std::vector<int> cores();
// Those for the threads of a rank: all, if OMNI_OWN_CORES says that no other rank has them; else its half.
std::vector<int> cores_of(int rank);
// The threads that measure at once, of both ranks, so many each, and of the other jobs.
std::size_t measuring(int threads);
// Whether those are more than the cores: who waits yields.
bool crowded(int threads);
// The calling thread, or that of a number of the kernel's.
void bind_to(const std::vector<int>& cores, pid_t thread = 0);

class Team {
 public:
  Team(int threads, int rank);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // Runs task(i) on threads 0 .. threads-1 at once; returns when all have finished.
  void run(int threads, const std::function<void(int)>& task);

 private:
  void serve(int index, const std::vector<int>& cores);

  std::mutex mutex_;
  std::condition_variable start_;
  std::condition_variable end_;
  const std::function<void(int)>* task_ = nullptr;  // guarded, as all below, by mutex_
  uint64_t turn_ = 0;                               // counts calls of run()
  int active_ = 0;                                  // threads that take part in this turn
  int running_ = 0;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace bench
