// SPDX-License-Identifier: BSD-3-Clause
#include "coll/tuner/candidates.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "coll/algorithms/algorithms.hpp"
#include "omnipgas/coll.h"

namespace ompl::coll {
namespace {

// The terms of the comments in algorithms/*.cpp.
struct Terms {
  const LogGp& machine;
  double n;       // members
  double m;       // bytes
  double rounds;  // ceil(log2 n)

  [[nodiscard]] double message() const { return machine.latency + 2 * machine.overhead; }
  [[nodiscard]] double bytes(double count) const { return count * machine.per_byte; }
  [[nodiscard]] double combined(double count) const { return count * machine.per_combined_byte; }
  // Every member, or a root, has something for all others at once.
  [[nodiscard]] double direct() const { return message() + (n - 2) * machine.gap + bytes((n - 1) * m); }
};

std::optional<double> cost_of_broadcast(int32_t algorithm, const Terms& t) {
  constexpr double kSegment = 65536;  // of broadcast_chain.cpp
  const double segments = std::max(1.0, t.m / kSegment);
  switch (algorithm) {
    case OMPL_COLL_BINOMIAL:
      return t.rounds * (t.message() + t.bytes(t.m));
    case OMPL_COLL_CHAIN:
      return (t.n + segments - 2) * (t.message() + t.bytes(t.m / segments));
    case OMPL_COLL_SCATTER_ALLGATHER:
      return (t.rounds + t.n - 1) * t.message() + t.bytes(2 * (t.n - 1) / t.n * t.m);
    default:
      return std::nullopt;
  }
}

std::optional<double> cost_of_allreduce(int32_t algorithm, const Terms& t) {
  const double parts = (t.n - 1) / t.n * t.m;
  switch (algorithm) {
    case OMPL_COLL_RECURSIVE_DOUBLING:
      return t.rounds * (t.message() + t.bytes(t.m) + t.combined(t.m));
    case OMPL_COLL_RABENSEIFNER:
      return 2 * t.rounds * t.message() + t.bytes(2 * parts) + t.combined(parts);
    case OMPL_COLL_RING:
      return 2 * (t.n - 1) * t.message() + t.bytes(2 * parts) + t.combined(parts);
    case OMPL_COLL_DIRECT:
      return t.direct() + t.combined((t.n - 1) * t.m);
    default:
      return std::nullopt;
  }
}

std::optional<double> cost_of_allgather(int32_t algorithm, const Terms& t) {
  const double received = t.bytes((t.n - 1) * t.m);
  switch (algorithm) {
    case OMPL_COLL_RING:
      return (t.n - 1) * t.message() + received;
    case OMPL_COLL_RECURSIVE_DOUBLING:
    case OMPL_COLL_BRUCK:
      return t.rounds * t.message() + received;
    case OMPL_COLL_NEIGHBOR_EXCHANGE:
      return t.n / 2 * t.message() + received;
    case OMPL_COLL_DIRECT:
      return t.direct();
    default:
      return std::nullopt;
  }
}

// Gather or scatter.
std::optional<double> cost_with_root(int32_t algorithm, const Terms& t) {
  switch (algorithm) {
    case OMPL_COLL_BINOMIAL:
      return t.rounds * t.message() + t.bytes((t.n - 1) * t.m);
    case OMPL_COLL_DIRECT:
      return t.direct();
    default:
      return std::nullopt;
  }
}

std::optional<double> cost_of_alltoall(int32_t algorithm, const Terms& t) {
  switch (algorithm) {
    case OMPL_COLL_PAIRWISE:
      return (t.n - 1) * (t.message() + t.bytes(t.m));
    case OMPL_COLL_BRUCK:
      return t.rounds * (t.message() + t.bytes(t.n / 2 * t.m));
    case OMPL_COLL_DIRECT:
      return t.direct();
    default:
      return std::nullopt;
  }
}

std::optional<double> cost_of_reduce_scatter(int32_t algorithm, const Terms& t) {
  const double others = (t.n - 1) * t.m;
  switch (algorithm) {
    case OMPL_COLL_RING:
      return (t.n - 1) * t.message() + t.bytes(others) + t.combined(others);
    case OMPL_COLL_RECURSIVE_HALVING:
      return t.rounds * t.message() + t.bytes(others) + t.combined(others);
    case OMPL_COLL_BINOMIAL:
      return (t.rounds + 1) * t.message() + t.bytes(t.n * t.m * (t.rounds + 1)) +
             t.combined(t.n * t.m * t.rounds);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<double> cost(int32_t collective, int32_t algorithm, uint32_t members, uint64_t bytes,
                           const LogGp& machine) {
  if (members < 2) return 0.0;
  const Terms t{.machine = machine,
                .n = static_cast<double>(members),
                .m = static_cast<double>(bytes),
                .rounds = static_cast<double>(std::bit_width(members - 1))};
  switch (collective) {
    case OMPL_BROADCAST:
      return cost_of_broadcast(algorithm, t);
    case OMPL_ALLREDUCE:
      return cost_of_allreduce(algorithm, t);
    case OMPL_ALLGATHER:
      return cost_of_allgather(algorithm, t);
    case OMPL_GATHER:
    case OMPL_SCATTER:
      return cost_with_root(algorithm, t);
    case OMPL_ALLTOALL:
      return cost_of_alltoall(algorithm, t);
    case OMPL_REDUCE_SCATTER:
      return cost_of_reduce_scatter(algorithm, t);
    default:
      return std::nullopt;  // nothing that an estimate could choose between
  }
}

std::vector<AlgorithmCandidate> candidates(const CallKind& kind, const LogGp& machine) {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  constexpr double kFirst = -1;
  std::vector<std::pair<double, AlgorithmCandidate>> all;  // with the places in the order
  double least = kUnknown;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.collective != kind.collective) continue;
    const bool named = kind.algorithm != OMPL_COLL_AUTO;
    if (named && algorithm.number != kind.algorithm) continue;
    if (is_reduction(kind.collective) && !kind.commutative && !algorithm.keeps_order) continue;
    const bool hierarchical = algorithm.number == OMPL_COLL_HIERARCHICAL;
    if (hierarchical && !kind.clustered && !named) continue;
    const auto known = cost(kind.collective, algorithm.number, kind.members,
                            smallest_of_class(kind.size_class), machine);
    least = std::min(least, known.value_or(kUnknown));
    all.push_back({hierarchical ? kFirst : known.value_or(kUnknown), {algorithm.number, known}});
  }
  std::ranges::stable_sort(all, {}, &std::pair<double, AlgorithmCandidate>::first);
  std::vector<AlgorithmCandidate> list;
  for (auto& [place, candidate] : all) {
    candidate.hopeless = candidate.cost && *candidate.cost > kHopeless * least;
    list.push_back(candidate);
  }
  return list;
}

std::vector<int32_t> modes(const CallKind& kind) {
  if (!kind.modes) return {TunerChoice::kNotChosen};
  // A member sends and receives about as much in most algorithms, and in none much more.
  const uint64_t moved = uint64_t{2} * kind.members * smallest_of_class(kind.size_class);
  if (moved < kWorthWaking) return {OMPL_PROGRESS_NONE, OMPL_PROGRESS_IDLE};
  return {OMPL_PROGRESS_NONE, OMPL_PROGRESS_SHARED, OMPL_PROGRESS_SPARE, OMPL_PROGRESS_IDLE};
}

std::vector<TunerChoice> short_list(const CallKind& kind, const LogGp& machine) {
  std::vector<TunerChoice> list;
  for (const AlgorithmCandidate& candidate : candidates(kind, machine)) {
    if (candidate.hopeless) continue;
    for (const int32_t mode : modes(kind)) list.push_back({candidate.algorithm, mode});
  }
  return list;
}

}  // namespace ompl::coll
