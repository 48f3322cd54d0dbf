// SPDX-License-Identifier: BSD-3-Clause
// The list of algorithms, which one a call gets that leaves it open, and the way from a call to its schedule.
#include "coll/algorithms/algorithms.hpp"

#include <algorithm>
#include <array>

#include "coll/algorithms/levels.hpp"
#include "omnipgas/coll.h"

namespace ompl::coll {
namespace {

constexpr bool kOrdered = true;
constexpr bool kEqualOnly = false;

constexpr std::array kAlgorithms{
    Algorithm{OMPL_BARRIER, OMPL_COLL_DISSEMINATION, barrier_dissemination},
    Algorithm{OMPL_BARRIER, OMPL_COLL_HIERARCHICAL, barrier_hierarchical},
    Algorithm{OMPL_BROADCAST, OMPL_COLL_BINOMIAL, broadcast_binomial},
    Algorithm{OMPL_BROADCAST, OMPL_COLL_CHAIN, broadcast_chain},
    Algorithm{OMPL_BROADCAST, OMPL_COLL_SCATTER_ALLGATHER, broadcast_scatter_allgather},
    Algorithm{OMPL_BROADCAST, OMPL_COLL_HIERARCHICAL, broadcast_hierarchical},
    Algorithm{OMPL_REDUCE, OMPL_COLL_BINOMIAL, reduce_binomial, kOrdered},
    Algorithm{OMPL_REDUCE, OMPL_COLL_HIERARCHICAL, reduce_hierarchical},
    Algorithm{OMPL_ALLREDUCE, OMPL_COLL_RECURSIVE_DOUBLING, allreduce_recursive_doubling, kOrdered},
    Algorithm{OMPL_ALLREDUCE, OMPL_COLL_RABENSEIFNER, allreduce_rabenseifner},
    Algorithm{OMPL_ALLREDUCE, OMPL_COLL_RING, allreduce_ring},
    Algorithm{OMPL_ALLREDUCE, OMPL_COLL_DIRECT, allreduce_direct, kOrdered},
    Algorithm{OMPL_ALLREDUCE, OMPL_COLL_HIERARCHICAL, allreduce_hierarchical},
    Algorithm{OMPL_ALLGATHER, OMPL_COLL_RING, allgather_ring},
    Algorithm{OMPL_ALLGATHER, OMPL_COLL_RECURSIVE_DOUBLING, allgather_recursive_doubling},
    Algorithm{OMPL_ALLGATHER, OMPL_COLL_BRUCK, allgather_bruck},
    Algorithm{OMPL_ALLGATHER, OMPL_COLL_NEIGHBOR_EXCHANGE, allgather_neighbor_exchange},
    Algorithm{OMPL_ALLGATHER, OMPL_COLL_DIRECT, allgather_direct},
    Algorithm{OMPL_ALLGATHER, OMPL_COLL_HIERARCHICAL, allgather_hierarchical},
    Algorithm{OMPL_GATHER, OMPL_COLL_BINOMIAL, gather_binomial, !kOrdered, kEqualOnly},
    Algorithm{OMPL_GATHER, OMPL_COLL_DIRECT, gather_direct},
    Algorithm{OMPL_GATHER, OMPL_COLL_HIERARCHICAL, gather_hierarchical, !kOrdered, kEqualOnly},
    Algorithm{OMPL_SCATTER, OMPL_COLL_BINOMIAL, scatter_binomial, !kOrdered, kEqualOnly},
    Algorithm{OMPL_SCATTER, OMPL_COLL_DIRECT, scatter_direct},
    Algorithm{OMPL_SCATTER, OMPL_COLL_HIERARCHICAL, scatter_hierarchical, !kOrdered, kEqualOnly},
    Algorithm{OMPL_ALLTOALL, OMPL_COLL_PAIRWISE, alltoall_pairwise},
    Algorithm{OMPL_ALLTOALL, OMPL_COLL_BRUCK, alltoall_bruck, !kOrdered, kEqualOnly},
    Algorithm{OMPL_ALLTOALL, OMPL_COLL_DIRECT, alltoall_direct},
    Algorithm{OMPL_ALLTOALL, OMPL_COLL_HIERARCHICAL, alltoall_hierarchical, !kOrdered, kEqualOnly},
    Algorithm{OMPL_REDUCE_SCATTER, OMPL_COLL_RING, reduce_scatter_ring, !kOrdered, kEqualOnly},
    Algorithm{OMPL_REDUCE_SCATTER, OMPL_COLL_RECURSIVE_HALVING, reduce_scatter_recursive_halving},
    Algorithm{OMPL_REDUCE_SCATTER, OMPL_COLL_BINOMIAL, reduce_scatter_binomial, kOrdered, kEqualOnly},
    Algorithm{OMPL_REDUCE_SCATTER, OMPL_COLL_HIERARCHICAL, reduce_scatter_hierarchical, !kOrdered,
              kEqualOnly},
    Algorithm{OMPL_SCAN, OMPL_COLL_RECURSIVE_DOUBLING, scan_recursive_doubling, kOrdered},
    Algorithm{OMPL_SCAN, OMPL_COLL_HIERARCHICAL, scan_hierarchical, kOrdered},
    Algorithm{OMPL_EXSCAN, OMPL_COLL_RECURSIVE_DOUBLING, exscan_recursive_doubling, kOrdered},
    Algorithm{OMPL_EXSCAN, OMPL_COLL_HIERARCHICAL, exscan_hierarchical, kOrdered},
};

// Of one member: what it gives is what it gets.
void alone(const CollectiveCall& call, Builder& b) {
  const bool gives = call.collective != OMPL_BARRIER && call.collective != OMPL_BROADCAST &&
                     call.collective != OMPL_EXSCAN;
  if (!gives || call.in_place) return;
  const Place from = call.sent.lengths.empty() ? kSent : kSent.plus(call.sent.at(0));
  const Place to = call.received.lengths.empty() ? kReceived : kReceived.plus(call.received.at(0));
  const uint64_t length = !call.received.lengths.empty() ? call.received.of(0)
                          : !call.sent.lengths.empty()   ? call.sent.of(0)
                                                         : call.length;
  b.copy(from, to, length);
}

const Algorithm* find(int32_t collective, int32_t number) {
  const auto* const found = std::ranges::find_if(kAlgorithms, [&](const Algorithm& algorithm) {
    return algorithm.collective == collective && algorithm.number == number;
  });
  return found != kAlgorithms.end() ? found : nullptr;
}

}  // namespace

std::span<const Algorithm> algorithms() { return kAlgorithms; }

bool is_reduction(int32_t collective) {
  return collective == OMPL_REDUCE || collective == OMPL_ALLREDUCE ||
         collective == OMPL_REDUCE_SCATTER || collective == OMPL_SCAN || collective == OMPL_EXSCAN;
}

// The boundaries are estimates for shared memory, not measured yet; so is the use of two levels wherever there are two. Where these save messages
// but no bytes between nodes, it is for short blocks only.
int32_t choose(const CollectiveCall& call) {
  constexpr uint64_t kShort = 1024;
  constexpr uint64_t kLong = 32768;
  const bool tall = call.size > 2;
  const bool few = call.size <= 8;  // for so many, messages at once are shorter than rounds
  const bool clustered = is_clustered(call);
  switch (call.collective) {
    case OMPL_BARRIER:
      return clustered ? OMPL_COLL_HIERARCHICAL : OMPL_COLL_DISSEMINATION;
    case OMPL_BROADCAST:
      if (clustered) return OMPL_COLL_HIERARCHICAL;
      if (call.length < kLong || !tall) return OMPL_COLL_BINOMIAL;
      return OMPL_COLL_SCATTER_ALLGATHER;
    case OMPL_REDUCE:
      return clustered && call.commutative ? OMPL_COLL_HIERARCHICAL : OMPL_COLL_BINOMIAL;
    case OMPL_ALLREDUCE:
      if (clustered && call.commutative) return OMPL_COLL_HIERARCHICAL;
      if (tall && few && call.length <= kShort) return OMPL_COLL_DIRECT;
      return call.length < kLong || !call.commutative ? OMPL_COLL_RECURSIVE_DOUBLING
                                                      : OMPL_COLL_RABENSEIFNER;
    case OMPL_ALLGATHER:
      if (clustered) return OMPL_COLL_HIERARCHICAL;
      return call.length <= kShort && !few && !call.listed ? OMPL_COLL_BRUCK : OMPL_COLL_DIRECT;
    case OMPL_GATHER:
    case OMPL_SCATTER:
    case OMPL_ALLTOALL:
      return clustered && call.length <= kShort && !call.listed ? OMPL_COLL_HIERARCHICAL
                                                                : OMPL_COLL_DIRECT;
    case OMPL_REDUCE_SCATTER:
      if (clustered && call.commutative) return OMPL_COLL_HIERARCHICAL;
      return call.commutative ? OMPL_COLL_RECURSIVE_HALVING : OMPL_COLL_BINOMIAL;
    default:
      return clustered ? OMPL_COLL_HIERARCHICAL : OMPL_COLL_RECURSIVE_DOUBLING;
  }
}

void compile_part(const CollectiveCall& call, Builder& b) {
  call.size == 1 ? alone(call, b) : find(call.collective, choose(call))->compile(call, b);
}

std::shared_ptr<const Schedule> compile(const CollectiveCall& call) {
  const int32_t number = call.algorithm == OMPL_COLL_AUTO ? choose(call) : call.algorithm;
  const Algorithm* const found = find(call.collective, number);
  if (found == nullptr) return nullptr;
  if (call.listed && !found->takes_lists) return nullptr;
  if (is_reduction(call.collective) && !call.commutative && !found->keeps_order) return nullptr;
  Builder builder(call);
  if (call.size == 1) {
    alone(call, builder);
  } else {
    found->compile(call, builder);
  }
  return std::make_shared<const Schedule>(builder.finish());
}

}  // namespace ompl::coll
