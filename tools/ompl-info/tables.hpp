// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "core/progress/thread_start.hpp"

// Prints what the queue pairs of one rank take in jobs of 2 to 1,000 nodes, by transport and size of the pool, and the
// pools that `budget` bytes allow (0: without that column).
void print_queue_pair_memory(uint64_t ranks_per_node, uint64_t budget);

// Prints who makes progress in each mode of a team, and on which cores.
void print_progress_modes();

// The processors of a placement, and why these.
std::string text_of(const ompl::Placement& placement);
