// SPDX-License-Identifier: BSD-3-Clause
// Scan in two levels, for clusters as P. Sanders, J. L. Träff have them in "Parallel prefix (scan) algorithms for MPI", 2006: each node's data are
// combined up a binomial tree to its leader, leaders do an exclusive scan, and each node scans its members' data, its leader having put before its own
// what all earlier nodes' come to. With p members on each of N nodes, L' and G' within a node:
// 2 ceil(log2 p) (L' + 2o + m G' + m c) + (1 + ceil(log2 (N - 1))) (L + 2o + m G + m c).
// A node here is a run: members of one node that stand side by side. What comes before a member is then what comes before its run, and what comes before
// it there; so the members' order is kept. Members that share a node but do not stand together gain nothing: each alone is a run.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/combining.hpp"
#include "coll/algorithms/levels.hpp"
#include "coll/algorithms/scan/scanning.hpp"

namespace ompl::coll {

void scan_runs(const CollectiveCall& call, Builder& b) {
  const Levels levels(call, call.nodes->runs());
  const bool is_last = levels.mine + 1 == levels.leaders.size();
  const Place room = b.scratch(call.length);
  CollectiveCall within = levels.within(call, call.collective);
  b.among(levels.node);
  const Place sum = is_last ? call.own() : combine_up(within, b, 0, call.length, room);
  if (levels.leads(call)) {
    const Place before = b.scratch(call.length);
    CollectiveCall between = levels.between(call, OMPL_EXSCAN);
    between.in_place = false;
    b.among(levels.leaders);
    b.buffers(sum, before);
    compile_part(between, b);
    b.next_round();
    b.among(levels.node);
    b.buffers(kSent, kReceived);
    if (levels.mine > 0) {
      b.copy(call.own(), room, call.length);
      b.next_round();
      b.reduce(before, room, call.length);
      if (call.collective == OMPL_EXSCAN) b.copy(before, kReceived, call.length);
      b.next_round();
      b.buffers(room, kReceived);
      within.in_place = false;
    }
  }
  compile_part(within, b);
}

void scan_hierarchical(const CollectiveCall& call, Builder& b) { scan_runs(call, b); }

}  // namespace ompl::coll
