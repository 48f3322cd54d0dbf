// SPDX-License-Identifier: BSD-3-Clause
// The sentinel: the one sleeping thread of a rank that watches the network for all. A waiter takes the role from the progress thread,
// which only has it while nobody else of its rank is in the library. Protocol rule 16; docs/explanation/waiting.md.
#pragma once

#include <chrono>
#include <cstdint>

#include "core/memory/segment_header.hpp"

namespace ompl {

class Runtime;

// What ended a sentinel's sleep. at_once: there is work already.
enum class SentinelWake : uint8_t { at_once, network, poked, time, failed };

// By a thread that is registered as a sleeper. False: another one has the role, or nobody can have it.
bool become_sentinel(Runtime& runtime, SentinelRole role);
// Arms the endpoints and sleeps, at most `limit`, which is rounded up to milliseconds.
SentinelWake sleep_as_sentinel(Runtime& runtime, std::chrono::nanoseconds limit);
// False: the role was taken away meanwhile.
bool resign_as_sentinel(Runtime& runtime, SentinelRole role);
// By a thread that was registered and goes away: wakes somebody who is to be the next sentinel, or to run a call that has come.
void hand_on_role(Runtime& runtime);

}  // namespace ompl
