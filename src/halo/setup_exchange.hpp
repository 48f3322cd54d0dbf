// SPDX-License-Identifier: BSD-3-Clause
// Memory in which the ranks of a job tell each other what they need to know to make a halo.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/job/runtime.hpp"
#include "halo/pattern.hpp"

namespace ompl::halo {

class SetupExchange {
 public:
  using Values = std::array<uint64_t, 8>;

  explicit SetupExchange(Runtime& runtime) : runtime_(runtime) {}

  // Collective. Room for so many agreements.
  int open(Context& c, std::size_t agreements);
  int close(Context& c);  // collective

  // Collective. Of each value the largest of all ranks'.
  int agree(Context& c, Values* values);

  int tell(Context& c, uint32_t rank, const Target& what);
  // What each rank has told this one; to be looked at after a barrier.
  [[nodiscard]] std::vector<Target> heard() const;

 private:
  Runtime& runtime_;
  uint64_t memory_ = 0;  // offset of a Target per rank, then of what agree() needs
  std::size_t agreed_ = 0;
};

}  // namespace ompl::halo
