// SPDX-License-Identifier: BSD-3-Clause
// Adapter of MPI, compiled once with the wrapper of each MPI found.
// Put + flag is MPI_Put and MPI_Win_flush of the data, then of a sequence number in the same window,
// which the target reads in its own memory. Every thread has a window and a communicator of its own:
// what the implementations recommend to threads that shall not disturb each other. Send/receive uses
// tag 2i there and 2i+1 back, as in the papers.
#include <mpi.h>
#include <sched.h>

#include <cstring>
#include <vector>

#include "harness/worker.hpp"
#include "mpi_about.hpp"

namespace {

using bench::kPage;

constexpr int kLooksPerProgress = 1000;  // looks at a flag between two calls that drive progress

class Mpi {
 public:
  Mpi(const bench::Setup& setup, int argc, char** argv)
      : buffer_(bench::pages(setup.bytes)),
        channels_(static_cast<std::size_t>(setup.threads)),
        crowded_(bench::crowded(setup.threads)),
        mpi_(argc, argv, MPI_THREAD_MULTIPLE, MPI_THREAD_MULTIPLE, true),
        rank_(mpi_.rank) {
    for (std::size_t i = 0; i < channels_.size(); ++i) channels_[i].open(i, 2 * buffer_ + kPage);
  }

  ~Mpi() {
    for (Channel& channel : channels_) channel.close();
  }

  [[nodiscard]] int rank() const { return rank_; }

  [[nodiscard]] bench::Description describe() const {
    const std::string all = bench::mpi_version();
    return {bench::mpi_name(all),
            "chosen by the library",
            std::nullopt,
            {{"thread level asked", bench::mpi_level(MPI_THREAD_MULTIPLE)},
             {"thread level granted", bench::mpi_level(mpi_.granted)},
             {"library", all.substr(0, 400)}}};
  }

  [[nodiscard]] std::byte* source(int i) const { return at(i).memory + buffer_; }
  [[nodiscard]] std::byte* target(int i) const { return at(i).memory; }

  void put(int i, std::size_t offset, std::size_t bytes) {
    transfer(i, source(i) + offset, offset, bytes);
  }
  void signal(int i) {
    flush(i);
    ++at(i).sent;
    transfer(i, &at(i).sent, 2 * buffer_, sizeof at(i).sent);
    flush(i);
  }
  void wait(int i) {
    Channel& channel = at(i);
    const uint32_t wanted = ++channel.taken;
    for (int looks = 1; static_cast<int32_t>(flag(channel) - wanted) < 0; ++looks) {
      if (looks % kLooksPerProgress == 0) bench::mpi_progress(channel.comm);
      if (crowded_) sched_yield();
      MPI_Win_sync(channel.window);
    }
    MPI_Win_sync(channel.window);
  }
  void flush(int i) { MPI_Win_flush(1 - rank_, at(i).window); }
  void look(int i) { MPI_Win_sync(at(i).window); }

  void attend() {
    for (const Channel& channel : channels_) bench::mpi_progress(channel.comm);
  }

  void send(int i, std::size_t bytes) {
    MPI_Send(source(i), static_cast<int>(bytes), MPI_BYTE, 1 - rank_, 2 * i + rank_, at(i).comm);
  }
  void receive(int i, std::size_t bytes) {
    MPI_Recv(target(i), static_cast<int>(bytes), MPI_BYTE, 1 - rank_, 2 * i + 1 - rank_, at(i).comm,
             MPI_STATUS_IGNORE);
  }

 private:
  // One per thread; the window holds the target buffer, the source buffer and the flag.
  struct alignas(128) Channel : bench::MpiWindow {
    uint32_t sent = 0;
    uint32_t taken = 0;
  };

  [[nodiscard]] uint32_t flag(const Channel& channel) const {
    return __atomic_load_n(reinterpret_cast<const uint32_t*>(channel.memory + 2 * buffer_),
                           __ATOMIC_ACQUIRE);
  }

  void transfer(int i, const void* from, std::size_t to, std::size_t bytes) {
    const int count = static_cast<int>(bytes);
    MPI_Put(from, count, MPI_BYTE, 1 - rank_, static_cast<MPI_Aint>(to), count, MPI_BYTE, at(i).window);
  }

  Channel& at(int i) { return channels_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const Channel& at(int i) const { return channels_[static_cast<std::size_t>(i)]; }

  std::size_t buffer_;
  std::vector<Channel> channels_;
  bool crowded_;  // more threads of both ranks than cores: a waiting thread yields
  bench::MpiRank mpi_;
  int rank_;
};

}  // namespace

int main(int argc, char** argv) { return bench::worker_main<Mpi>(argc, argv); }
