// SPDX-License-Identifier: BSD-3-Clause
// All strategies inside a program of MPI, compiled once with the wrapper of each MPI found.
#include "halo/in_mpi.hpp"
#include "worker.hpp"

int main(int argc, char** argv) {
  return bench::halo::worker_main<bench::product::Products<bench::halo::InMpi>>(argc, argv);
}
