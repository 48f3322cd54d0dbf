// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a GOAL schedule: refused with a word, or replayed with times that add up.
#include <cmath>
#include <sstream>

#include "common/input_error.hpp"
#include "fuzz.hpp"
#include "model/readers/goal.hpp"
#include "model/replay/replay.hpp"

void fuzz::one_input(std::string_view bytes) {
  using namespace ompl::model;  // NOLINT(google-build-using-namespace)
  std::istringstream in{std::string(bytes)};
  std::unique_ptr<Program> program;
  try {
    program = read_goal(in);
  } catch (const ompl::InputError& error) {
    require(*error.what() != '\0');
    return;
  }
  if (program->ranks() > 1024) return;
  const Result result = replay(*program, find_parameters("myrinet", Model::loggps), {});
  require(std::isfinite(result.predicted_ns));
  double most = 0;
  for (const Breakdown& b : result.per_thread) {
    for (const double part : {b.compute, b.overhead, b.send_wait, b.recv_wait})
      require(part >= -1e-6 * result.predicted_ns);
    most = std::max(most, b.compute + b.overhead + b.send_wait + b.recv_wait);
  }
  require(std::abs(most - result.predicted_ns) <= 1e-6 * result.predicted_ns);
  require((result.blocked_count > 0) == !result.blocked.empty());
}
