// SPDX-License-Identifier: BSD-3-Clause
#include "arch/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <ctime>
#include <span>

namespace ompl::arch {
namespace {

constexpr std::chrono::nanoseconds kNap{
    1'000'000};  // between two looks at a word that nobody can wake us by
std::atomic<bool> g_polls{false};

timespec to_timespec(std::chrono::nanoseconds time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  return {seconds.count(), (time - seconds).count()};
}

}  // namespace

// By syscall(), as everything here, which is no cancellation point.
void futex_wait(const uint32_t* word, uint32_t expected, std::chrono::nanoseconds limit) {
  if (g_polls.load(std::memory_order_relaxed)) [[unlikely]] {
    const timespec nap = to_timespec(std::min(limit, kNap));
    ::syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &nap, nullptr);
    return;
  }
  const timespec timeout = to_timespec(limit);
  ::syscall(SYS_futex, word, FUTEX_WAIT, expected, &timeout, nullptr, 0);
}

void futex_wake_all(const uint32_t* word) {
  ::syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

int futex_refusal(bool of_libc) {
  // That of the C library with a shared word is what joins threads: the kernel wakes it.
  static constexpr std::array kOurs{FUTEX_WAKE, FUTEX_WAIT};
  static constexpr std::array kOfLibc{FUTEX_WAKE_PRIVATE, FUTEX_WAIT_PRIVATE, FUTEX_WAIT_BITSET_PRIVATE,
                                      FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME};
  const uint32_t word = 0;
  constexpr uint32_t kOther = 1;  // than the word's value: nobody sleeps
  const auto error_of = [&word](int operation) {
    const int64_t code =
        ::syscall(SYS_futex, &word, operation, kOther, nullptr, nullptr, FUTEX_BITSET_MATCH_ANY);
    return code >= 0 || errno == EAGAIN ? 0 : errno;
  };
  for (const int operation : of_libc ? std::span<const int>(kOfLibc) : std::span<const int>(kOurs)) {
    if (const int error = error_of(operation); error != 0) return error;
  }
  return 0;
}

void poll_futexes() { g_polls.store(true, std::memory_order_relaxed); }

}  // namespace ompl::arch
