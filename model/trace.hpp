// SPDX-License-Identifier: BSD-3-Clause
// What is replayed: a stream of operations for each rank. Readers of file formats implement these two interfaces.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "model/collectives.hpp"

namespace ompl::model {

// `mark` begins (bytes 1) or ends (0) the part of the program whose time is asked for; it takes none.
enum class OpKind : uint8_t { compute, send, isend, recv, irecv, wait, mark };

// The n-th nonblocking operation (isend, irecv) of a rank, from 0, makes request n; each is waited for at most once.
// Waits that are one call (MPI_Waitall) follow each other, all but the last with `more`. A wait for any of several
// requests is a wait for the one that completed.
struct Op {
  static constexpr int32_t kAny = -1;

  OpKind kind = OpKind::compute;
  bool more = false;
  bool synchronous = false;  // MPI_Ssend, MPI_Issend: rendezvous at any length
  bool buffered = false;     // MPI_Bsend, MPI_Ibsend: at none
  bool collective = false;   // a message that a collective operation is made of
  uint32_t site = 0;         // call site
  uint32_t communicator = 0;
  int32_t peer = 0;      // rank; kAny only if the trace does not say which message was received
  int32_t tag = 0;       // the same; else from 0 on
  uint64_t bytes = 0;    // of a receive: not used, the message's count
  uint64_t request = 0;  // of wait
  double ns = 0;         // of compute
};

class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  // The next operation of a rank; false at its end. Throws InputError for what cannot be read.
  virtual bool next(uint32_t rank, Op& op) = 0;
  // The calls read so far that were taken for computation, by name.
  [[nodiscard]] virtual std::map<std::string, uint64_t> not_modelled() const { return {}; }
  // The collective operations read so far, counted at each rank, by name.
  [[nodiscard]] virtual std::map<std::string, uint64_t> collectives() const { return {}; }
};

// Where a call returns to: a place in a program or library.
struct Address {
  std::string module;  // its file
  uint64_t offset;
};

class Trace {
 public:
  Trace() = default;
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  virtual ~Trace() = default;

  [[nodiscard]] virtual uint32_t ranks() const = 0;
  // A reading from the start; several may be open at once, each used by one thread.
  [[nodiscard]] virtual std::unique_ptr<Stream> open() const = 0;
  // The same, with collectives by these algorithms.
  [[nodiscard]] virtual std::unique_ptr<Stream> open_with(const Algorithms& /*algorithms*/) const {
    return open();
  }
  // Sites are numbered below this; 0: the trace knows no call sites, and `site` is only for where().
  [[nodiscard]] virtual uint32_t sites() const { return 0; }
  // The place of an operation, for people.
  [[nodiscard]] virtual std::string where(uint32_t rank, uint32_t site) const = 0;
  // The same for programs that know the module; null if the trace does not say.
  [[nodiscard]] virtual const Address* address(uint32_t /*site*/) const { return nullptr; }
};

}  // namespace ompl::model
