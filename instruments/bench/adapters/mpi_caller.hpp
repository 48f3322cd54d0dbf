// SPDX-License-Identifier: BSD-3-Clause
// MPI as one communication thread calls it for the others: one window, one communicator. Every function is called by that
// thread.
#pragma once

#include <mpi.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "harness/requests.hpp"
#include "harness/window.hpp"
#include "mpi_about.hpp"

namespace bench {

class MpiCaller {
 public:
  MpiCaller(Window& window, std::size_t channels)
      : window_(window), transfers_(channels, MPI_REQUEST_NULL) {}

  // Throws std::runtime_error.
  void open(int argc, char** argv) {
    granted = start_mpi(&argc, &argv, MPI_THREAD_FUNNELED);
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2) throw std::runtime_error("needs two ranks");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    version = mpi_name(mpi_version());
    void* memory = nullptr;
    const auto bytes = static_cast<MPI_Aint>(window_.size());
    MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &mpi_window_);
    window_.place(memory);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, mpi_window_);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  void close() {
    MPI_Win_unlock_all(mpi_window_);
    MPI_Win_free(&mpi_window_);
    MPI_Finalize();
  }

  void progress() {
    mpi_progress();
    MPI_Win_sync(mpi_window_);
  }

  // Begins or continues a request of thread i; whether it is done.
  bool carry_out(int i, const Request& request) {
    const int count = static_cast<int>(request.bytes);
    MPI_Request& transfer = transfers_[static_cast<std::size_t>(i)];
    const bool begun = transfer != MPI_REQUEST_NULL;
    switch (request.what) {
      case Request::What::put:
        put(window_.source(i) + request.offset, window_.target_offset(i) + request.offset,
            request.bytes);
        return true;
      case Request::What::signal:
        MPI_Win_flush(1 - rank, mpi_window_);
        window_.next(i);
        put(window_.at(window_.word_offset(i)), window_.flag_offset(i), sizeof(uint32_t));
        [[fallthrough]];
      case Request::What::flush:
        MPI_Win_flush(1 - rank, mpi_window_);
        MPI_Win_sync(mpi_window_);
        return true;
      case Request::What::send:
        if (!begun)
          MPI_Isend(window_.source(i), count, MPI_BYTE, 1 - rank, 2 * i + rank, MPI_COMM_WORLD,
                    &transfer);
        break;
      case Request::What::receive:
        if (!begun)
          MPI_Irecv(window_.target(i), count, MPI_BYTE, 1 - rank, 2 * i + 1 - rank, MPI_COMM_WORLD,
                    &transfer);
        break;
    }
    int done = 0;
    MPI_Test(&transfer, &done, MPI_STATUS_IGNORE);
    return done != 0;
  }

  int rank = 0;
  int granted = 0;
  std::string version;

 private:
  void put(const void* from, std::size_t to, std::size_t bytes) const {
    const int count = static_cast<int>(bytes);
    MPI_Put(from, count, MPI_BYTE, 1 - rank, static_cast<MPI_Aint>(to), count, MPI_BYTE, mpi_window_);
  }

  Window& window_;
  std::vector<MPI_Request> transfers_;  // sends and receives under way
  MPI_Win mpi_window_ = MPI_WIN_NULL;
};

}  // namespace bench
