// SPDX-License-Identifier: BSD-3-Clause
// The strategies that need no MPI.
#include "halo/worker.hpp"

namespace {

struct Launched {
  Launched(int /*argc*/, char** /*argv*/) {}
  [[nodiscard]] static std::map<std::string, std::string> details() { return {}; }
  static void meet() { bench::must(ompl_barrier(), "ompl_barrier"); }
};

}  // namespace

int main(int argc, char** argv) { return bench::halo::worker_main<Launched>(argc, argv); }
