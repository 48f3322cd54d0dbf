// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm of every collective, one file each; choose.cpp says which one a call gets that leaves it open. Costs are in LogGP
// (A. Alexandrov et al., "LogGP: Incorporating long messages into the LogP model", 1995): latency L, overhead o, gap g, time per
// byte G; n members, m bytes of a buffer or block, and c for combining a byte.
#pragma once

#include <memory>
#include <span>

#include "coll/call.hpp"
#include "coll/schedule/builder.hpp"

namespace ompl::coll {

struct Algorithm {
  int32_t collective;
  int32_t number;  // OMPL_COLL_RING, ...
  void (*compile)(const CollectiveCall& call, Builder& builder);
  bool keeps_order = false;  // combines in the order of the members
  bool takes_lists = true;   // blocks of different lengths
};

std::span<const Algorithm> algorithms();

// Whether it combines, by an operation on elements of a type.
bool is_reduction(int32_t collective);

// The algorithm for a call that leaves it open.
int32_t choose(const CollectiveCall& call);

// Nullptr: there is no such algorithm, or it cannot do what the call asks.
std::shared_ptr<const Schedule> compile(const CollectiveCall& call);

// A call of some of the members, whom the builder is among, by the algorithm that a team of theirs would get.
void compile_part(const CollectiveCall& call, Builder& b);

void barrier_dissemination(const CollectiveCall& call, Builder& b);
void barrier_hierarchical(const CollectiveCall& call, Builder& b);
void broadcast_binomial(const CollectiveCall& call, Builder& b);
void broadcast_chain(const CollectiveCall& call, Builder& b);
void broadcast_scatter_allgather(const CollectiveCall& call, Builder& b);
void broadcast_hierarchical(const CollectiveCall& call, Builder& b);
void reduce_binomial(const CollectiveCall& call, Builder& b);
void reduce_hierarchical(const CollectiveCall& call, Builder& b);
void allreduce_recursive_doubling(const CollectiveCall& call, Builder& b);
void allreduce_direct(const CollectiveCall& call, Builder& b);
void allreduce_rabenseifner(const CollectiveCall& call, Builder& b);
void allreduce_ring(const CollectiveCall& call, Builder& b);
void allreduce_hierarchical(const CollectiveCall& call, Builder& b);
void allgather_ring(const CollectiveCall& call, Builder& b);
void allgather_recursive_doubling(const CollectiveCall& call, Builder& b);
void allgather_bruck(const CollectiveCall& call, Builder& b);
void allgather_neighbor_exchange(const CollectiveCall& call, Builder& b);
void allgather_direct(const CollectiveCall& call, Builder& b);
void allgather_hierarchical(const CollectiveCall& call, Builder& b);
void gather_binomial(const CollectiveCall& call, Builder& b);
void gather_direct(const CollectiveCall& call, Builder& b);
void gather_hierarchical(const CollectiveCall& call, Builder& b);
void scatter_binomial(const CollectiveCall& call, Builder& b);
void scatter_direct(const CollectiveCall& call, Builder& b);
void scatter_hierarchical(const CollectiveCall& call, Builder& b);
void alltoall_pairwise(const CollectiveCall& call, Builder& b);
void alltoall_bruck(const CollectiveCall& call, Builder& b);
void alltoall_direct(const CollectiveCall& call, Builder& b);
void alltoall_hierarchical(const CollectiveCall& call, Builder& b);
void reduce_scatter_ring(const CollectiveCall& call, Builder& b);
void reduce_scatter_recursive_halving(const CollectiveCall& call, Builder& b);
void reduce_scatter_binomial(const CollectiveCall& call, Builder& b);
void reduce_scatter_hierarchical(const CollectiveCall& call, Builder& b);
void scan_recursive_doubling(const CollectiveCall& call, Builder& b);
void scan_hierarchical(const CollectiveCall& call, Builder& b);
void exscan_recursive_doubling(const CollectiveCall& call, Builder& b);
void exscan_hierarchical(const CollectiveCall& call, Builder& b);

}  // namespace ompl::coll
