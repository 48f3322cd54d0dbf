// SPDX-License-Identifier: BSD-3-Clause
// OMPL_TUNER_EXPLAIN: what a tuning begins with and what it has decided, in words, each once and not for every call.
#pragma once

#include <string>

#include "coll/tuner/tuning.hpp"

namespace ompl::coll {

// What is tried, in which order and why, or what the table says.
std::string explain_beginning(const Tuning& tuning, const Machine& machine);

// What it takes from now on, and how the others compare.
std::string explain_decision(const Tuning& tuning);

}  // namespace ompl::coll
