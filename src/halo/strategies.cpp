// SPDX-License-Identifier: BSD-3-Clause
#include "halo/strategy.hpp"

namespace ompl::halo {
namespace {

// Plain RDMA: "Performance evaluation of RDMA communication with double buffering in the conjugate gradient method", section
// 2.2 and, of the resets, 4.2. One slot with a mark; before each exchange the receiver resets the mark and says that it is ready.
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

// Double buffering: "Performance evaluation of RDMA communication with double buffering in the conjugate gradient method",
// section 3. A rank starts an exchange only when it has heard from every neighbour in the one before, so nobody is ahead
// by two, and the slot of the last but one is free. That needs a signal from everybody: where no data go, an empty one.
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

// Two slots, and an acknowledgement for each that was read: right whoever sends to whom.
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

const Strategy& single() {
  static const SingleBuffer kStrategy;
  return kStrategy;
}

const Strategy& double_buffer() {
  static const DoubleBuffer kStrategy;
  return kStrategy;
}

const Strategy& acked() {
  static const Acked kStrategy;
  return kStrategy;
}

}  // namespace ompl::halo
