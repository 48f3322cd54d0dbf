// SPDX-License-Identifier: BSD-3-Clause
// On which core the threads of the modes `spare` and `node` run.
#pragma once

#include <cstdint>
#include <string>

#include "arch/cores.hpp"
#include "core/job/runtime.hpp"

namespace ompl::coll {

struct Placement {
  arch::Core processors{};  // of one core; empty: none is known
  std::string why{};
};

// Cores that several processes may use alike count as divided among them, as omplrun divides them: in a row to each. The thread gets
// the last core of its process's part, near the others and the one that threads placed from the first reach last.
Placement spare_core(const arch::Cores& cores, const Runtime::Sharing& sharing);

// The core of mode `node`: the last of all that the progress thread's process may use, whoever else may use them.
Placement node_core(const arch::Cores& cores);

}  // namespace ompl::coll
