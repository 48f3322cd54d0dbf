// SPDX-License-Identifier: BSD-3-Clause
// A connection of two endpoints, from the first wish for it to its end: one socket for both directions. Changed under the claim
// only; what other threads read is atomic.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "conduit/common/completion_window.hpp"
#include "conduit/common/link_table.hpp"
#include "conduit/common/operations.hpp"
#include "conduit/common/route_search.hpp"
#include "conduit/tcp/socket.hpp"
#include "conduit/tcp/wire.hpp"

namespace ompl::conduit::tcp {

struct TcpLink;

using TcpOperation = GetOperation<TcpLink>;
using TcpOperationPool = GetPool<TcpLink>;

// What a socket has not taken yet of the frames that were posted last: up to three pieces in this order.
struct Outgoing {
  static constexpr std::size_t kCopied = 512;  // bytes that are copied rather than left with the caller

  std::array<std::byte, kCopied> copy;
  std::array<iovec, 3> pieces{};  // into `copy`, or memory of the caller or the segment
  int count = 0;
  int first = 0;        // the pieces before it are gone
  uint64_t ticket = 0;  // of the put that is complete then; 0: nobody waits for it

  [[nodiscard]] bool empty() const { return first == count; }
  void clear() { first = count = 0; }
};

// What is expected next on a socket.
struct TcpIncoming {
  std::byte* to = nullptr;  // data of the frame below,
  std::size_t left = 0;     // so many bytes are still to come
  Frame frame;
  TcpOperation* operation = nullptr;     // of Kind::data
  std::array<std::byte, kMaxHead> head;  // the beginning of the next frame,
  std::size_t have = 0;                  // so many bytes of it
};

// A get of the other side that it awaits.
struct OwedData {
  uint64_t offset = 0;
  uint64_t operation = 0;
  uint32_t length = 0;
};

// Those of one link, in their order.
class Owed {
 public:
  static constexpr uint32_t kMost = 128;  // as many as the other side's window holds

  [[nodiscard]] uint32_t size() const { return end_ - begin_; }
  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] bool full() const { return size() == kMost; }
  void add(const OwedData& one) { all_[end_++ % kMost] = one; }
  [[nodiscard]] const OwedData& at(uint32_t place) const { return all_[(begin_ + place) % kMost]; }
  void drop_first() { ++begin_; }
  void clear() { begin_ = end_; }

 private:
  std::array<OwedData, kMost> all_;
  uint32_t begin_ = 0;
  uint32_t end_ = 0;
};

// The connection that this side makes.
struct Attempt {
  enum class Stage : uint8_t { none, connecting, greeted };
  Stage stage = Stage::none;
  Socket socket;
  TcpGreeting greeting;
  TcpAnswer answer;
  std::size_t have = 0;  // bytes of the answer
};

// The one that the other side makes; its greeting is proven and answered.
struct Candidate {
  Socket socket;
  TcpGreeting greeting;
  uint64_t challenge = 0;
  Confirmation confirmation;
  std::size_t have = 0;  // bytes of it
  int64_t until = 0;     // ms
};

struct TcpLink : LinkState {
  using Window = CompletionWindow<>;

  TcpLink(uint32_t to_rank, uint32_t to_slot, uint32_t its_place)
      : LinkState(to_rank), slot(to_slot), place(its_place) {}

  [[nodiscard]] bool sends() const { return up && !departed && !deaf; }
  [[nodiscard]] uint64_t completed() const { return window.completed(); }
  [[nodiscard]] bool has_output() const { return !out.empty() || !owed.empty(); }

  const uint32_t slot;   // the other side's
  const uint32_t place;  // in the list of links
  bool wanted = false;   // this side has something to send

  // --- While it is up
  Socket socket;
  bool up = false;
  bool deaf = false;          // nothing can be sent any more; what has come is still read
  bool goodbye_said = false;  // by this side
  uint32_t watched = 0;       // events of its socket that the set of descriptors tells of
  Outgoing out;
  TcpIncoming in;
  Owed owed;
  Window window;
  uint64_t heard = 0;       // reads that brought something
  uint64_t heard_then = 0;  // the same at the last look for silence

  // --- Before and after
  Attempt attempt;
  Candidate candidate;
  bool was_up = false;      // once
  bool probing = false;     // it broke: does the other side live?
  int64_t probe_until = 0;  // ms
  int64_t probe_again = 0;  // ms; it has answered once since
  bool probed_again = false;
  std::unique_ptr<RouteSearch> search;  // for an address that takes connections, or the question above
  std::size_t route = 0;                // the address that has, or the first to try
  bool routed = false;                  // it has just done so
  bool reached = false;                 // a connection by it was made, by either side
  int64_t ask_again = 0;                // ms: the next attempt; 0: none is due
  int64_t ask_until = 0;                // ms: attempts have failed; no more after that
  int64_t pause = 0;                    // ms, between attempts
};

}  // namespace ompl::conduit::tcp
