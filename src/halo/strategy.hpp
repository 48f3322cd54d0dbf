// SPDX-License-Identifier: BSD-3-Clause
// How landing slots are kept from being overwritten while they are read, and how a rank knows that data have arrived. A
// strategy has no state: flags of the neighbours and numbers of exchanges are all there is. docs/explanation/halo.md.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/data/update.hpp"
#include "halo/pattern.hpp"

namespace ompl::halo {

// The flags of one neighbour at one rank; each word counts, but for the mark of `single`.
struct alignas(64) Flags {
  uint32_t arrived[2];  // per slot: raised behind the data by the neighbour that sent them
  uint32_t freed[2];    // per slot: raised by the neighbour that read what this rank sent
};

// A neighbour as a strategy sees it.
struct NeighborLink {
  const Neighbor* with = nullptr;
  uint64_t flags_there = 0;     // offset there of the Flags for this rank
  uint64_t landing_there = 0;   // and of slot 0
  std::byte* mapped = nullptr;  // that slot, if there is one and its memory is mapped here
  Flags* flags = nullptr;       // here

  [[nodiscard]] bool sends() const { return with->send.count > 0; }
  [[nodiscard]] bool receives() const { return with->receive.count > 0; }
  [[nodiscard]] uint64_t slot_there(unsigned slot) const {
    return landing_there + slot * with->there.stride;
  }
};

class Strategy {
 public:
  // Exchange n, counted from 1, uses slot (n - 1) mod slots; it is the turn-th one there, counted from 1.
  explicit Strategy(unsigned slots) : slots_(slots) {}
  virtual ~Strategy() = default;
  [[nodiscard]] unsigned slots() const { return slots_; }
  [[nodiscard]] unsigned slot(uint64_t exchange) const {
    return static_cast<unsigned>((exchange - 1) % slots_);
  }
  [[nodiscard]] uint32_t turn(uint64_t exchange) const {
    return static_cast<uint32_t>((exchange - 1) / slots_ + 1);
  }

  // What the neighbour is to hear before anything of `exchange` is sent. False: nothing.
  virtual bool announce(const NeighborLink& to, uint64_t exchange, Signal* signal) const = 0;
  // Whether the neighbour's slot may be written.
  [[nodiscard]] virtual bool may_send(const NeighborLink& to, uint64_t exchange) const = 0;
  // The signal behind the data. False: the neighbour gets none, and no data.
  virtual bool mark(const NeighborLink& to, uint64_t exchange, Signal* signal) const = 0;
  // Whether all that comes from the neighbour in `exchange` is there.
  [[nodiscard]] virtual bool arrived(const NeighborLink& to, uint64_t exchange) const = 0;

 protected:
  // Whether a counter has reached `turn`, modulo 2^32. An acquire.
  static bool reached(uint32_t& counter, uint32_t turn) {
    const uint32_t count = std::atomic_ref(counter).load();  // sleepers: rule 15
    return static_cast<int32_t>(count - turn) >= 0;
  }

  [[nodiscard]] uint64_t arrived_there(const NeighborLink& to, uint64_t exchange) const {
    return to.flags_there + offsetof(Flags, arrived) + sizeof(uint32_t) * slot(exchange);
  }
  [[nodiscard]] uint64_t freed_there(const NeighborLink& to, uint64_t exchange) const {
    return to.flags_there + offsetof(Flags, freed) + sizeof(uint32_t) * slot(exchange);
  }

 private:
  const unsigned slots_;
};

const Strategy& double_buffer();
const Strategy& single();
const Strategy& acked();

}  // namespace ompl::halo
