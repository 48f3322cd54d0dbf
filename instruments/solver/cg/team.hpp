// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace ompl::solver {

// Sums and threads' shares are made of blocks of so many rows.
inline constexpr uint32_t kBlock = 1024;

[[nodiscard]] constexpr uint32_t blocks_of(uint32_t rows) { return (rows + kBlock - 1) / kBlock; }

// The threads of a rank: the one that calls run(), and others that wait for it to do so, a moment awake and then asleep.
class Team {
 public:
  // Throws InputError for 0 or more than 1024 threads, std::system_error if they cannot be started.
  explicit Team(uint32_t threads);
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team();

  [[nodiscard]] uint32_t threads() const { return threads_; }

  // task(thread) on every thread, 0 is the caller; returns when all are done. The task may not throw, nor call run().
  template <class Task>
  void run(const Task& task) {
    run_erased([](const void* t, uint32_t thread) noexcept { (*static_cast<const Task*>(t))(thread); },
               &task);
  }

  // f(block, thread) for the blocks of a range; neighbouring ones on one thread.
  template <class F>
  void for_blocks(uint32_t first, uint32_t last, const F& f) {
    run([&](uint32_t thread) {
      const uint64_t count = last - first;
      const auto begin = static_cast<uint32_t>(first + count * thread / threads_);
      const auto end = static_cast<uint32_t>(first + count * (thread + 1) / threads_);
      for (uint32_t block = begin; block < end; ++block) f(block, thread);
    });
  }

 private:
  using Erased = void (*)(const void* task, uint32_t thread) noexcept;
  void run_erased(Erased call, const void* task);
  void serve(uint32_t thread);
  void end();

  const uint32_t threads_;
  Erased call_ = nullptr;  // these two are written before round_ and read after it
  const void* task_ = nullptr;
  alignas(64) std::atomic<uint32_t> round_{0};
  alignas(64) std::atomic<uint32_t> busy_{0};
  std::vector<std::jthread> others_;  // last: they end before what they look at
};

}  // namespace ompl::solver
