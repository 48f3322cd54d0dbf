// SPDX-License-Identifier: BSD-3-Clause
// How what was sent comes to be known as complete: flush, quiet, handles. Protocol rules 5, 7, 13, 18.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory_resource>
#include <vector>

#include "core/network/sender.hpp"

namespace ompl {

class Completion {
 public:
  Completion(EndpointPool& pool, Sender& sender) : pool_(pool), sender_(sender) {}

  // Of one rank, or of all: kNoRank.
  int flush(Context& c, uint32_t rank, Deadline deadline) {
    return complete(
        c, Call::flush,
        [rank](const PeerChannel& channel) {
          return is_meant(channel, rank) ? Extent::data : Extent::nothing;
        },
        deadline);
  }
  int quiet(Context& c, uint32_t rank, Deadline deadline) {
    return complete(
        c, Call::quiet,
        [rank](const PeerChannel& channel) {
          return is_meant(channel, rank) ? Extent::all : Extent::nothing;
        },
        deadline);
  }
  // What was sent there becomes visible before what is sent later [27].
  int fence(Context& c, uint32_t rank, Deadline deadline);
  // Everything any context of this rank has sent is applied or visible.
  int quiet_all(Context& c);

  // 1: complete; 0; or an error. The handle stands for an operation.
  int test(Context& c, Handle& handle);
  // The same of its source alone.
  int test_source(const Handle& handle);
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
  // What is to be completed of a channel.
  enum class Extent : uint8_t { nothing, data, all };
  using Selection = std::function<Extent(const PeerChannel&)>;
  static bool is_meant(const PeerChannel& channel, uint32_t rank) {
    return rank == kNoRank || channel.leads_to(rank);
  }
  [[nodiscard]] Extent needed_for_order(const PeerChannel& channel) const;
  int complete(Context& c, Call call, const Selection& selected, Deadline deadline);
  int ask(Caller& caller, uint32_t rank, uint64_t slots, std::pmr::vector<Mark>* marks, Call call,
          Deadline deadline);
  int await_marks(Caller& caller, const std::pmr::vector<Mark>& marks, Call call, Deadline deadline);

  EndpointPool& pool_;
  Sender& sender_;
};

}  // namespace ompl
