// SPDX-License-Identifier: BSD-3-Clause
// What a peer costs with ARMCI: all that ARMCI_Put to it needs. See harness/connected.hpp.
#include <mpi.h>
extern "C" {
#include <armci.h>  // of C only
}

#include <cstring>
#include <stdexcept>
#include <vector>

#include "adapters/mpi_about.hpp"
#include "harness/connected.hpp"

namespace {

class Armci : public bench::Connected {
 public:
  Armci(const bench::Setup& setup, int& argc, char**& argv) {
    const int granted = bench::start_mpi(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (granted < MPI_THREAD_MULTIPLE) throw std::runtime_error("got " + bench::mpi_level(granted));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    memory_.resize(static_cast<std::size_t>(ranks_));
    const std::size_t bytes = offset(setup.threads);
    if (ARMCI_Init_args(&argc, &argv) != 0 ||
        ARMCI_Malloc(memory_.data(), static_cast<armci_size_t>(bytes + bench::kPage)) != 0)
      throw std::runtime_error("ARMCI_Malloc failed");
    std::memset(of(rank_), 0, bytes);
    ARMCI_Barrier();
  }
  ~Armci() override {
    ARMCI_Barrier();
    ARMCI_Free(memory_[static_cast<std::size_t>(rank_)]);
    ARMCI_Finalize();
    MPI_Finalize();
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return ranks_; }
  [[nodiscard]] bench::Description describe() const override {
    return {"ARMCI over " + bench::mpi_name(bench::mpi_version()),
            "chosen by the library",
            std::nullopt,
            {}};
  }
  [[nodiscard]] std::byte* region(int thread) const override { return of(rank_) + offset(thread); }
  void put(int thread, int peer, std::size_t from, std::size_t to, std::size_t bytes) override {
    ARMCI_Put(region(thread) + from, of(peer) + offset(thread) + to, static_cast<int>(bytes), peer);
  }
  void flush(int /*thread*/) override { ARMCI_AllFence(); }
  void progress() override {
    int found = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
  }

 private:
  // The regions of a rank: ARMCI_Malloc promises no page.
  [[nodiscard]] std::byte* of(int rank) const {
    const auto start = reinterpret_cast<std::size_t>(memory_[static_cast<std::size_t>(rank)]);
    return reinterpret_cast<std::byte*>(bench::pages(start));
  }

  std::vector<void*> memory_;
  int rank_ = 0;
  int ranks_ = 0;
};

}  // namespace

int main(int argc, char** argv) { return bench::connected_main<Armci>(argc, argv); }
