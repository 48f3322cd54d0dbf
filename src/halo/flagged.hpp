// SPDX-License-Identifier: BSD-3-Clause
// Exchanges by puts and flags of this layer, kept apart by a strategy.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "core/data/handle.hpp"
#include "halo/carrier.hpp"
#include "halo/strategy.hpp"

namespace ompl::halo {

class Flagged final : public Carrier {
 public:
  // `region`: offset of memory of the pattern's layout, zero at first.
  Flagged(Runtime& runtime, const Pattern& pattern, const Strategy& strategy, uint64_t region);

  int start(Context& c, const void* const* vectors, Deadline deadline) override;
  int test(Context& c) override;
  [[nodiscard]] bool arrived(std::size_t neighbor) const override;
  [[nodiscard]] const std::byte* data(std::size_t neighbor) const override;
  [[nodiscard]] bool wakes_sleepers() const override { return true; }

 private:
  int announce(Context& c, const NeighborLink& to, uint64_t exchange, Deadline deadline);
  int send(Context& c, std::size_t neighbor, std::size_t vector, uint64_t exchange,
           const void* const* vectors, Deadline deadline);
  int send_gathered(Context& c, std::size_t neighbor, uint64_t exchange, const void* const* vectors,
                    const Signal& mark, Deadline deadline);
  int put(Context& c, const void* source, const NeighborLink& to, uint64_t offset, std::size_t bytes,
          const Signal* mark, Deadline deadline);
  int test_sent(Context& c);

  const Pattern& pattern_;
  const Strategy& strategy_;
  std::vector<NeighborLink> links_;    // by neighbour
  std::byte* region_;                  // this rank's
  std::atomic<uint64_t> exchange_{0};  // begun last
  std::size_t steps_ = 0;              // of the next one, done: it is half begun if not 0
  std::mutex handles_mutex_;
  std::vector<Handle> handles_;  // of puts whose source is in use
  std::atomic<int> sent_{1};     // 0 while there are such, an error for good once one has failed
};

}  // namespace ompl::halo
