// SPDX-License-Identifier: BSD-3-Clause
// Halo exchanges by several strategies in one process: each has its own halo on the same pattern, and carries blocks of
// exchanges, one at once behind the other, when the driver says so.
#pragma once

#include <map>
#include <stdexcept>

#include "exchange.hpp"
#include "harness/report.hpp"
#include "job.hpp"

namespace bench::halo {

inline constexpr int kWarmUp = 4;  // exchanges: each slot twice

template <class World>
class Exchanges {
 public:
  Exchanges(const Setup& /*setup*/, int argc, char** argv) : job_(argc, argv) {}

  [[nodiscard]] int rank() const { return ompl_rank(); }
  [[nodiscard]] Description describe() const { return job_.describe(); }

  Report execute(const Command& command, Control& control) {
    if (command.what == "create") return create(command);
    Exchange& exchange = exchanges_.at(command.op);
    if (command.what == "verify") return verify(command, exchange, control);
    if (command.what == "exchange") return block(command, exchange);
    throw std::runtime_error("this worker cannot do " + command.what);
  }

 private:
  Report create(const Command& command) {
    std::vector<Neighbor> neighbors;
    for (const auto& [rank, sends, receives] : command.neighbors)
      neighbors.push_back({static_cast<uint32_t>(rank), sends, receives});
    const auto [place, is_new] =
        exchanges_.try_emplace(command.op, command.op, static_cast<uint32_t>(rank()), neighbors);
    return {{"refused", place->second.refusal()}};
  }

  Report verify(const Command& command, Exchange& exchange, Control& control) {
    job_.verify(command, control, [&](uint64_t number) { return exchange.run_checked(number); });
    return {{"exchanges", command.iterations}};
  }

  Report block(const Command& command, Exchange& exchange) {
    const double seconds = job_.block(command, kWarmUp, [&] { exchange.run(); });
    return {{"seconds", seconds}, {"uses", exchange.describe()}};
  }

  Job<World> job_;
  std::map<std::string, Exchange> exchanges_;  // behind job_: they end first
};

}  // namespace bench::halo
