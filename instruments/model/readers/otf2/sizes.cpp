// SPDX-License-Identifier: BSD-3-Clause
#include "model/readers/otf2/sizes.hpp"

#include <algorithm>
#include <numeric>

namespace ompl::model::otf2 {

namespace {

using trace::Kind;

uint64_t sum(std::span<const uint64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

uint64_t sum_or(std::span<const uint64_t> counts, uint64_t other) {
  return counts.empty() ? other : sum(counts);
}

uint64_t of_rank(std::span<const uint64_t> counts, uint64_t rank, uint64_t other) {
  return rank < counts.size() ? counts[rank] : other;
}

}  // namespace

Sizes sizes_of(const Part& part, uint64_t bytes, std::span<const uint64_t> sent,
               std::span<const uint64_t> received) {
  const bool root = part.rank == part.root;
  const uint64_t all = part.size * bytes;
  switch (part.kind) {
    case Kind::kBarrier:
      return {0, 0};
    case Kind::kBcast:
    case Kind::kScatter:
    case Kind::kScatterv:
      return {root ? sum_or(sent, all) : 0, of_rank(sent, part.rank, bytes)};
    case Kind::kReduce:
    case Kind::kGather:
    case Kind::kGatherv:
      return {bytes, root ? sum_or(received, all) : 0};
    case Kind::kAlltoallv:
    case Kind::kAlltoallw:
      return {sum_or(sent, sum(received)), sum(received)};
    case Kind::kReduceScatter:
      return {bytes, part.size * of_rank(received, part.rank, 0)};
    case Kind::kScan:
      return {(part.size - part.rank) * bytes, (part.rank + 1) * bytes};
    case Kind::kExscan:
      return {(part.size - part.rank - 1) * bytes, part.rank * bytes};
    default:
      return {all, sum_or(received, all)};
  }
}

uint64_t bytes_of(const Part& part, const Sizes& sizes) {
  const auto [sent, received] = sizes;
  const uint64_t others = std::max<uint64_t>(part.size, 2) - 1;
  switch (part.kind) {
    case Kind::kBarrier:
      return 0;
    case Kind::kBcast:
      return received;
    case Kind::kScatter:
    case Kind::kScatterv:
      return part.rank != part.root ? received : (sent - std::min(sent, received)) / others;
    case Kind::kReduce:
    case Kind::kGather:
    case Kind::kGatherv:
      return sent;
    case Kind::kAllgatherv:
      return received / part.size;
    case Kind::kScan:
      return (sent + received) / (part.size + 1);
    case Kind::kExscan:
      return (sent + received) / others;
    default:
      return sent / part.size;
  }
}

}  // namespace ompl::model::otf2
