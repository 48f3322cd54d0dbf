// SPDX-License-Identifier: BSD-3-Clause
// Alltoall in n - 1 rounds, with another partner each (R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication
// operations in MPICH", 2005). (n - 1) (L + 2o + m G).
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/exchanging.hpp"

namespace ompl::coll {

void alltoall_pairwise(const CollectiveCall& call, Builder& b) { exchange_blocks(call, b, true); }

}  // namespace ompl::coll
