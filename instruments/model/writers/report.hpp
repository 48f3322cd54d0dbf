// SPDX-License-Identifier: BSD-3-Clause
// The prediction as JSON; times in seconds, sensitivities per unit of the parameter (docs/explanation/model.md).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "model/replay/replay.hpp"

namespace ompl::model {

inline constexpr double kSecond_ns = 1e9;

struct Prediction {
  std::string input{};
  double read_seconds = 0;
  double replay_seconds = 0;
  Result result{};
};

[[nodiscard]] nlohmann::json to_json(const Prediction& prediction, const Trace& trace,
                                     const Parameters& parameters);

// `with_longer_limit`: the predicted time in nanoseconds if the shortest message above S were sent without
// synchronization; NaN if there is none.
[[nodiscard]] nlohmann::json to_json(const Sensitivity& sensitivity, const Result& result,
                                     const Trace& trace, const Parameters& parameters,
                                     double with_longer_limit);

// Each thread that stands still, or a line saying that none does.
[[nodiscard]] std::string describe_deadlock(const Result& result);

}  // namespace ompl::model
