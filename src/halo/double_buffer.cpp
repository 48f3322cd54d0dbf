// SPDX-License-Identifier: BSD-3-Clause
// Double buffering: "Performance evaluation of RDMA communication with double buffering in the conjugate gradient method",
// section 3. A rank starts an exchange only when it has heard from every neighbour in the one before, so nobody is ahead
// by two, and the slot of the last but one is free. That needs a signal from everybody: where no data go, an empty one.
#include "halo/strategy.hpp"

namespace ompl::halo {
namespace {

class DoubleBuffer final : public Strategy {
 public:
  DoubleBuffer() : Strategy(2) {}
  bool announce(const NeighborLink& /*to*/, uint64_t /*exchange*/, Signal* /*signal*/) const override {
    return false;
  }
  bool may_send(const NeighborLink& /*to*/, uint64_t /*exchange*/) const override { return true; }
  bool mark(const NeighborLink& to, uint64_t exchange, Signal* signal) const override {
    *signal = {.offset = arrived_there(to, exchange)};
    return true;
  }
  bool arrived(const NeighborLink& to, uint64_t exchange) const override {
    return reached(to.flags->arrived[slot(exchange)], turn(exchange));
  }
};

}  // namespace

const Strategy& double_buffer() {
  static const DoubleBuffer kStrategy;
  return kStrategy;
}

}  // namespace ompl::halo
