// SPDX-License-Identifier: BSD-3-Clause
// Halo exchanges by several strategies in one process: each has its own halo on the same pattern, and carries blocks of
// exchanges, one at once behind the other, when the driver says so. Main thread only.
#pragma once

#include <map>
#include <stdexcept>

#include "halo/exchange.hpp"
#include "harness/control.hpp"
#include "harness/report.hpp"
#include "harness/team.hpp"

namespace bench::halo {

inline constexpr int kWarmUp = 4;  // exchanges: each slot twice

// `World` is how the ranks came to be: meet() returns once all ranks have called it, and until then lets every library go
// on with what it may still owe another rank.
template <class World>
class Layer {
 public:
  Layer(const Setup& /*setup*/, int argc, char** argv) : world_(argc, argv) {
    must(ompl_init(), "ompl_init");
    must(ompl_alloc(1, &place_), "ompl_alloc");
  }
  ~Layer() {
    exchanges_.clear();
    ompl_finalize();
  }
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  [[nodiscard]] int rank() const { return ompl_rank(); }
  [[nodiscard]] Description describe() const {
    const auto last = static_cast<uint32_t>(ompl_size() - 1);
    const bool mapped = ompl_ptr(rank() == 0 ? last : 0, place_) != nullptr;
    return {ompl_version(), mapped ? "shared memory" : "network", std::nullopt, world_.details()};
  }

  nlohmann::json execute(const Command& command, Control& control) {
    if (command.what == "create") return create(command);
    Exchange& exchange = exchanges_.at(command.op);
    if (command.what == "verify") return verify(command, exchange, control);
    if (command.what == "exchange") return block(command, exchange);
    throw std::runtime_error("this worker cannot do " + command.what);
  }

 private:
  nlohmann::json create(const Command& command) {
    std::vector<Neighbor> neighbors;
    for (const auto& [rank, sends, receives] : command.neighbors)
      neighbors.push_back({static_cast<uint32_t>(rank), sends, receives});
    const auto [place, is_new] =
        exchanges_.try_emplace(command.op, command.op, static_cast<uint32_t>(rank()), neighbors);
    return {{"refused", place->second.refusal()}};
  }

  nlohmann::json verify(const Command& command, Exchange& exchange, Control& control) {
    for (uint64_t i = 0; i < command.iterations; ++i)
      if (const auto wrong = exchange.run_checked(command.sequence << 8U | i)) control.corrupt(*wrong);
    World::meet();
    return {{"exchanges", command.iterations}};
  }

  nlohmann::json block(const Command& command, Exchange& exchange) {
    World::meet();
    for (int i = 0; i < kWarmUp; ++i) exchange.run();
    const auto start = Clock::now();
    for (uint64_t i = 0; i < command.iterations; ++i) exchange.run();
    const double seconds = seconds_since(start);
    World::meet();
    return {{"seconds", seconds}, {"uses", exchange.describe()}};
  }

  World world_;
  uint64_t place_ = 0;  // one byte of the segment
  std::map<std::string, Exchange> exchanges_;
};

// main() of these workers.
template <class World>
int worker_main(int argc, char** argv) {
  return run_worker<Layer<World>>(argc, argv, [](Layer<World>& layer, const Setup&, Control& control) {
    const auto all = cores();
    const auto size = static_cast<std::size_t>(ompl_size());
    bind_to({all[static_cast<std::size_t>(layer.rank()) * all.size() / size]});
    while (const auto command = control.next()) control.report(layer.execute(*command, control));
  });
}

}  // namespace bench::halo
