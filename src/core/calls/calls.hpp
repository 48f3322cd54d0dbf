// SPDX-License-Identifier: BSD-3-Clause
// Remote calls of a rank: functions that others may call, calls to others, and running what comes in. Made of puts,
// signals and one compare-and-swap, the same over every conduit. Protocol rule 26; docs/explanation/remote-calls.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "core/calls/incoming.hpp"
#include "core/calls/replies.hpp"
#include "core/calls/scope.hpp"
#include "core/data/handle.hpp"
#include "core/wait/deadline.hpp"
#include "core/wait/sleepers.hpp"

namespace ompl::calls {

class RemoteCalls {
 public:
  RemoteCalls(Runtime& runtime, const Arrivals& arrivals) : runtime_(runtime), arrivals_(arrivals) {}
  ~RemoteCalls();
  RemoteCalls(const RemoteCalls&) = delete;
  RemoteCalls& operator=(const RemoteCalls&) = delete;

  // While functions run, those without a context act on the function's. Before the first registration.
  void set_exchange(ExchangeContext exchange) { exchange_ = exchange; }
  // Collective.
  int add(Context& c, const char* name, ompl_call_fn code, void* user, uint32_t* function);
  // The first part of ompl_finalize(): what was called before runs. Collective. No function runs afterwards.
  void finish(Context& c);

  // --- Any thread. Results as those of ompl_call() and ompl_call_nb().
  int call(Context& c, uint32_t rank, const ompl_call_request& request, uint64_t* reply,
           Deadline deadline);
  int call_nb(Context& c, uint32_t rank, const ompl_call_request& request, uint64_t* reply,
              Handle* handle);
  // Of a handle that call_nb() gave, or of a packed operation: 1, 0 or the error with which it ended.
  int test(Handle& handle);

  // --- Packed strided and indexed data (packing.hpp), to ranks that are not mapped
  // At the start of a job with a network, by every rank: the memory that the first registration would take, so that data can be
  // packed without one. Not where the segment is small.
  int open_early();
  // Whether such data are to be packed, by the setting and their sizes, and can be.
  [[nodiscard]] bool packs(const Shape& shape) const {
    return packs_ && Packing::suits(shape) && may_run_functions();
  }
  // As Packing::put(); a `handle` is set if the result is OMPL_PENDING.
  int put_packed(Caller& caller, uint32_t rank, uint64_t offset, const Shape& shape,
                 const std::byte* local, const Signal* record, bool once, bool wants_handle,
                 Handle* handle);
  // Until all packed puts of this rank are unpacked, and its packed gets complete.
  int await_packed(Context& c);
  // Packed gets: OMPL_OK, OMPL_PENDING, an error, OMPL_RETRY_* or Packing::kNotPacked; without waiting `handle`, unless null, is set
  // if it is OMPL_PENDING, and with a limit of time the buffer is then in use until a flush.
  int get_packed(Caller& caller, uint32_t rank, uint64_t offset, const Shape& shape, std::byte* local,
                 Deadline deadline);
  int get_packed_nb(Caller& caller, uint32_t rank, uint64_t offset, const Shape& shape,
                    std::byte* local, Handle* handle);
  // Of the packed gets of a context to a rank: 1: complete, 0, or an error.
  int test_gets(const Context& c, uint32_t rank);
  void give_up_gets(const Context& c, uint32_t rank);

  // --- The way in for whoever progresses the rank: waits of any kind, ompl_poll(), ompl_progress(), and a progress thread. No
  // claim is held. Runs functions. Whether there was anything to do. `uncancelled`: the caller sees to it that its thread is not
  // cancelled meanwhile.
  bool progress(bool uncancelled = false) { return due() && run(uncancelled); }
  [[nodiscard]] bool due() const {
    return arrivals_.open() && (arrivals_.any() || (unsettled_.load(std::memory_order_relaxed) != 0 &&
                                                    !closed_.load(std::memory_order_relaxed)));
  }
  // For a sleeper's last look [15].
  [[nodiscard]] bool due_at_last() { return arrivals_.open() && looks_at_last(); }
  // Ranks have died: their rings are given back.
  void look_at_failures();

 private:
  struct Parts;

  bool run(bool uncancelled);
  bool looks_at_last();
  int open(Context& c);
  void set_up(const Layout& layout, uint64_t begin);
  int test_packed(const Handle& handle);
  int check(Context& c, uint32_t rank, const ompl_call_request& request, Request* out) const;
  int send(Context& c, const Request& call);
  int send_in_time(Caller& caller, const Request& call, Deadline deadline);
  int ask(Context& context, Request& call, uint64_t* reply, Deadline deadline);
  const CallReply* look_for_a_moment(uint32_t rank, uint32_t place, uint32_t count);
  static int read(const CallReply& from, uint32_t rank, uint64_t* reply);
  static Handle handle_for(const Request& call, uint32_t place, uint32_t count, uint64_t* reply);
  int send_for_reply(Context& c, Request* call, uint64_t* reply, Handle* handle);

  Runtime& runtime_;
  const Arrivals& arrivals_;
  ExchangeContext exchange_ = nullptr;
  FunctionTable functions_;
  std::atomic<Parts*> parts_{nullptr};  // made by the first registration
  std::atomic<uint32_t> unsettled_{0};  // matters that wait for room
  std::atomic<bool> closed_{false};
  std::atomic<uint32_t> failures_seen_{0};
  bool packs_ = false;
};

}  // namespace ompl::calls
