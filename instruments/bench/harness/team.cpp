// SPDX-License-Identifier: BSD-3-Clause
#include "team.hpp"

#include <sched.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace bench {

void bind_to(const std::vector<int>& cores, pid_t thread) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  sched_setaffinity(thread, sizeof set, &set);  // a wish: without it the figures are only noisier
}

std::vector<int> cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  std::vector<int> list;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) list.push_back(core);
  }
  return list;
}

std::vector<int> cores_of(int rank) {
  auto list = cores();
  if (std::getenv("OMNI_OWN_CORES") != nullptr || list.size() < 2) return list;
  const auto middle = list.begin() + static_cast<std::ptrdiff_t>(list.size() / 2);
  return rank == 0 ? std::vector(list.begin(), middle) : std::vector(middle, list.end());
}

namespace {

struct Job {
  std::size_t number = 0;  // of those that measure at once
  std::size_t jobs = 1;
};

Job this_job() {
  const char* text = std::getenv("OMNI_JOB");  // "2/8": the third of eight
  Job job;
  if (text == nullptr || std::sscanf(text, "%zu/%zu", &job.number, &job.jobs) != 2 ||
      job.number >= job.jobs)
    return {};
  return job;
}

}  // namespace

std::size_t measuring(int threads) { return 2 * static_cast<std::size_t>(threads) * this_job().jobs; }

bool crowded(int threads) { return measuring(threads) > cores().size(); }

Team::Team(int threads, int rank) {
  const std::vector<int> own = cores_of(rank);
  const auto each = static_cast<std::size_t>(threads);
  const auto [number, jobs] = this_job();
  const bool roomy = jobs * each <= own.size();
  for (std::size_t i = 0; i < each; ++i) {
    threads_.emplace_back(&Team::serve, this, static_cast<int>(i),
                          roomy ? std::vector{own[number * each + i]} : own);
  }
}

Team::~Team() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  start_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void Team::run(int threads, const std::function<void(int)>& task) {
  std::unique_lock lock(mutex_);
  task_ = &task;
  active_ = running_ = threads;
  ++turn_;
  start_.notify_all();
  end_.wait(lock, [this] { return running_ == 0; });
}

void Team::serve(int index, const std::vector<int>& cores) {
  bind_to(cores);
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    start_.wait(lock, [&] { return stop_ || turn_ != seen; });
    if (stop_) return;
    seen = turn_;
    if (index >= active_) continue;
    const auto* task = task_;
    lock.unlock();
    (*task)(index);
    lock.lock();
    if (--running_ == 0) end_.notify_one();
  }
}

}  // namespace bench
