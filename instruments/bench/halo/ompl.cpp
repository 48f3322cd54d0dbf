// SPDX-License-Identifier: BSD-3-Clause
// The strategies that need no MPI.
#include "launched.hpp"
#include "worker.hpp"

int main(int argc, char** argv) {
  return bench::halo::worker_main<bench::halo::Exchanges<bench::halo::Launched>>(argc, argv);
}
