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
  Armci(const bench::Setup& setup, int& argc, char**& argv)
      : mpi_(argc, argv, MPI_THREAD_MULTIPLE, MPI_THREAD_MULTIPLE) {
    rank_ = mpi_.rank;
    ranks_ = mpi_.ranks;
    places_.resize(static_cast<std::size_t>(ranks_));
    const std::size_t bytes = offset(setup.threads);
    if (ARMCI_Init_args(&argc, &argv) != 0 ||
        ARMCI_Malloc(places_.data(), static_cast<armci_size_t>(bytes + bench::kPage)) != 0)
      throw std::runtime_error("ARMCI_Malloc failed");
    memory_ = of(rank_);
    std::memset(memory_, 0, bytes);
    ARMCI_Barrier();
  }
  ~Armci() override {
    ARMCI_Barrier();
    ARMCI_Free(places_[static_cast<std::size_t>(rank_)]);
    ARMCI_Finalize();
  }

  [[nodiscard]] bench::Description describe() const override {
    return {"ARMCI over " + bench::mpi_name(bench::mpi_version()),
            "chosen by the library",
            std::nullopt,
            {}};
  }
  void put(int thread, int peer, std::size_t from, std::size_t to, std::size_t bytes) override {
    ARMCI_Put(region(thread) + from, of(peer) + offset(thread) + to, static_cast<int>(bytes), peer);
  }
  void flush(int /*thread*/) override { ARMCI_AllFence(); }
  void progress() override { bench::mpi_progress(); }

 private:
  // The regions of a rank: ARMCI_Malloc promises no page.
  [[nodiscard]] std::byte* of(int rank) const {
    const auto start = reinterpret_cast<std::size_t>(places_[static_cast<std::size_t>(rank)]);
    return reinterpret_cast<std::byte*>(bench::pages(start));
  }

  bench::MpiRank mpi_;
  std::vector<void*> places_;  // by rank
};

}  // namespace

int main(int argc, char** argv) { return bench::connected_main<Armci>(argc, argv); }
