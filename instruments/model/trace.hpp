// SPDX-License-Identifier: BSD-3-Clause
// What is replayed: a stream of operations for each thread of each rank. Readers of file formats implement these two
// interfaces.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/readers/collectives.hpp"

namespace ompl::model {

// `mark` begins (bytes 1) or ends (0) the part of the program whose time is asked for; it takes none.
// `branch` begins (bytes 1) or ends (0) a branch: operations that go on in the background from its begin on, one after
// the other, whatever the rank does. They are those of rank `peer`, and number their requests for themselves. To begin
// one is a call that costs o', but nothing with `more`: then it belongs to the call before. An end with `more` says that
// nobody waits for it. Branches hold no branches.
// `hand` gives a request of this thread, or without one the moment, to another thread of its rank; it takes no time.
// That one waits for it with `handed`: its call begins when it was handed over. `number` is what both call it.
enum class OpKind : uint8_t { compute, send, isend, recv, irecv, wait, mark, branch, hand };

// The n-th nonblocking operation (isend, irecv, branch) of a thread, from 0, makes request n; each is waited for at most once.
// Waits that are one call (MPI_Waitall) follow each other, all but the last with `more`. A wait for any of several
// requests is a wait for the one that completed.
struct Op {
  static constexpr int32_t kAny = -1;
  static constexpr uint64_t kNoRequest = std::numeric_limits<uint64_t>::max();

  OpKind kind = OpKind::compute;
  bool more = false;
  bool synchronous = false;  // MPI_Ssend, MPI_Issend: rendezvous at any length
  bool buffered = false;     // MPI_Bsend, MPI_Ibsend: at none
  bool collective = false;   // a message that a collective operation is made of
  bool handed = false;       // a wait for what another thread hands over
  uint32_t site = 0;         // call site
  uint32_t communicator = 0;
  int32_t peer = 0;      // rank; kAny only if the trace does not say which message was received
  int32_t tag = 0;       // the same; else from 0 on
  uint64_t bytes = 0;    // of a receive: not used, the message's count
  uint64_t request = 0;  // of wait, unless it is `handed`, and of hand, or kNoRequest
  uint64_t number =
      0;  // of hand, and of a wait that is `handed`: at most 32 bits, different in all of its rank
  double ns = 0;  // of compute
};

inline bool is_message(const Op& op) {
  return op.kind == OpKind::send || op.kind == OpKind::isend || op.kind == OpKind::recv ||
         op.kind == OpKind::irecv;
}

// Counts requests through branches, which number theirs for themselves.
class BranchRequests {
 public:
  // How many are posted behind this begin or end of a branch.
  uint64_t after(const Op& op, uint64_t posted) {
    if (op.bytes == 0) return outside_ + 1;
    outside_ = posted;
    return 0;
  }

 private:
  uint64_t outside_ = 0;
};

class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  // The next operation of a thread; false at its end. Throws InputError for what cannot be read.
  virtual bool next(uint32_t thread, Op& op) = 0;
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
  // The first thread of each rank has its number; further ones have those behind, and these are their ranks.
  [[nodiscard]] virtual std::span<const uint32_t> further_threads() const { return {}; }
  [[nodiscard]] uint32_t threads() const {
    return ranks() + static_cast<uint32_t>(further_threads().size());
  }
  [[nodiscard]] uint32_t rank_of(uint32_t thread) const {
    return thread < ranks() ? thread : further_threads()[thread - ranks()];
  }
  // All of them, rank after rank.
  [[nodiscard]] std::vector<uint32_t> threads_by_rank() const;
  // Of the threads of its rank it is this one, from 1 on.
  [[nodiscard]] uint32_t number_in_rank(uint32_t thread) const;
  // For people: rank 1, or, where a rank has several threads, rank 1, thread 2.
  [[nodiscard]] std::string thread_name(uint32_t thread) const;
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

// A trace that is another one, which must live longer, but for its operations.
class Remade : public Trace {
 public:
  explicit Remade(const Trace& trace) : trace_(trace) {}
  [[nodiscard]] uint32_t ranks() const override { return trace_.ranks(); }
  [[nodiscard]] std::span<const uint32_t> further_threads() const override {
    return trace_.further_threads();
  }
  [[nodiscard]] uint32_t sites() const override { return trace_.sites(); }
  [[nodiscard]] std::string where(uint32_t rank, uint32_t site) const override {
    return trace_.where(rank, site);
  }

 protected:
  const Trace& trace_;
};

}  // namespace ompl::model
