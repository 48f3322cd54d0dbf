// SPDX-License-Identifier: BSD-3-Clause
// What a program of OMPL has beside it: nothing, or with OMPL_BENCH_MPI an MPI, which must be there before ompl_init and
// until after ompl_finalize.
#pragma once

#include <map>
#include <string>

#ifdef OMPL_BENCH_MPI
#include <mpi.h>

#include <exception>

#include "mpi_about.hpp"

namespace bench {

class Beside {
 public:
  static constexpr const char* kBetween = "MPI RMA";

  Beside() : granted_(start_mpi(nullptr, nullptr, MPI_THREAD_MULTIPLE)) {}
  // Where the layer did not start, the other rank may wait elsewhere: what went wrong is then said first.
  ~Beside() {
    if (std::uncaught_exceptions() == 0) MPI_Finalize();
  }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

  [[nodiscard]] std::map<std::string, std::string> details() const {
    return {{"thread level asked", mpi_level(MPI_THREAD_MULTIPLE)},
            {"thread level granted", mpi_level(granted_)},
            {"library", mpi_name(mpi_version())}};
  }

 private:
  int granted_;
};

}  // namespace bench
#else

namespace bench {

struct Beside {
  static constexpr const char* kBetween = "network";
  [[nodiscard]] std::map<std::string, std::string> details() const { return {}; }
};

}  // namespace bench
#endif
