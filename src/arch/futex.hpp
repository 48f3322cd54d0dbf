// SPDX-License-Identifier: BSD-3-Clause
// Sleeping on a 32-bit word that may be shared between processes.
#pragma once

#include <chrono>
#include <cstdint>

namespace ompl::arch {

// Sleeps while *word == expected, at most `limit`. Returns early for any reason: look again.
void futex_wait(const uint32_t* word, uint32_t expected, std::chrono::nanoseconds limit);

// What the system says of each operation on futexes: an error number, or 0 if it does them all. `of_libc`: as the C library
// does them for its locks; otherwise as the functions here do, on words that processes share.
int futex_refusal(bool of_libc);

// From now on futex_wait() of this process naps instead: some process that is to wake it, or it itself, may not use futexes.
void poll_futexes();

// Wakes every sleeper on the word.
void futex_wake_all(const uint32_t* word);

}  // namespace ompl::arch
