// SPDX-License-Identifier: BSD-3-Clause
// How a slab's halo is exchanged beside its product.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "common/printable.hpp"
#include "slab.hpp"
#include "solver/ranks/halo_exchange.hpp"

namespace bench::product {

// An exchange that nobody looks after while the rank computes: what the layer, the kernel and the network do by themselves.
class Unattended final : public solver::Exchange {
 public:
  explicit Unattended(solver::Exchange& exchange) : exchange_(exchange) {}
  void start(const double* x) override { exchange_.start(x); }
  [[nodiscard]] const double* const* wait() override { return exchange_.wait(); }

 private:
  solver::Exchange& exchange_;
};

class Way {
 public:
  // strategy: OMPL_HALO_DOUBLE_BUFFER, ... Collective; throws LayerError.
  Way(Slab& slab, int32_t strategy)
      : slab_(slab),
        exchange_(slab.local(), strategy),
        attended_(slab.own(exchange_)),
        left_alone_(slab.own(unattended_)),
        whole_(slab.whole(exchange_)) {}
  // Collective.
  ~Way() {
    try {
      exchange_.end();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", ompl::printable(error.what()).c_str());
      std::_Exit(2);  // to leave in order this rank would wait for others
    }
  }
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;

  void exchange() {
    exchange_.start(slab_.x());
    static_cast<void>(exchange_.wait());
  }
  // Start, the product of the own columns, wait. polls: the exchange is looked after meanwhile.
  void overlap(bool polls) { slab_.apply(polls ? attended_ : left_alone_); }
  // What is wrong after a whole product with content of that number.
  [[nodiscard]] std::optional<std::string> multiply_checked(uint64_t number) {
    slab_.fill(number);
    slab_.apply(whole_);
    return slab_.wrong(number);
  }

 private:
  Slab& slab_;
  solver::HaloExchange exchange_;
  Unattended unattended_{exchange_};
  Operator attended_, left_alone_, whole_;
};

}  // namespace bench::product
