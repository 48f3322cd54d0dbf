// SPDX-License-Identifier: BSD-3-Clause
// Traces that need no file, made as they are read: to measure the replayer, and to try a machine's parameters.
#pragma once

#include <memory>
#include <string_view>

#include "model/trace.hpp"

namespace ompl::model {

// ring:RANKS:ITERATIONS:BYTES    each rank sends to both neighbours and receives from both, by nonblocking
//                                operations and one wait for the four
// flood:RANKS:MESSAGES:BYTES     all send to rank 0 before it receives any, last tag first
// pingpong:ROUNDS:BYTES:WORK_NS  figure 3 of the LogGPS paper
// Throws InputError for anything else.
[[nodiscard]] std::unique_ptr<Trace> make_pattern(std::string_view specification);
[[nodiscard]] bool is_pattern(std::string_view specification);

}  // namespace ompl::model
