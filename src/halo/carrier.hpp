// SPDX-License-Identifier: BSD-3-Clause
// How an exchange travels: by puts and flags of this layer (flagged.hpp), or by MPI (mpi/).
#pragma once

#include <cstddef>

#include "core/job/runtime.hpp"

namespace ompl::halo {

class Carrier {
 public:
  Carrier() = default;
  virtual ~Carrier() = default;
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;

  // Begins the next exchange. After OMPL_ERR_TIMEOUT it goes on where it stopped, with the same vectors. No other
  // thread is in the carrier.
  virtual int start(Context& c, const void* const* vectors, Deadline deadline) = 0;
  // Whether the exchange begun last is complete: 1, 0, or an error. Any threads, several at once. If none was begun: 1.
  virtual int test(Context& c) = 0;
  // Whether all that comes from a neighbour in it is there, as far as test() has seen. An acquire.
  [[nodiscard]] virtual bool arrived(std::size_t neighbor) const = 0;
  // Where that lies; before the first exchange, where it will.
  [[nodiscard]] virtual const std::byte* data(std::size_t neighbor) const = 0;
  // Whether those who sleep for several flags are woken when there is something new to see.
  [[nodiscard]] virtual bool wakes_sleepers() const = 0;
  // Gives back what only all ranks together can. Collective, in the same order.
  virtual void release() {}
};

}  // namespace ompl::halo
