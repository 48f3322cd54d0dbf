// SPDX-License-Identifier: BSD-3-Clause
// How what was sent comes to be known as complete: flush, quiet, handles. Protocol rules 5, 7, 13, 18.
#pragma once

#include <array>
#include <cstddef>
#include <memory_resource>
#include <vector>

#include "core/network/sender.hpp"

namespace ompl {

class Completion {
 public:
  Completion(EndpointPool& pool, Sender& sender) : pool_(pool), sender_(sender) {}

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
  // For lists of a call: a rank that has no memory left can still come to a barrier and tell the others.
  class Scratch : public std::pmr::monotonic_buffer_resource {
   public:
    Scratch() : monotonic_buffer_resource(bytes_.data(), bytes_.size()) {}

   private:
    alignas(std::max_align_t) std::array<std::byte, 4096> bytes_;
  };
  int complete(Context& c, Call call, bool signals_too, Deadline deadline);
  int ask(Caller& caller, uint32_t rank, uint64_t slots, std::pmr::vector<Mark>* marks, Call call,
          Deadline deadline);
  int await_marks(Caller& caller, const std::pmr::vector<Mark>& marks, Call call, Deadline deadline);

  EndpointPool& pool_;
  Sender& sender_;
};

}  // namespace ompl
