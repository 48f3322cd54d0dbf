// SPDX-License-Identifier: BSD-3-Clause
// How ranks came to be: by a launcher, without MPI.
#pragma once

#include <omnipgas/ompl.h>

#include <map>
#include <string>

#include "harness/must.hpp"

namespace bench::halo {

struct Launched {
  Launched(int /*argc*/, char** /*argv*/) {}
  [[nodiscard]] static std::map<std::string, std::string> details() { return {}; }
  static void meet() { must(ompl_barrier(), "ompl_barrier"); }
};

}  // namespace bench::halo
