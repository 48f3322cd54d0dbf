// SPDX-License-Identifier: BSD-3-Clause
// The baseline under threads. A baseline that loses signals would be faster than is fair, or hang the comparison.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "raw/baseline.h"

namespace {

baseline_flag* flags_of(int count) {
  return static_cast<baseline_flag*>(
      baseline_map(static_cast<std::size_t>(count) * baseline_flag_size()));
}

baseline_flag* at(baseline_flag* flags, int index) {
  return reinterpret_cast<baseline_flag*>(reinterpret_cast<char*>(flags) +
                                          static_cast<std::size_t>(index) * baseline_flag_size());
}

// 1: every thread has a core, waiters spin; 99: crowded, they yield and sleep soon.
class Baseline : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { baseline_set(GetParam(), 0); }
};

TEST_P(Baseline, EverySignalIsTakenOnce) {
  constexpr int kProducers = 3;
  constexpr int kConsumers = 3;
  constexpr int kEach = 20000;
  baseline_flag* flag = flags_of(1);
  std::vector<std::thread> threads;
  for (int i = 0; i < kProducers; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < kEach; ++k) baseline_signal(flag);
    });
  }
  for (int i = 0; i < kConsumers; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < kEach; ++k) baseline_wait(flag);
    });
  }
  for (auto& thread : threads) thread.join();  // a lost signal would hang here, until ctest's limit
  baseline_signal(flag);
  baseline_wait(flag);
}

TEST_P(Baseline, DataArriveBeforeTheFlag) {
  constexpr int kRounds = 20000;
  baseline_flag* flags = flags_of(2);
  auto* cell = static_cast<uint64_t*>(baseline_map(sizeof(uint64_t)));
  int wrong = 0;
  std::thread consumer([&] {
    for (uint64_t k = 1; k <= kRounds; ++k) {
      baseline_wait(at(flags, 0));
      wrong += *cell != k;
      baseline_signal(at(flags, 1));
    }
  });
  for (uint64_t k = 1; k <= kRounds; ++k) {
    baseline_put(cell, &k, sizeof k);
    baseline_signal(at(flags, 0));
    baseline_wait(at(flags, 1));
  }
  consumer.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(Baseline, WakesASleeperInAnotherProcess) {
  baseline_flag* flags = flags_of(2);
  const pid_t child = fork();
  if (child == 0) {
    alarm(240);
    baseline_wait(at(flags, 0));
    baseline_signal(at(flags, 1));
    _exit(0);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // long enough for it to fall asleep
  baseline_signal(at(flags, 0));
  baseline_wait(at(flags, 1));
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

INSTANTIATE_TEST_SUITE_P(Threads, Baseline, testing::Values(1, 99));

TEST(BaselinePut, OffsetsOutsideTheSegmentAreRefused) {
  std::vector<char> segment(64, 'x');
  EXPECT_EQ(baseline_put_checked(segment.data(), 64, 56, "12345678", 8), 0);
  EXPECT_EQ(std::memcmp(segment.data() + 56, "12345678", 8), 0);
  EXPECT_NE(baseline_put_checked(segment.data(), 64, 57, "12345678", 8), 0);
  EXPECT_NE(baseline_put_checked(segment.data(), 64, SIZE_MAX, "12345678", 8), 0);
}

}  // namespace
