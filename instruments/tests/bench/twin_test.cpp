// SPDX-License-Identifier: BSD-3-Clause
// The twin under threads. A bar that loses signals would be too easy or would hang the comparison.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "raw/twin.h"

namespace {

twin_flag* flags_of(int count) {
  return static_cast<twin_flag*>(twin_map(static_cast<std::size_t>(count) * twin_flag_size()));
}

twin_flag* at(twin_flag* flags, int index) {
  return reinterpret_cast<twin_flag*>(reinterpret_cast<char*>(flags) +
                                      static_cast<std::size_t>(index) * twin_flag_size());
}

// 1: every thread has a core, waiters spin; 99: crowded, they yield and sleep soon.
class Twin : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { twin_set(GetParam(), 0); }
};

TEST_P(Twin, EverySignalIsTakenOnce) {
  constexpr int kProducers = 3;
  constexpr int kConsumers = 3;
  constexpr int kEach = 20000;
  twin_flag* flag = flags_of(1);
  std::vector<std::thread> threads;
  for (int i = 0; i < kProducers; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < kEach; ++k) twin_signal(flag);
    });
  }
  for (int i = 0; i < kConsumers; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < kEach; ++k) twin_wait(flag);
    });
  }
  for (auto& thread : threads) thread.join();  // a lost signal would hang here, until ctest's limit
  twin_signal(flag);
  twin_wait(flag);
}

TEST_P(Twin, DataArriveBeforeTheFlag) {
  constexpr int kRounds = 20000;
  twin_flag* flags = flags_of(2);
  auto* cell = static_cast<uint64_t*>(twin_map(sizeof(uint64_t)));
  int wrong = 0;
  std::thread consumer([&] {
    for (uint64_t k = 1; k <= kRounds; ++k) {
      twin_wait(at(flags, 0));
      wrong += *cell != k;
      twin_signal(at(flags, 1));
    }
  });
  for (uint64_t k = 1; k <= kRounds; ++k) {
    twin_put(cell, &k, sizeof k);
    twin_signal(at(flags, 0));
    twin_wait(at(flags, 1));
  }
  consumer.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(Twin, WakesASleeperInAnotherProcess) {
  twin_flag* flags = flags_of(2);
  const pid_t child = fork();
  if (child == 0) {
    alarm(240);
    twin_wait(at(flags, 0));
    twin_signal(at(flags, 1));
    _exit(0);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // long enough for it to fall asleep
  twin_signal(at(flags, 0));
  twin_wait(at(flags, 1));
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

INSTANTIATE_TEST_SUITE_P(Threads, Twin, testing::Values(1, 99));

TEST(TwinPut, OffsetsOutsideTheSegmentAreRefused) {
  std::vector<char> segment(64, 'x');
  EXPECT_EQ(twin_put_checked(segment.data(), 64, 56, "12345678", 8), 0);
  EXPECT_EQ(std::memcmp(segment.data() + 56, "12345678", 8), 0);
  EXPECT_NE(twin_put_checked(segment.data(), 64, 57, "12345678", 8), 0);
  EXPECT_NE(twin_put_checked(segment.data(), 64, SIZE_MAX, "12345678", 8), 0);
}

}  // namespace
