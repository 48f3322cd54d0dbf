// SPDX-License-Identifier: BSD-3-Clause
// Sleeping on a 32-bit word that may be shared between processes.
#pragma once

#include <chrono>
#include <cstdint>

namespace ompl::arch {

// Sleeps while *word == expected, at most `limit`. Returns early for any reason: look again.
void futex_wait(const uint32_t* word, uint32_t expected, std::chrono::nanoseconds limit);

// Wakes every sleeper on the word.
void futex_wake_all(const uint32_t* word);

}  // namespace ompl::arch
