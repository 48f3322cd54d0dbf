// SPDX-License-Identifier: BSD-3-Clause
// The nonblocking collectives of MPI, compiled once with the wrapper of each MPI found. One thread calls MPI, and says so:
// an MPI that progresses by a thread of its own raises the level itself.
#include <mpi.h>

#include "adapters/mpi_about.hpp"
#include "worker.hpp"

namespace {

using bench::overlap::Collective;

class Mpi {
 public:
  Mpi(int argc, char** argv) : mpi_(argc, argv, MPI_THREAD_FUNNELED) {}

  [[nodiscard]] int rank() const { return mpi_.rank; }
  [[nodiscard]] int ranks() const { return mpi_.ranks; }
  [[nodiscard]] static bench::Description describe() {
    const std::string all = bench::mpi_version();
    int level = 0;
    MPI_Query_thread(&level);
    const char* const name = level == MPI_THREAD_MULTIPLE ? "multiple" : "funneled or serialized";
    return {bench::mpi_name(all),
            "chosen by the library",
            std::nullopt,
            {{"library", all.substr(0, 400)}, {"thread level", name}}};
  }

  void create(const bench::overlap::Shape& shape) {
    shape_ = shape;
    outgoing_.assign(shape.outgoing(), std::byte{});
    incoming_.assign(shape.incoming(), std::byte{});
    doubles_ = bench::overlap::reduces_doubles(shape.bytes);
    count_ = static_cast<int>(shape.bytes);
    terms_ = doubles_ ? count_ / static_cast<int>(sizeof(double)) : count_;
  }
  [[nodiscard]] std::byte* outgoing() { return outgoing_.data(); }
  [[nodiscard]] std::byte* incoming() { return incoming_.data(); }

  void start() {
    const auto type = doubles_ ? MPI_DOUBLE : MPI_UNSIGNED_CHAR;
    std::byte* const out = outgoing_.data();
    std::byte* const in = incoming_.data();
    switch (shape_.collective) {
      case Collective::allgather:
        MPI_Iallgather(out, count_, MPI_BYTE, in, count_, MPI_BYTE, MPI_COMM_WORLD, &request_);
        return;
      case Collective::allreduce:
        MPI_Iallreduce(out, in, terms_, type, MPI_SUM, MPI_COMM_WORLD, &request_);
        return;
      case Collective::broadcast:
        MPI_Ibcast(in, count_, MPI_BYTE, bench::overlap::kRoot, MPI_COMM_WORLD, &request_);
        return;
      case Collective::alltoall:
        MPI_Ialltoall(out, count_, MPI_BYTE, in, count_, MPI_BYTE, MPI_COMM_WORLD, &request_);
        return;
      case Collective::reduce_scatter:
        MPI_Ireduce_scatter_block(out, in, terms_, type, MPI_SUM, MPI_COMM_WORLD, &request_);
    }
  }
  void wait() { MPI_Wait(&request_, MPI_STATUS_IGNORE); }
  static void barrier() { MPI_Barrier(MPI_COMM_WORLD); }

 private:
  bench::MpiRank mpi_;
  bench::overlap::Shape shape_;
  std::vector<std::byte> outgoing_, incoming_;
  bool doubles_ = false;
  int count_ = 0;  // bytes
  int terms_ = 0;  // of a reduction
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace

int main(int argc, char** argv) { return bench::overlap::worker_main<Mpi>(argc, argv); }
