// SPDX-License-Identifier: BSD-3-Clause
// Waiting for own flags: for one, for its value, for several. Protocol rules 8, 9; those who wait for several sleep in the
// bucket ANY [15]. Results as those of operations.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/job/context.hpp"
#include "core/wait/deadline.hpp"

namespace ompl {

using Conditions = std::span<const ompl_condition>;

int wait(Context& c, uint64_t flag, Deadline deadline = Deadline::never());
int poll(Context& c, uint64_t flag);
// A flag that was checked, or one of the layer's own. Call::barrier: any failure in the job ends it.
int wait_flag(Context& c, uint64_t flag, Call call, Deadline deadline, uint32_t awaited = kNoRank);
int wait_until(Context& c, const ompl_condition& condition, Deadline deadline);
// `most`: 1 for any, else the number of conditions.
int wait_some(Context& c, Conditions conditions, std::size_t* indices, std::size_t most,
              std::size_t* found, Deadline deadline);
int wait_all(Context& c, Conditions conditions, Deadline deadline);

// Whether a condition holds on a flag of the segment that begins there; takes what it says to take.
bool try_consume(std::byte* segment, const ompl_condition& condition);

}  // namespace ompl
