// SPDX-License-Identifier: BSD-3-Clause
// Products with the halo exchanged by several strategies in one process, in blocks as the driver says: the exchange alone, the
// computation that needs no halo alone, and both at once.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stdexcept>

#include "halo/exchange.hpp"
#include "halo/job.hpp"
#include "harness/report.hpp"
#include "way.hpp"

namespace bench::product {

inline constexpr int kWarmUp = 2;  // of each block, not counted

template <class World>
class Products {
 public:
  Products(const Setup& /*setup*/, int argc, char** argv) : job_(argc, argv) {}

  [[nodiscard]] int rank() const { return ompl_rank(); }
  [[nodiscard]] Description describe() const { return job_.describe(); }

  Report execute(const Command& command, Control& control) {
    if (command.what == "grid") return make(command);
    if (!slab_) throw std::runtime_error("no grid was named before " + command.what);
    if (command.what == "compute") return block(command, [&] { slab_->apply(*alone_); });
    if (command.what == "create") return create(command);
    Way& way = *ways_.at(command.op);
    if (command.what == "verify") return verify(command, way, control);
    if (command.what == "exchange") return block(command, [&] { way.exchange(); });
    if (command.what == "overlap") return block(command, [&] { way.overlap(command.polls); });
    throw std::runtime_error("this worker cannot do " + command.what);
  }

 private:
  // A new grid ends what was of the one before.
  Report make(const Command& command) {
    ways_.clear();
    alone_.reset();
    slab_.reset();
    slab_ = std::make_unique<Slab>(command.grid);
    alone_.emplace(slab_->own(nothing_));
    return {{"rows", slab_->local().global.size()}, {"interior", slab_->local().interior}};
  }

  Report create(const Command& command) {
    std::string refusal;
    try {
      ways_[command.op] = std::make_unique<Way>(*slab_, halo::number_of(command.op));
    } catch (const solver::LayerError& error) {
      ways_.erase(command.op);
      refusal = error.what();
    }
    return {{"refused", refusal}};
  }

  Report verify(const Command& command, Way& way, Control& control) {
    job_.verify(command, control, [&](uint64_t number) { return way.multiply_checked(number); });
    return {{"products", command.iterations}};
  }

  template <class Body>
  Report block(const Command& command, const Body& body) {
    return {{"seconds", job_.block(command, kWarmUp, body)}};
  }

  halo::Job<World> job_;
  solver::NoExchange nothing_;
  std::unique_ptr<Slab> slab_;
  std::optional<Operator> alone_;
  std::map<std::string, std::unique_ptr<Way>> ways_;  // behind all that they look at
};

}  // namespace bench::product
