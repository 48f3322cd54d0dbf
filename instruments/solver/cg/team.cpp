// SPDX-License-Identifier: BSD-3-Clause
#include "solver/cg/team.hpp"

#include "common/input_error.hpp"

namespace ompl::solver {

namespace {

constexpr uint32_t kMostThreads = 1024;
constexpr int kLooks = 4000;  // before sleeping: some 10 us

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Returns the value once it is no longer `old`.
uint32_t wait_for_change(const std::atomic<uint32_t>& word, uint32_t old) {
  for (int look = 0; look < kLooks; ++look) {
    const uint32_t now = word.load(std::memory_order_acquire);
    if (now != old) return now;
    relax();
  }
  word.wait(old, std::memory_order_acquire);
  return word.load(std::memory_order_acquire);
}

}  // namespace

Team::Team(uint32_t threads) : threads_(threads) {
  if (threads == 0 || threads > kMostThreads)
    refuse("{} threads per rank; it must be 1 to {}", threads, kMostThreads);
  others_.reserve(threads - 1);
  try {
    for (uint32_t thread = 1; thread < threads; ++thread)
      others_.emplace_back([this, thread] { serve(thread); });
  } catch (...) {
    end();  // those that run would wait for ever
    throw;
  }
}

Team::~Team() { end(); }

void Team::end() {
  call_ = nullptr;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
}

void Team::run_erased(Erased call, const void* task) {
  if (threads_ > 1) {
    call_ = call;
    task_ = task;
    busy_.store(threads_ - 1, std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
  }
  call(task, 0);
  for (uint32_t left = threads_ - 1; left != 0;) {
    left = busy_.load(std::memory_order_acquire);
    if (left != 0) left = wait_for_change(busy_, left);
  }
}

void Team::serve(uint32_t thread) {
  for (uint32_t seen = 0;;) {
    seen = wait_for_change(round_, seen);
    if (call_ == nullptr) return;
    call_(task_, thread);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
  }
}

}  // namespace ompl::solver
