// SPDX-License-Identifier: BSD-3-Clause
// What a peer costs with MPI: all that MPI_Put to it needs, in a window for each thread on a communicator of its own.
// See harness/connected.hpp.
#include <mpi.h>

#include <cstring>
#include <stdexcept>
#include <vector>

#include "adapters/mpi_about.hpp"
#include "harness/connected.hpp"

namespace {

class Mpi : public bench::Connected {
 public:
  Mpi(const bench::Setup& setup, int& argc, char**& argv)
      : channels_(static_cast<std::size_t>(setup.threads)) {
    const int granted = bench::start_mpi(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (granted < MPI_THREAD_MULTIPLE) throw std::runtime_error("got " + bench::mpi_level(granted));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    for (std::size_t i = 0; i < channels_.size(); ++i) {
      Channel& channel = channels_[i];
      channel.comm = bench::communicator_of(i);
      MPI_Win_allocate(kRegion, 1, MPI_INFO_NULL, channel.comm, &channel.memory, &channel.window);
      std::memset(channel.memory, 0, kRegion);
      MPI_Win_lock_all(MPI_MODE_NOCHECK, channel.window);
      MPI_Barrier(channel.comm);
    }
  }
  ~Mpi() override {
    for (Channel& channel : channels_) {
      MPI_Win_unlock_all(channel.window);
      MPI_Win_free(&channel.window);
      MPI_Comm_free(&channel.comm);
    }
    MPI_Finalize();
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return ranks_; }
  [[nodiscard]] bench::Description describe() const override {
    return {bench::mpi_name(bench::mpi_version()), "chosen by the library", std::nullopt, {}};
  }
  [[nodiscard]] std::byte* region(int thread) const override {
    return static_cast<std::byte*>(channels_[static_cast<std::size_t>(thread)].memory);
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
    for (const Channel& channel : channels_) {
      int found = 0;
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, channel.comm, &found, MPI_STATUS_IGNORE);
      MPI_Win_sync(channel.window);
    }
  }

 private:
  struct Channel {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Win window = MPI_WIN_NULL;
    void* memory = nullptr;
  };

  std::vector<Channel> channels_;
  int rank_ = 0;
  int ranks_ = 0;
};

}  // namespace

int main(int argc, char** argv) { return bench::connected_main<Mpi>(argc, argv); }
