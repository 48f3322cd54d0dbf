// SPDX-License-Identifier: BSD-3-Clause
// How what was sent comes to be known as complete: flush, quiet, handles. Protocol rules 5, 7, 13, 18.
#pragma once

#include <vector>

#include "core/network/sender.hpp"

namespace ompl {

class Completion {
 public:
  Completion(Runtime& runtime, EndpointPool& pool, Sender& sender)
      : runtime_(runtime), pool_(pool), sender_(sender) {}

  int flush(Context& c, Deadline deadline) { return complete(c, Call::flush, false, deadline); }
  int quiet(Context& c, Deadline deadline) { return complete(c, Call::quiet, true, deadline); }
  // Everything any context of this rank has sent is applied or visible.
  int quiet_all(Context& c);

  // 1: complete; 0; or an error. The handle stands for an operation.
  int test(Context& c, Handle& handle);
  // Its outcome is not wanted any more.
  void forget(Handle& handle);

 private:
  // A question under way: answered when the rank has acknowledged `number` to the slot.
  struct Mark {
    uint32_t rank;
    uint32_t slot;
    uint64_t number;
  };
  int complete(Context& c, Call call, bool signals_too, Deadline deadline);
  int ask(Context& c, PeerChannel& channel, uint64_t slots, std::vector<Mark>* marks, Call call,
          Deadline deadline);
  int await_marks(Context& c, const std::vector<Mark>& marks, Call call, Deadline deadline);

  Runtime& runtime_;
  EndpointPool& pool_;
  Sender& sender_;
};

}  // namespace ompl
