// SPDX-License-Identifier: BSD-3-Clause
// A connection of two endpoints, from the first wish for it to its end: both send on it, whichever made it. Changed under the
// claim only, or by the connector's thread while that has the endpoint; what other threads read is atomic.
#pragma once

#include <bitset>
#include <cstdint>

#include "conduit/common/completion_window.hpp"
#include "conduit/common/link_table.hpp"
#include "conduit/common/operations.hpp"
#include "conduit/common/route_search.hpp"
#include "conduit/psm2/library.hpp"

namespace ompl::conduit::psm2 {

struct Psm2Link : LinkState {
  static constexpr uint64_t kMostUnderWay = 64;  // messages that the other side has not taken
  using Window = CompletionWindow<2 * kMostUnderWay>;

  Psm2Link(uint32_t to_rank, uint32_t to_slot, uint16_t its_place, uint32_t its_key)
      : LinkState(to_rank), slot(to_slot), place(its_place), key(its_key) {}

  enum class State : uint8_t {
    idle,        // nothing was asked for yet
    seeking,     // does the other side live?
    connecting,  // by PSM2, or about to
    greeting,    // it is connected; the other side is to say which link this is there
    up,
    failed,
  };
  [[nodiscard]] bool sends() const { return state == State::up && !departed; }
  [[nodiscard]] bool is_coming_up() const { return state != State::idle && state < State::up; }
  [[nodiscard]] uint64_t completed() const { return window.completed(); }
  [[nodiscard]] bool is_full() const { return window.outstanding() >= limit; }

  // The other side has taken so many messages. Gets complete when their data come.
  void taken_there(uint64_t count) {
    for (; acknowledged < count; ++acknowledged) {
      if (!gets[(acknowledged + 1) % gets.size()]) window.complete(acknowledged + 1);
    }
  }

  const uint32_t slot;   // the other side's
  const uint16_t place;  // in the list of links
  const uint32_t key;    // what the other side sends on this link carries it
  State state = State::idle;
  PsmAddress* address = nullptr;
  uint64_t theirs = 0;  // head of what is sent to the other side; 0: not told yet
  uint64_t heard = 0;   // messages of any kind

  // --- What this side sends
  uint64_t limit = 1;  // of messages under way
  Window window;
  uint64_t acknowledged = 0;
  std::bitset<2 * kMostUnderWay> gets;  // which messages of the window are
  bool asked = false;                   // how many were taken, without an answer yet
  bool hello_sent = false;              // or it is not needed, since the other side said hello
  bool welcomed = false;                // the hello was answered
  bool goodbye_said = false;
  bool goodbye_heard = false;  // by the other side

  // --- What the other side sends
  uint64_t seen = 0;     // messages,
  uint64_t waiting = 0;  // records of them that wait for progress()
  uint64_t taken = 0;    // messages of which nothing waits, nor of those before them
  uint64_t told = 0;     // as many as the other side knows of
  uint64_t tell_at = 1;  // so many more are told of without being asked

  // --- Before and after
  bool attempted = false;  // PSM2 was asked for a connection
  int refusals = 0;        // of PSM2 to connect
  int64_t next = 0;        // ms: the next attempt
  PeerProbe probe;
  uint64_t heard_then = 0;  // at the last look for silence
  int64_t alive = 0;        // ms: when it was heard or answered last
};

// A record that came while no progress() was there to take it.
struct WaitingRecord {
  Psm2Link* link = nullptr;
  Signal record;
  bool goodbye = false;
  uint64_t number = 0;  // of its message
};

}  // namespace ompl::conduit::psm2
