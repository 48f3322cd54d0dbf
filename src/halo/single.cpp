// SPDX-License-Identifier: BSD-3-Clause
// Plain RDMA: "Performance evaluation of RDMA communication with double buffering in the conjugate gradient method", section
// 2.2 and, of the resets, 4.2. One slot with a mark; before each exchange the receiver resets the mark and says that it is ready.
#include "halo/strategy.hpp"

namespace ompl::halo {
namespace {

class SingleBuffer final : public Strategy {
 public:
  SingleBuffer() : Strategy(1) {}
  bool announce(const NeighborLink& to, uint64_t exchange, Signal* signal) const override {
    if (!to.receives()) return false;
    std::atomic_ref(to.flags->arrived[0])
        .store(0, std::memory_order_relaxed);  // the signal releases it
    *signal = {.offset = freed_there(to, exchange)};
    return true;
  }
  bool may_send(const NeighborLink& to, uint64_t exchange) const override {
    return !to.sends() || reached(to.flags->freed[0], turn(exchange));
  }
  bool mark(const NeighborLink& to, uint64_t exchange, Signal* signal) const override {
    *signal = {.offset = arrived_there(to, exchange), .value = 1, .function = Function::set};
    return to.sends();
  }
  bool arrived(const NeighborLink& to, uint64_t /*exchange*/) const override {
    return !to.receives() || reached(to.flags->arrived[0], 1);
  }
};

}  // namespace

const Strategy& single() {
  static const SingleBuffer kStrategy;
  return kStrategy;
}

}  // namespace ompl::halo
