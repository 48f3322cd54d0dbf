// SPDX-License-Identifier: BSD-3-Clause
#include "statistics.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace ompl::mpi_collectives {

const char* name_of(Function function) {
  static constexpr std::array<const char*, static_cast<std::size_t>(Function::kCount)> kNames{
      "MPI_Barrier",        "MPI_Bcast",
      "MPI_Reduce",         "MPI_Allreduce",
      "MPI_Gather",         "MPI_Gatherv",
      "MPI_Scatter",        "MPI_Scatterv",
      "MPI_Allgather",      "MPI_Allgatherv",
      "MPI_Alltoall",       "MPI_Alltoallv",
      "MPI_Reduce_scatter", "MPI_Reduce_scatter_block",
      "MPI_Scan",           "MPI_Exscan"};
  return kNames[static_cast<std::size_t>(function)];
}

Statistics& statistics() {
  static Statistics one;
  return one;
}

void Statistics::print() const {
  const char* const asked = std::getenv("OMPL_COLL_MPI_STATISTICS");
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (asked == nullptr || std::strcmp(asked, "1") != 0 || rank != 0) return;
  std::fprintf(
      stderr,
      "libompl-coll: rank 0, calls with their nonblocking forms: function, served, passed on\n");
  for (std::size_t i = 0; i < served_.size(); ++i) {
    if (served_[i] + passed_on_[i] == 0) continue;
    std::fprintf(stderr, "libompl-coll: %s %" PRIu64 " %" PRIu64 "\n",
                 name_of(static_cast<Function>(i)), served_[i].load(), passed_on_[i].load());
  }
}

}  // namespace ompl::mpi_collectives
