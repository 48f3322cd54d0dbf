// SPDX-License-Identifier: BSD-3-Clause
// Two slots, and an acknowledgement for each that was read: right whoever sends to whom.
#include "halo/strategy.hpp"

namespace ompl::halo {
namespace {

class Acked final : public Strategy {
 public:
  Acked() : Strategy(2) {}
  // The exchange before has been read.
  bool announce(const NeighborLink& to, uint64_t exchange, Signal* signal) const override {
    if (!to.receives() || exchange == 1) return false;
    *signal = {.offset = freed_there(to, exchange - 1)};
    return true;
  }
  // The slot's last exchange has been read.
  bool may_send(const NeighborLink& to, uint64_t exchange) const override {
    return !to.sends() || reached(to.flags->freed[slot(exchange)], turn(exchange) - 1);
  }
  bool mark(const NeighborLink& to, uint64_t exchange, Signal* signal) const override {
    *signal = {.offset = arrived_there(to, exchange)};
    return to.sends();
  }
  bool arrived(const NeighborLink& to, uint64_t exchange) const override {
    return !to.receives() || reached(to.flags->arrived[slot(exchange)], turn(exchange));
  }
};

}  // namespace

const Strategy& acked() {
  static const Acked kStrategy;
  return kStrategy;
}

}  // namespace ompl::halo
