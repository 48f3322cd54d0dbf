// SPDX-License-Identifier: BSD-3-Clause
// The messages that come for one endpoint. They are taken in until all ranks have parted: MPI complains of what nobody
// receives.
#pragma once

#include <array>
#include <cstddef>

#include "conduit/mpi/library.hpp"
#include "conduit/mpi/wire.hpp"

namespace ompl::conduit::mpi {

// Used by one thread at a time. Results are MPI's error codes.
template <class Handle>
class Inbox {
 public:
  int open(const Library<Handle>& mpi, Handle comm, uint32_t slot) {
    mpi_ = &mpi;
    comm_ = comm;
    tag_ = static_cast<int>(slot);
    int code = 0;
    for (std::size_t place = 0; place < kCount && code == 0; ++place) code = receive(place);
    return code;
  }
  // The next message in *out, or null if there is none; valid until taken().
  int look(const Buffer** out) {
    int there = 0;
    const int code = mpi_->test(&requests_[next_], &there, mpi_->constants.status_ignore);
    *out = code == 0 && there != 0 ? &buffers_[next_] : nullptr;
    return code;
  }
  int taken() {
    const std::size_t place = next_;
    next_ = (next_ + 1) % kCount;
    return receive(place);
  }
  // Drops what comes.
  void drop() {
    const Buffer* message = nullptr;
    while (look(&message) == 0 && message != nullptr && taken() == 0) {
    }
  }
  // No more; before the end of this object.
  void close() {
    for (Handle& request : requests_) {
      mpi_->cancel(&request);
      for (int done = 0; done == 0;) {
        if (mpi_->test(&request, &done, mpi_->constants.status_ignore) != 0) break;
      }
    }
  }

 private:
  static constexpr std::size_t kCount = 32;

  int receive(std::size_t place) {
    return mpi_->irecv(&buffers_[place], sizeof(Buffer), mpi_->constants.byte,
                       mpi_->constants.any_source, tag_, comm_, &requests_[place]);
  }

  const Library<Handle>* mpi_ = nullptr;
  Handle comm_{};
  int tag_ = 0;
  std::size_t next_ = 0;  // MPI fills them in this order
  std::array<Handle, kCount> requests_{};
  std::array<Buffer, kCount> buffers_;
};

}  // namespace ompl::conduit::mpi
