// SPDX-License-Identifier: BSD-3-Clause
// What a function that runs for another rank sends through: a context of its own, and what of it could not be sent yet.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/calls/layout.hpp"
#include "core/calls/outgoing.hpp"
#include "core/calls/scope.hpp"
#include "core/job/context.hpp"
#include "core/wait/sleepers.hpp"

namespace ompl::calls {

// Used by the thread that runs the function, then by whoever settles what is left.
struct FunctionContext {
  Context* context = nullptr;
  struct Deferred {
    uint32_t rank;
    CallEntry entry;
    std::vector<std::byte> arguments;
  };
  std::deque<Deferred> deferred;  // calls that found no room, in their order
  std::string failure;            // why the function says that it failed; empty: it does not
  // The reply of the call, and where it goes.
  bool reply_due = false;
  uint32_t caller = 0;
  uint32_t place = 0;
  CallReply reply{};
  // With `lands` the reply is packed elements, and `place` one of the caller's landings.
  bool lands = false;
  std::vector<std::byte> landing;  // from PackedLanding::code on
  Handle handle{};                 // its source is in use until then
  bool holds_ring = false;         // the caller's ring goes on once the reply is sent
  uint32_t ring = 0;

  [[nodiscard]] bool has_nothing_left() const {
    return !reply_due && deferred.empty() && handle.kind == Pending::Kind::none &&
           context->holder.load(std::memory_order_relaxed) == nullptr;
  }
};

class FunctionContexts {
 public:
  FunctionContexts(Runtime& runtime, Sleepers& sleepers, const Layout& layout, uint64_t begin,
                   OutgoingCalls& outgoing, std::atomic<uint32_t>& unsettled)
      : runtime_(runtime),
        sleepers_(sleepers),
        layout_(layout),
        begin_(begin),
        outgoing_(outgoing),
        unsettled_(unsettled) {}

  // --- Any thread
  std::unique_ptr<FunctionContext> take();
  void give_back(std::unique_ptr<FunctionContext> one);
  // Of functions that have returned, with something left to send.
  void park(std::unique_ptr<FunctionContext> one);
  // Sends what can be sent. True if nothing is left.
  bool settle(FunctionContext& one) {
    if (one.reply_due && !one.lands) {
      if (std::byte* const base = one.context->bases[one.caller]; base != nullptr) answer(one, base);
    }
    return one.has_nothing_left() || settle_rest(one);
  }
  // The same of all that are parked, as far as no other thread does; `released(ring)` for each ring that may go on. Whether
  // something of it was settled.
  template <class Released>
  bool settle_parked(Released released);
  // A call of a function for which there is no room. False: too many wait already.
  bool defer(FunctionContext& one, const Request& call);

 private:
  // The reply to a caller whose segment is mapped there.
  void answer(FunctionContext& one, std::byte* base) {
    const uint64_t offset = begin_ + layout_.reply(one.place);
    auto* const there = reinterpret_cast<CallReply*>(base + offset);
    there->code = one.reply.code;
    there->value = one.reply.value;
    sleepers_.raise(one.caller, base, {.offset = offset});
    one.reply_due = false;
  }
  bool settle_rest(FunctionContext& one);
  int send_reply(FunctionContext& one);
  int send_landing(FunctionContext& one);

  Runtime& runtime_;
  Sleepers& sleepers_;
  const Layout& layout_;
  const uint64_t begin_;
  OutgoingCalls& outgoing_;
  std::atomic<uint32_t>& unsettled_;  // counts what is parked, among others
  std::mutex mutex_;                  // of what is free
  std::vector<std::unique_ptr<FunctionContext>> free_;
  std::mutex settling_;  // of what is parked
  std::vector<std::unique_ptr<FunctionContext>> parked_;
  std::atomic<uint32_t> deferred_count_{0};
};

template <class Released>
bool FunctionContexts::settle_parked(Released released) {
  const std::unique_lock lock(settling_, std::try_to_lock);
  if (!lock) return false;
  const WithoutFunctions alone;
  bool any = false;
  std::erase_if(parked_, [&](std::unique_ptr<FunctionContext>& one) {
    const bool settled = settle(*one);
    if (one->holds_ring && !one->reply_due) {
      one->holds_ring = false;
      released(one->ring);
      any = true;
    }
    if (!settled) return false;
    unsettled_.fetch_sub(1);
    give_back(std::move(one));
    any = true;
    return true;
  });
  return any;
}

}  // namespace ompl::calls
