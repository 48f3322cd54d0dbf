// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "solver/program/options.hpp"
#include "solver/ranks/sums.hpp"

namespace ompl::solver {

// What the options ask for. Collective. True if it is solved. Throws Refused on all ranks, LayerError and InputError on
// one: then the job must be ended.
bool solve(const Options& options, Sums& sums);

}  // namespace ompl::solver
