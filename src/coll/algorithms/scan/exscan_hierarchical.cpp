// SPDX-License-Identifier: BSD-3-Clause
// Exclusive scan in two levels, of runs as in scan_hierarchical.cpp; a leader's own result is what all earlier runs' data come to. With p members on
// each of N nodes, L' and G' within a node: ceil(log2 p) (L' + 2o + m G' + m c) + (1 + ceil(log2 (N - 1))) (L + 2o + m G + m c)
// + (1 + ceil(log2 (p - 1))) (L' + 2o + m G' + m c). Keeps the members' order.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/scan/scanning.hpp"

namespace ompl::coll {

void exscan_hierarchical(const CollectiveCall& call, Builder& b) { scan_runs(call, b); }

}  // namespace ompl::coll
