// SPDX-License-Identifier: BSD-3-Clause
// A collective under way at this rank: how far it has come in its schedule.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "coll/agreement.hpp"
#include "coll/call.hpp"
#include "coll/operation.hpp"
#include "coll/schedule.hpp"
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

struct Request {
  static constexpr int kRunning = 1;

  // Of the call.
  Lane* lane = nullptr;
  std::shared_ptr<const Schedule> schedule;
  std::byte* send = nullptr;
  std::byte* receive = nullptr;
  Operation operation;
  bool persistent = false;
  std::shared_ptr<const Schedule> exchange;  // of promises; null: members are taken at their word
  Promise promise;

  // Of the thread that has claimed the lane, while the request runs.
  std::vector<Promise> promises;  // of all members, while they are exchanged
  std::vector<std::byte> scratch;
  std::vector<Progress> progress;  // of the round's steps
  uint32_t round = 0;
  uint32_t begin = 0;  // the round's first step that is not done
  int failure =
      OMPL_OK;  // it goes on, lest others wait for it for ever, and what it sends is worth nothing
  std::string why;

  std::atomic<int> state{OMPL_OK};  // kRunning, or how it ended
  Request* next = nullptr;          // of those that run, or of those that are free

  // What is carried out now.
  [[nodiscard]] const Schedule& current() const { return promises.empty() ? *schedule : *exchange; }
  [[nodiscard]] bool runs() const { return state.load(std::memory_order_acquire) == kRunning; }
};

}  // namespace ompl::coll
