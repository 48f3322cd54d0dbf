// SPDX-License-Identifier: BSD-3-Clause
// Dissemination barrier (D. Hensgen, R. Finkel, U. Manber, "Two algorithms for barrier synchronization", 1988): in round k a
// member signals the one 2^k above and waits for the one 2^k below. ceil(log2 n) (L + 2o).
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/parts.hpp"

namespace ompl::coll {

void barrier_dissemination(const CollectiveCall& call, Builder& b) {
  for (uint32_t distance = 1; distance < call.size; distance *= 2) {
    b.notify(above(call, distance));
    b.await(below(call, distance));
    b.next_round();
  }
}

}  // namespace ompl::coll
