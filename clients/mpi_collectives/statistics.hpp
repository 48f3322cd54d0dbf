// SPDX-License-Identifier: BSD-3-Clause
// How many collectives were served by the layer and how many were passed on to MPI, for OMPL_COLL_MPI_STATISTICS=1.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "mpi.hpp"

namespace ompl::mpi_collectives {

enum class Function : uint8_t {
  barrier,
  bcast,
  reduce,
  allreduce,
  gather,
  gatherv,
  scatter,
  scatterv,
  allgather,
  allgatherv,
  alltoall,
  alltoallv,
  reduce_scatter,
  reduce_scatter_block,
  scan,
  exscan,
  kCount
};

const char* name_of(Function function);

class Statistics {
 public:
  void count(Function function, bool served) {
    (served ? served_ : passed_on_)[static_cast<std::size_t>(function)].fetch_add(
        1, std::memory_order_relaxed);
  }
  // On rank 0, if it was asked for.
  void print() const;

 private:
  using Counts = std::array<std::atomic<uint64_t>, static_cast<std::size_t>(Function::kCount)>;
  Counts served_{};
  Counts passed_on_{};
};

Statistics& statistics();

}  // namespace ompl::mpi_collectives
