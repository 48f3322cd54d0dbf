// SPDX-License-Identifier: BSD-3-Clause
// A collective under way at this rank.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "coll/call.hpp"
#include "coll/progress/modes.hpp"
#include "coll/schedule/execution.hpp"
#include "coll/schedule/operation.hpp"
#include "coll/schedule/schedule.hpp"
#include "coll/team/agreement.hpp"
#include "coll/tuner/tuning.hpp"
#include "core/data/handle.hpp"

namespace ompl::coll {

class TagQueue;
struct CollectiveRequest;

// What ompl_request_then() asked for.
struct RequestCallback : Pending {
  CollectiveRequest* request;
  enum class State : uint8_t { over, running, wanted };
  // `over`: nobody calls it but who asks from now on; `wanted`: whoever ends the request makes it due.
  std::atomic<State> state{State::over};
};

struct CollectiveRequest {
  static constexpr int kRunning = 1;
  // In this order; `waiting`: for its turn on the tag queue.
  enum class Stage : uint8_t { waiting, signatures, times, itself };

  // Of the call.
  TagQueue* queue = nullptr;
  std::shared_ptr<const Prepared> prepared;
  std::byte* send = nullptr;
  std::byte* receive = nullptr;
  ReductionOperation operation;
  bool persistent = false;
  bool in_background = false;                     // its caller goes on with other work
  bool worth_waking = false;                      // takes more time than waking a thread for it
  std::chrono::steady_clock::time_point started;  // what is tuned with its mode of progress
  std::shared_ptr<const Prepared> exchange;  // of signatures; null: members are taken at their word
  CallSignature signature;

  // Of mode node: whether the node's progress thread got it, and its number in the offload queue.
  bool offloaded = false;
  uint32_t offload_number = 0;

  std::atomic<uint32_t> attendants{0};  // threads that wait for it

  // Of the thread that has claimed the tag queue, while the request runs.
  Stage stage = Stage::waiting;
  Execution execution;
  std::vector<CallSignature> signatures;  // of all members
  std::vector<double> times;              // of a tuning: this member's become those that all agree on
  Ticket ticket;                          // of a tuning, and when its turn came
  std::chrono::steady_clock::time_point begun;

  std::atomic<int> state{OMPL_OK};    // kRunning, or how it ended
  CollectiveRequest* next = nullptr;  // of those that run, or of those that are free
  RequestCallback callback{};

  [[nodiscard]] bool runs() const { return state.load(std::memory_order_acquire) == kRunning; }
};

}  // namespace ompl::coll
