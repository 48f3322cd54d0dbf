// SPDX-License-Identifier: BSD-3-Clause
// The modes of progress by name, and for which calls a thread is woken.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "omnipgas/coll.h"

namespace ompl::coll {

// Bytes that a member sends and receives; fewer take less time than waking a thread.
inline constexpr uint64_t kWorthWaking = 32768;
// A thread that shares its core takes from the computation what it does itself and two changes of threads, about 10 us. What goes
// through memory is all work of the core, so it gains nothing but that others need not wait: fewer bytes are no such gain.
inline constexpr uint64_t kWorthSharing = uint64_t{4} << 20;

// By OMPL_PROGRESS_NONE, ...; as OMPL_COLL_PROGRESS has them.
inline constexpr auto kProgressNames =
    std::to_array<const char*>({"none", "spare", "shared", "idle", "node", "auto"});

// Null: there is no such mode.
constexpr const char* progress_name(int32_t mode) {
  const bool known = mode >= 0 && mode < static_cast<int32_t>(kProgressNames.size());
  return known ? kProgressNames[static_cast<std::size_t>(mode)] : nullptr;
}

// Whether a thread of the process makes progress.
constexpr bool has_progress_thread(int32_t mode) {
  return mode == OMPL_PROGRESS_SPARE || mode == OMPL_PROGRESS_SHARED;
}

}  // namespace ompl::coll
