// SPDX-License-Identifier: BSD-3-Clause
//
// The conduit contract. A conduit carries puts, gets and signals between this rank and others over one
// mechanism. It is one folder src/conduit/<name>/ with the files conduit.cpp (Conduit), endpoint.cpp
// (Endpoint, if it has any) and README.md, and one line each in registry.hpp and registry.cpp. core/ knows only this file.
//
// Two kinds exist.
//  * A direct conduit (self, shm) maps the peer's segment: connect() returns its base address and the
//    core loads, stores and applies signals itself. It has no endpoints.
//  * A network conduit (verbs, tcp, ofi, ucx, mpi, utofu, psm2; mock) has a pool of endpoints. The core claims
//    an endpoint, calls it, and releases it; an endpoint is never called by two threads at once, but for
//    the two functions marked "any thread". An endpoint therefore needs no lock of its own.
//
// Vocabulary: rank, endpoint, slot (an endpoint's place in the pool), ticket, record (a signal on the
// wire). The rules in brackets are those of docs/reference/protocol.md.
//
// Errors: int results are OMPL_OK or a negative OMPL_ERR_*, recorded by fail() where first seen. Outputs
// are set on success only. No function blocks unless its comment says so; none calls user code.
//
// Want of memory, and libraries that refuse (docs/explanation/failures.md): a post may throw std::bad_alloc while nothing was
// posted and all is as it was. progress(), arm() and what a library calls back throw nothing: what there is no memory for is
// done later, or ends the link that it is about, which needs no memory and is told to the other side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "omnipgas/ompl.h"

namespace ompl {
struct Settings;
}

namespace ompl::conduit {

// What a conduit may know of the job. Outlives it.
struct Job {
  uint32_t rank = 0;
  uint32_t size = 1;
  std::string host;    // identity of this node: equal on ranks that may share memory
  std::string secret;  // of the job; listeners demand it
  const Settings* settings = nullptr;
  std::byte* segment = nullptr;  // this rank's segment: reserved address space, offset 0 first
  std::size_t capacity = 0;      // bytes reserved, the same on every rank
  int segment_fd = -1;           // its memfd,
  uint64_t segment_offset = 0;   // where it begins in that file, and how long the file is: it may hold
  uint64_t file_length = 0;      // those of other ranks too, which then are mapped beside it
  uint32_t file_first = 0;       // whose the first one is (arch/memory/mapping.hpp)
  uint64_t nonce = 0;            // stands in the segment's header at kNonceOffset
  int wake_fd = -1;              // write end of this rank's wake-up pipe, for ranks that share memory
  int wake_read_fd = -1;         // its read end
  uint32_t slots = 1;            // endpoints in the pool of this rank
};

// Where a rank's nonce (uint64_t) stands in its segment: whoever maps it reads it back as a proof.
inline constexpr uint64_t kNonceOffset = 256;

// What a signal record is. An update is executed on the word at `offset` by a CPU of the target's node; the
// rest are the core's own and only pass through. Up to ack_request they take a credit.
enum class SignalOp : uint8_t { update32, update64, ack_request, ack, credit, reply, news };

// What an update does to its word; the numbers are those of OMPL_ATOMIC_*. Minimum and maximum of words without sign, with
// sign, and of float or double by the width of the word.
enum class Function : uint8_t {
  fetch,
  set,
  add,
  bit_and,
  bit_or,
  bit_xor,
  compare_swap,
  unsigned_min,
  unsigned_max,
  signed_min,
  signed_max,
  float_add,
  float_min,
  float_max,
};
inline constexpr Function kLastFunction = Function::float_max;

struct Signal {
  uint64_t offset = 0;  // of the word, in the target's segment; else as the operation means it
  uint64_t value = 1;
  uint64_t compare = 0;  // of compare_swap
  uint64_t token = 0;    // what a reply with the word's old value is to carry; 0: no reply is wanted
  SignalOp op = SignalOp::update32;
  Function function = Function::add;
};

// Properties are asked for, never found out by failing. Constant after open().
struct Capabilities {
  // connect() returns a base address; endpoints are never opened.
  bool direct = false;
  // It serves ranks of a node that are processes, by the files that their segments stand in.
  bool maps_files = false;
  // A data put completes while its target stays outside the layer [2].
  bool passive_target = false;
  // A signal() becomes visible after every earlier put on this endpoint to the same rank. If not, the
  // core waits for the puts' completion first, and remote_completion must hold.
  bool ordered_signals = false;
  // Of two puts on this endpoint to the same rank the earlier one becomes visible first [27].
  bool ordered_puts = false;
  // completed() speaks of data visible in the target's memory. If not, it speaks of the source's reuse
  // only, and the core asks the target (ack_request), for which ordered_signals must hold.
  bool remote_completion = false;
  // The hardware stalls a sender whose records find no room; the core then keeps no credits [4].
  bool stalls_sender = false;
  // Not 0: put_signal() of so many bytes is one request. The core then keeps a put of up to so many until its context's
  // next call, so that the signal that mostly follows joins it. ordered_signals must hold.
  std::size_t max_fused_put = 0;
  // The conduit has put_with_immediate(). Puts of up to max_fused_put bytes are `done` when posted, and remote_completion
  // and stalls_sender hold.
  bool immediate_puts = false;
  // Longest put or get of one post, bytes; the core splits longer ones.
  std::size_t max_message = SIZE_MAX;
  // Not 0: long puts go in segments of so many bytes, a few under way on each connection, over up to `stripes`
  // endpoints at once (core/network/multirail_put.cpp). remote_completion must hold.
  std::size_t segment = 0;
  uint32_t stripes = 1;
  // Most endpoints one rank can open.
  uint32_t max_endpoints = UINT32_MAX;
  // Areas of local memory begin at multiples of capacity / local_pieces, rounded up to whole pages: see commit_local().
  uint32_t local_pieces = UINT32_MAX;
};

// The result of a post. There is no blocking form: the core progresses and posts again after a retry.
struct Post {
  enum class State : uint8_t {
    done,     // the local buffer may be reused (put) or holds the data (get)
    pending,  // so it will be once completed(rank) >= ticket
    retry,    // nothing was posted; `reason` says why; progress and try again
    failed,   // nothing was posted; `code` is OMPL_ERR_PEER or OMPL_ERR_LINK
  };
  // In the order of OMPL_RETRY_*; busy is the core's own: no endpoint could be claimed.
  enum class Reason : uint8_t { none, queue_full, no_memory, connecting, busy };

  State state = State::done;
  Reason reason = Reason::none;
  int code = 0;
  // Number of the operation among those of this endpoint to this rank; 0 if the conduit will never report
  // a completion for it (possible only without remote_completion, and only for `done`).
  uint64_t ticket = 0;
};

// Receives what progress() finds. Implemented by the core; never blocks, never posts.
class Sink {
 public:
  // A record of `source` arrived on the endpoint being progressed. Everything that `source` put before it
  // through the context that sent it is visible when this is called, if ordered_signals holds. An update
  // without a token may be called this rank's own where stalls_sender holds: nobody counts it. Throws nothing: what there is
  // no memory for is kept.
  virtual void signal(uint32_t source, const Signal& record) = 0;

 protected:
  ~Sink() = default;
};

// One communication endpoint. All functions are called under the core's claim on its slot, except where
// marked. The endpoint of slot i of one rank talks to slot i mod n of a peer with n slots [12].
class Endpoint {
 public:
  virtual ~Endpoint() = default;  // drops what is outstanding; the core has completed it before

  // Posts a copy of `length` bytes (1 .. max_message) from `source` to `offset` of `rank`'s segment.
  // `source` may be any memory of the process and is in use until the post is done. The range was checked.
  virtual Post put(uint32_t rank, const void* source, uint64_t offset, std::size_t length) = 0;

  // Posts a copy of `length` bytes (1 .. max_message) from `offset` of `rank`'s segment to `target`.
  // Gets are ordered with nothing; completed() speaks of their arrival.
  virtual Post get(uint32_t rank, void* target, uint64_t offset, std::size_t length) = 0;

  // Posts a record. It is copied: the result is never pending. Records are not ordered among themselves,
  // but an ack_request is delivered after every earlier record of this endpoint to that rank. Ordering
  // with puts: see ordered_signals.
  virtual Post signal(uint32_t rank, const Signal& record) = 0;

  // put() and signal() of which the record is visible after the data, as one request if the fabric has
  // one. Reference: put(), then signal(); after a retry of the second the core continues with signal().
  // *signalled tells whether the record was posted too.
  virtual Post put_signal(uint32_t rank, const void* source, uint64_t offset, std::size_t length,
                          const Signal& record, bool* signalled);

  // put() of 0 .. max_fused_put bytes and the signal ADD 1 on the 32-bit flag at `flag`, below 16 GiB [6], as one request:
  // what put_signal() does of it, the quickest way. Conduits with immediate_puts only. Pending: the data went out, and wait
  // for nothing but the ticket's completion; the signal did not.
  virtual Post put_with_immediate(uint32_t rank, const void* source, uint64_t offset,
                                  std::size_t length, uint64_t flag);

  // Takes in at most `budget` completions and records, gives records to `sink`, advances connections and
  // what the far side asks of this one. Returns how many it took (0: idle), or OMPL_ERR_LINK if the
  // endpoint as a whole is broken. A broken connection to one rank is not an error here: see failure().
  virtual int progress(Sink& sink, int budget) = 0;

  // All operations to `rank` with a ticket up to the returned one are complete (see remote_completion).
  // Any thread, at any time: an atomic load (sequentially consistent: sleepers look at it last).
  [[nodiscard]] virtual uint64_t completed(uint32_t rank) const = 0;

  // OMPL_OK, or why nothing to `rank` can succeed on this endpoint any more: OMPL_ERR_LINK also once that rank
  // has closed its endpoint, by which ranks that part know each other gone [21]. Once set it stays, everything
  // outstanding counts as completed, and nothing is sent again [18]. So it is set only once nothing outstanding reads or
  // writes the callers' memory any more [24]; until then posts are answered by a retry. Any thread: an atomic load.
  [[nodiscard]] virtual int failure(uint32_t rank) const = 0;
  // OMPL_OK, or why something that `rank` has sent to this endpoint may never come: failure(), or the break of a connection
  // on which only that rank sends, as pools of different sizes bring them in [12]. Any thread: an atomic load, mostly.
  [[nodiscard]] virtual int loss(uint32_t rank) const { return failure(rank); }
  // That rank has closed its endpoint in order: failure() then tells of no loss. Set before failure(). Any thread.
  [[nodiscard]] virtual bool departed(uint32_t /*rank*/) const { return false; }
  // loss() in words, of a rank of which it is not OMPL_OK. Any thread.
  [[nodiscard]] virtual std::string reason(uint32_t /*rank*/) const { return "its connection broke"; }

  // A file descriptor that polls readable when progress() has work, after arm() returned true; -1 if
  // there is none: the core then bounds its sleep [16]. It stays readable until progress() or arm() under a
  // claim: a sleeper that finds it readable does nothing to it.
  [[nodiscard]] virtual int descriptor() const { return -1; }
  // Prepares to sleep on the descriptor. False: there is work already, call progress() instead.
  virtual bool arm() { return false; }

  // One line for the hang report: queue depths, outstanding operations. Any thread, best effort.
  [[nodiscard]] virtual std::string describe() const { return {}; }
};

// The answer of connect().
struct Reach {
  bool usable = false;
  std::string why;            // one line, either way: "same process", "host differs (a, b)"
  std::byte* base = nullptr;  // direct conduits: where the peer's segment is mapped here
  int death_fd = -1;  // readable once that rank's process has died (a pidfd), or -1; the conduit's
  // The file of that rank's segment, or -1, and where it begins there: tells of its death where there is no pidfd; the conduit's,
  // or the own segment's.
  int segment_fd = -1;
  uint64_t segment_offset = 0;
  int wake_fd = -1;  // see wake_descriptor(), if it is known already
};

// One mechanism, opened once per rank. Called by one thread: open, address, connect*, endpoint*, close.
class Conduit {
 public:
  virtual ~Conduit() = default;  // gives everything back, after every endpoint is gone

  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual Capabilities capabilities() const = 0;

  // Prepares for the job. An error means "not usable here", with the reason recorded by fail().
  virtual int open(const Job& job) = 0;

  // Memory of an endpoint for each rank that it is connected to in that job, bytes, about; 0: not known. Before open().
  [[nodiscard]] virtual std::size_t connection_bytes(const Job& /*job*/) const { return 0; }

  // What peers must know to connect: any bytes, published through the bootstrap. Kept short (a launcher
  // may carry 10,000 of them). After open().
  [[nodiscard]] virtual std::string address() const = 0;

  // Whether `rank`, which published `address`, is reached by this conduit, and how. Network conduits
  // only note the address: connections are made on first use. `address` is outside bytes: check it.
  virtual Reach connect(uint32_t rank, std::string_view address) = 0;

  // Direct conduits, of a rank that connect() has mapped: a byte written there wakes that rank's sentinel [16]; -1: there is no
  // way, or one is known. The conduit's. Asked for in jobs with a network only, before the first commit().
  virtual int wake_descriptor(uint32_t rank, std::string_view address);

  // Opens the endpoint of a slot (0 .. job.slots - 1). Network conduits only; after the last connect().
  virtual int endpoint(uint32_t slot, std::unique_ptr<Endpoint>* out);

  // Offsets [offset, offset + length) of the own segment are about to be used (ompl_alloc) or no longer
  // (ompl_free): register, pin, forget. Reference: nothing to do.
  virtual int commit(uint64_t offset, std::size_t length);
  virtual void release(uint64_t offset, std::size_t length);

  // The same for an area that this rank alone has taken, above all that ompl_alloc has given. Other ranks were not told, but
  // may use it as soon as this returns, and make nothing known here. One thread at a time, which may be another one than
  // that of commit(). Reference: commit() and release().
  virtual int commit_local(uint64_t offset, std::size_t length);
  virtual void release_local(uint64_t offset, std::size_t length);

  // Memory of the program outside the segment that many posts will use (ompl_register) or none any more
  // (ompl_unregister): pin it for the device. Any thread, one at a time. Reference: nothing to do.
  virtual int register_memory(const void* address, std::size_t length);
  virtual void unregister_memory(const void* address, std::size_t length);

  // OMPL_OK, or the recorded error of a calling thread that must not wait for this conduit, since it cannot
  // progress it. Any thread. Reference: every thread may.
  [[nodiscard]] virtual int admits() const { return OMPL_OK; }
};

}  // namespace ompl::conduit
