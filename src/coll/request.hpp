// SPDX-License-Identifier: BSD-3-Clause
// A collective under way at this rank: how far it has come in its schedule.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "coll/agreement.hpp"
#include "coll/call.hpp"
#include "coll/operation.hpp"
#include "coll/prepared.hpp"
#include "coll/tuner/tuning.hpp"
#include "core/handle.hpp"

namespace ompl::coll {

class Lane;

// A step of the round under way.
struct Progress {
  enum class Phase : uint8_t { begin, cells, straight, done };
  Phase phase = Phase::begin;
  uint64_t bytes = 0;   // done
  uint64_t offset = 0;  // where a straight message goes
  Handle handle{};      // of its piece that is under way
};

// What a request carries out now, and on which buffers.
struct Work {
  const Schedule* schedule = nullptr;
  std::byte* send = nullptr;
  std::byte* receive = nullptr;
  const Operation* operation = nullptr;
};

struct Request {
  static constexpr int kRunning = 1;
  // In this order; `waiting`: for its turn on the lane.
  enum class Stage : uint8_t { waiting, promises, times, itself };

  // Of the call.
  Lane* lane = nullptr;
  std::shared_ptr<const Prepared> prepared;
  std::byte* send = nullptr;
  std::byte* receive = nullptr;
  Operation operation;
  bool persistent = false;
  std::chrono::steady_clock::time_point started;  // what is tuned with its mode of progress
  std::shared_ptr<const Prepared> exchange;       // of promises; null: members are taken at their word
  Promise promise;

  // Of the thread that has claimed the lane, while the request runs.
  Stage stage = Stage::waiting;
  Work now;
  std::vector<Promise> promises;  // of all members
  std::vector<double> times;      // of a tuning: this member's become those that all agree on
  Ticket ticket;                  // of a tuning, and when its turn came
  std::chrono::steady_clock::time_point begun;
  std::vector<std::byte> scratch;
  std::vector<Progress> progress;  // of the round's steps
  uint32_t round = 0;
  uint32_t begin = 0;  // the round's first step that is not done
  int failure =
      OMPL_OK;  // it goes on, lest others wait for it for ever, and what it sends is worth nothing
  std::string why;

  std::atomic<int> state{OMPL_OK};  // kRunning, or how it ended
  Request* next = nullptr;          // of those that run, or of those that are free

  [[nodiscard]] bool runs() const { return state.load(std::memory_order_acquire) == kRunning; }
};

}  // namespace ompl::coll
