// SPDX-License-Identifier: BSD-3-Clause
// What a message costs on a machine, in the terms of LogGP: as `omni model fit` has measured it, or by orders of magnitude.
#pragma once

#include <optional>

#include "coll/tuner/kind.hpp"

namespace ompl::coll {

// Nanoseconds, and nanoseconds per byte. The defaults are orders of magnitude of shared memory; only ratios of costs are used.
struct LogGp {
  double latency = 300;
  double overhead = 100;
  double gap = 100;
  double per_byte = 0.1;
  double per_combined_byte = 0.1;  // no round trip combines anything: never measured

  bool operator==(const LogGp&) const = default;
};

// Inside of a node, and between nodes; empty: nobody has measured it.
struct Machine {
  std::optional<LogGp> node;
  std::optional<LogGp> network;

  [[nodiscard]] const std::optional<LogGp>& measured(const CallKind& kind) const {
    return kind.nodes > 1 ? network : node;
  }
  [[nodiscard]] LogGp of(const CallKind& kind) const { return measured(kind).value_or(LogGp{}); }

  bool operator==(const Machine&) const = default;
};

}  // namespace ompl::coll
