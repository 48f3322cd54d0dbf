// SPDX-License-Identifier: BSD-3-Clause
// Reads GOAL, the schedules of LogGOPSim, in their text form.
//
//   num_ranks 2
//   rank 0 {
//     l1: calc 100              nanoseconds
//     l2: send 10b to 1 tag 0 cpu 0 nic 0
//     l2 requires l1            starts when l1 is done
//     l3 irequires l2           starts when l2 has started
//   }
//   rank 1 { ... recv 10b from 0 tag 0 ... }      from -1, tag -1: any
//
// A schedule is a graph; a rank here is a processor that makes MPI calls. So the operations are called in the order of
// the file, each after what it requires. A send or receive is a blocking call if what comes next requires it; else it
// is posted, and waited for before the first operation that requires it, or at the end.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>

#include "model/program.hpp"

namespace ompl::model {

// Throws InputError that names the line.
[[nodiscard]] std::unique_ptr<Program> read_goal(std::istream& in);
[[nodiscard]] std::unique_ptr<Program> read_goal_file(const std::string& path);

}  // namespace ompl::model
