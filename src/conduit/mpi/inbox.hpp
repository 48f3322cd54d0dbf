// SPDX-License-Identifier: BSD-3-Clause
// The messages that come for one endpoint. They are taken in until all ranks have parted: MPI complains of what nobody
// receives. Each is found first and received then, as a receive from any source that is posted after its message has
// come is never completed by MPICH 5.0.2 over UCX.
#pragma once

#include "arch/libraries/mpi_library.hpp"
#include "conduit/mpi/wire.hpp"

namespace ompl::conduit::mpi {

// Used by one thread at a time. Results are MPI's error codes.
template <class Handle>
class MessageInbox {
 public:
  void open(const arch::MpiLibrary<Handle>& mpi, Handle comm, uint32_t slot) {
    mpi_ = &mpi;
    comm_ = comm;
    tag_ = static_cast<int>(slot);
  }
  // The next message in *out, or null if there is none; valid until the next call.
  int look(const MessageBuffer** out) {
    *out = nullptr;
    int there = 0;
    if (!receiving_) {
      Handle found{};
      int code = mpi_->improbe(mpi_->constants.any_source, tag_, comm_, &there, &found,
                               mpi_->constants.status_ignore);
      if (code == 0 && there != 0)
        code = mpi_->imrecv(&buffer_, sizeof buffer_, mpi_->constants.byte, &found, &request_);
      if (code != 0 || there == 0) return code;
      receiving_ = true;
    }
    const int code = mpi_->test(&request_, &there, mpi_->constants.status_ignore);
    if (code != 0 || there == 0) return code;
    receiving_ = false;
    ++received_;
    *out = &buffer_;
    return code;
  }
  // Drops what has come.
  void drop() {
    const MessageBuffer* message = nullptr;
    while (look(&message) == 0 && message != nullptr) {
    }
  }
  // Messages so far.
  [[nodiscard]] uint64_t received() const { return received_; }

 private:
  const arch::MpiLibrary<Handle>* mpi_ = nullptr;
  Handle comm_{};
  int tag_ = 0;
  bool receiving_ = false;
  uint64_t received_ = 0;
  Handle request_{};
  MessageBuffer buffer_;
};

}  // namespace ompl::conduit::mpi
