// SPDX-License-Identifier: BSD-3-Clause
// What a peer costs with MPI: all that MPI_Put to it needs, in a window for each thread on a communicator of its own.
// See harness/connected.hpp.
#include <mpi.h>

#include <vector>

#include "adapters/mpi_about.hpp"
#include "harness/connected.hpp"

namespace {

class Mpi : public bench::Connected {
 public:
  Mpi(const bench::Setup& setup, int& argc, char**& argv)
      : mpi_(argc, argv, MPI_THREAD_MULTIPLE, MPI_THREAD_MULTIPLE),
        channels_(static_cast<std::size_t>(setup.threads)) {
    rank_ = mpi_.rank;
    ranks_ = mpi_.ranks;
    for (std::size_t i = 0; i < channels_.size(); ++i) channels_[i].open(i, kRegion);
  }
  ~Mpi() override {
    for (bench::MpiWindow& channel : channels_) channel.close();
  }

  [[nodiscard]] bench::Description describe() const override {
    return {bench::mpi_name(bench::mpi_version()), "chosen by the library", std::nullopt, {}};
  }
  [[nodiscard]] std::byte* region(int thread) const override {
    return channels_[static_cast<std::size_t>(thread)].memory;
  }
  void put(int thread, int peer, std::size_t from, std::size_t to, std::size_t bytes) override {
    const int count = static_cast<int>(bytes);
    MPI_Put(region(thread) + from, count, MPI_BYTE, peer, static_cast<MPI_Aint>(to), count, MPI_BYTE,
            channels_[static_cast<std::size_t>(thread)].window);
  }
  void flush(int thread) override {
    MPI_Win_flush_all(channels_[static_cast<std::size_t>(thread)].window);
  }
  void progress() override {
    for (const bench::MpiWindow& channel : channels_) {
      bench::mpi_progress(channel.comm);
      MPI_Win_sync(channel.window);
    }
  }

 private:
  bench::MpiRank mpi_;
  std::vector<bench::MpiWindow> channels_;
};

}  // namespace

int main(int argc, char** argv) { return bench::connected_main<Mpi>(argc, argv); }
