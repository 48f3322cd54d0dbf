// SPDX-License-Identifier: BSD-3-Clause
// Alltoall in which every member puts to every other at once. L + 2o + (n - 2) g + (n - 1) m G.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/exchanging.hpp"

namespace ompl::coll {

void alltoall_direct(const CollectiveCall& call, Builder& b) { exchange_blocks(call, b, false); }

}  // namespace ompl::coll
