// SPDX-License-Identifier: BSD-3-Clause
// The suite between processes: ranks of an MPI that is not linked, but has been loaded and initialised before main()
// (src/conduit/mpi/tests/mpi_start.c). Each process runs the same tests, as one rank.
#include "conformance/conformance.hpp"
#include "bootstrap/mpi.hpp"
#include "conduit/registry.hpp"

namespace ompl::conformance {
namespace {

class MpiFabric final : public Fabric {
 public:
  std::vector<std::unique_ptr<conduit::Conduit>> conduits(uint32_t /*rank*/) override {
    std::vector<std::unique_ptr<conduit::Conduit>> list;
    list.push_back(conduit::self::make());
    list.push_back(conduit::mpi::make());
    return list;
  }
  std::unique_ptr<bootstrap::Bootstrap> join() override {
    std::unique_ptr<bootstrap::Bootstrap> out;
    EXPECT_EQ(bootstrap::open_mpi(&out), OMPL_OK) << error_detail();
    return out;
  }
};

// A test for more ranks than the job has runs with those; one for fewer is skipped.
uint32_t job_size() {
  std::unique_ptr<bootstrap::Bootstrap> job;
  const bool running = arch::mpi_phase() == arch::MpiPhase::running;
  return running && bootstrap::open_mpi(&job) == OMPL_OK ? job->size() : 0;
}

Case between_processes() {
  const uint32_t size = job_size();
  return {.name = "mpi",
          .fabric = [](uint32_t /*ranks*/) { return std::make_unique<MpiFabric>(); },
          .most_ranks = size,
          .why_not = [size] { return size < 2 ? "there is no job of MPI ranks" : ""; },
          .least_ranks = size};
}

INSTANTIATE_TEST_SUITE_P(mpi, Conformance, ::testing::Values(between_processes()), name_of);

}  // namespace
}  // namespace ompl::conformance
