// SPDX-License-Identifier: BSD-3-Clause
#include "core/job/membership.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "arch/machine.hpp"

namespace ompl {
namespace {

// At least one, and no more than the process may load.
unsigned count_cores(std::span<const uint64_t> processors) {
  unsigned cores = 0;
  for (const uint64_t word : processors) cores += static_cast<unsigned>(std::popcount(word));
  return std::max(1U, std::min(cores, arch::core_quota()));
}

}  // namespace

unsigned Membership::own_cores() const { return count_cores(processors()); }

// The affinity mask of a rank of the node, as it was when it joined.
const uint64_t* Membership::cores_of(uint32_t rank) const {
  const NodeEntry* const entry = memory_.node().entry(rank);
  return entry != nullptr ? entry->cores : memory_.header(rank).cores;
}

void Membership::settle_node() {
  std::array<uint64_t, kCoreWords> together{};
  for (uint32_t rank = 0; rank < size_; ++rank) {
    if (memory_.bases()[rank] == nullptr) continue;
    if (rank == rank_) node_rank_ = node_size();
    node_ranks_.push_back(rank);
    if (!memory_.node().has(rank)) strangers_.push_back(rank);
    const uint64_t* const cores = cores_of(rank);
    for (uint32_t word = 0; word < kCoreWords; ++word) together[word] |= cores[word];
  }
  node_cores_ = count_cores(together);
}

Sharing Membership::sharing() const {
  Sharing sharing{.place = 0, .processes = 0};
  for (const uint32_t rank : node_ranks_) {
    bool shares = rank == rank_;
    const uint64_t* const cores = cores_of(rank);
    for (uint32_t word = 0; word < kCoreWords; ++word)
      shares = shares || (cores[word] & processors()[word]) != 0;
    if (!shares) continue;
    ++sharing.processes;
    if (rank < rank_) ++sharing.place;
  }
  return sharing;
}

}  // namespace ompl
