// SPDX-License-Identifier: BSD-3-Clause
#include "solver/ranks/overlapped_sums.hpp"

#include <algorithm>

#include "solver/ranks/layer.hpp"

namespace ompl::solver {

OverlappedSums::OverlappedSums() { check(ompl_team_world(&team_), "ompl_team_world"); }

void OverlappedSums::start(std::span<const double> values) {
  std::ranges::copy(values, values_.begin());
  count_ = values.size();
  tested_ = OMPL_OK;
  ompl_coll_options options = OMPL_COLL_OPTIONS_INIT;
  options.algorithm = OMPL_COLL_RECURSIVE_DOUBLING;
  check(ompl_allreduce(team_, OMPL_IN_PLACE, values_.data(), count_, OMPL_DOUBLE, OMPL_SUM, &options,
                       &request_),
        "ompl_allreduce");
}

void OverlappedSums::progress() noexcept {
  if (request_ != nullptr) tested_ = ompl_request_test(OMPL_CTX_DEFAULT, &request_);
}

std::span<const double> OverlappedSums::wait() {
  check(tested_, "ompl_request_test");
  check(ompl_request_wait(OMPL_CTX_DEFAULT, &request_, OMPL_FOREVER), "ompl_request_wait");
  return {values_.data(), count_};
}

}  // namespace ompl::solver
