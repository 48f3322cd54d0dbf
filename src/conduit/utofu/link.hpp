// SPDX-License-Identifier: BSD-3-Clause
// One connection: what this side sends to a rank, and what that rank sends to this side. Changed under the claim only; what
// other threads read is atomic.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "conduit/common/completion_window.hpp"
#include "conduit/common/link_table.hpp"
#include "conduit/common/regions.hpp"
#include "conduit/utofu/resources.hpp"
#include "conduit/utofu/wire.hpp"
#include "omnipgas/ompl.h"

namespace ompl::conduit::utofu {

// Of the records of put + flag so many go without a notice of their own before one asks for it.
inline constexpr uint64_t kUnnoticed = 15;

// To a rank's endpoint.
struct VcqLink : LinkState {
  using LinkState::LinkState;

  enum class State : uint8_t {
    fresh,    // nothing was asked for yet
    asked,    // for a place among the greetings of the other side
    placed,   // which it has
    greeted,  // and the greeting is there; the other side makes a ring
    up,
    failed,
  };
  [[nodiscard]] bool sends() const { return state == State::up && !departed; }
  [[nodiscard]] bool connecting() const { return state < State::up && !departed; }
  [[nodiscard]] uint64_t completed() const { return window.completed(); }

  State state = State::fresh;
  utofu_vcq_id_t vcq = 0;        // the other side's
  utofu_stadd_t board = 0;       // its board,
  uint64_t place = 0;            // the place of the greeting there
  utofu_stadd_t ring = 0;        // and the ring made for this side
  const Reply* reply = nullptr;  // on this side's board
  uint64_t sent = 0;             // records,
  uint64_t limit = 0;            // of them as far as this side knows; 0 unless it sends
  uint64_t unnoticed = 0;        // tickets, the last ones, that the next notice speaks of
  uint64_t last_heartbeat = 0;   // tickets when the other side was last tried
  int region = 0;                // of the last put or get, a hint
  Aim aim;
  CompletionWindow<> window;
  bool goodbye_said = false;  // in the ring,
  bool left_said = false;     // or on the board, while there is none
};

// From a rank's endpoint: the ring that it puts its records into.
struct Incoming {
  uint32_t rank = 0;
  utofu_vcq_id_t vcq = 0;
  utofu_stadd_t reply = 0;  // on the other side's board
  alignas(kAlignment) std::array<Record, kRing> ring{};
  Registered memory;        // ends before the ring
  bool offered = false;     // the other side was told where it is,
  utofu_stadd_t offer = 0;  // or that there is none
  uint64_t taken = 0;       // records,
  uint64_t told = 0;        // and as many as the other side knows of
  uint64_t compare = 0;     // of the record to come
};

// A put, a get or a record until its notice comes. Its place in the table is the byte that the notice carries.
struct VcqOperation {
  static constexpr uint16_t kNoBounce = UINT16_MAX;

  uint8_t number = 0;       // in the table
  VcqLink* link = nullptr;  // null: free
  uint64_t ticket = 0;      // 0: asks for a place among the greetings
  uint64_t first = 0;       // tickets from here on are done with this one
  void* target = nullptr;   // of a get through the bounce slot
  std::size_t length = 0;
  uint16_t bounce = kNoBounce;
  bool holds = false;  // a bounce slot or memory registered for it
  Registered memory;
};

// All of an endpoint: as many as one byte tells apart.
class VcqOperationPool {
 public:
  static constexpr std::size_t kCount = 256;

  VcqOperationPool() {
    for (std::size_t i = 0; i < kCount; ++i) all_[i].number = free_[i] = static_cast<uint8_t>(i);
  }
  [[nodiscard]] bool full() const { return outstanding() == kCount; }
  // Not when full.
  VcqOperation& take(VcqLink& link) {
    const std::size_t now = outstanding();
    outstanding_.store(now + 1, std::memory_order_relaxed);
    VcqOperation& operation = all_[free_[now]];
    operation.link = &link;
    return operation;
  }
  // Its command went out, and is in order with those before it that ask for no notice: it tells of them too.
  void issue(VcqOperation& operation) {
    VcqLink& link = *operation.link;
    operation.ticket = link.window.issue();
    operation.first = operation.ticket - link.unnoticed;
    forget_unnoticed(link);
  }
  // A command went out that asks for no notice. Returns its ticket.
  uint64_t issue_unnoticed(VcqLink& link) {
    ++unnoticed_;
    ++link.unnoticed;
    return link.window.issue();
  }
  void forget_unnoticed(VcqLink& link) {
    unnoticed_ -= link.unnoticed;
    link.unnoticed = 0;
  }
  // Of all links.
  [[nodiscard]] uint64_t unnoticed() const { return unnoticed_; }
  void give_back(VcqOperation& operation) {
    const std::size_t now = outstanding() - 1;
    operation.link = nullptr;
    free_[now] = operation.number;
    outstanding_.store(now, std::memory_order_relaxed);
  }
  [[nodiscard]] VcqOperation& at(uint64_t number) { return all_[number % kCount]; }
  // Any thread.
  [[nodiscard]] std::size_t outstanding() const { return outstanding_.load(std::memory_order_relaxed); }

 private:
  std::array<VcqOperation, kCount> all_{};
  std::array<uint8_t, kCount> free_{};  // from the outstanding one on
  std::atomic<std::size_t> outstanding_{0};
  uint64_t unnoticed_ = 0;
};

}  // namespace ompl::conduit::utofu
