// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/progress/thread_start.hpp"

// Prints who makes progress in each mode of a team, and on which cores.
void print_progress_modes();

// The processors of a placement, and why these.
std::string text_of(const ompl::coll::Placement& placement);
