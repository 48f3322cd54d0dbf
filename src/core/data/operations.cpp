// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/operations.hpp"

#include "core/calls/scope.hpp"
#include "core/data/checks.hpp"
#include "core/data/staging.hpp"
#include "core/job/runtime.hpp"
#include "core/network/network.hpp"

namespace ompl {
namespace {

// What a check said: an error, or that the local side is memory of a GPU.
[[gnu::noinline, gnu::cold]] int staged_or(int code, Context& c, Call call, const void* local,
                                           uint32_t rank, uint64_t offset, std::size_t length,
                                           const Signal* record, Deadline deadline) {
  if (code != kOnDevice) return code;
  const Sender::Pieces one = single_piece(local, offset, length);
  return c.runtime->staging.transfer(c, call, local, rank, one, length, record, deadline);
}

}  // namespace

int put(Context& c, const void* source, uint32_t rank, uint64_t offset, std::size_t length,
        Deadline deadline) {
  Caller caller(c);
  int code = check_transfer(c, source, rank, offset, length, nullptr, "ompl_put");
  if (code != OMPL_OK)
    return staged_or(code, c, Call::put, source, rank, offset, length, nullptr, deadline);
  if (c.bases[rank] != nullptr) {
    c.put_mapped(source, rank, offset, length);
  } else if (length > 0) {
    code = c.runtime->network->sender.put(c, source, rank, offset, length, deadline);
  }
  if (code >= OMPL_OK) caller.now().count_put(length, false);
  return code;
}

int get(Context& c, void* target, uint32_t rank, uint64_t offset, std::size_t length,
        Deadline deadline) {
  Caller caller(c);
  int code = check_transfer(c, target, rank, offset, length, nullptr, "ompl_get");
  if (code != OMPL_OK)
    return staged_or(code, c, Call::get, target, rank, offset, length, nullptr, deadline);
  if (c.bases[rank] != nullptr) {
    c.get_mapped(target, rank, offset, length);
  } else if (length > 0) {
    if (code = calls::may_wait("ompl_get"); code != OMPL_OK) return code;
    code = c.runtime->network->sender.get(c, target, rank, offset, length, deadline);
  }
  if (code >= OMPL_OK) caller.now().count_get(length);
  return code;
}

int signal(Context& c, uint32_t rank, const Signal& record, Deadline deadline) {
  if (const int code = check_record(c, rank, &record, "ompl_put_word"); code != OMPL_OK) return code;
  if (c.bases[rank] != nullptr) c.open_flag_window(rank, record.offset);
  Caller caller(c);
  const int code = signal_any(c, rank, record, deadline);
  if (code == OMPL_OK) ++caller.now().statistics.signals;
  return code;
}

int signal_any(Context& c, uint32_t rank, const Signal& record, Deadline deadline) {
  if (std::byte* base = c.bases[rank]; base != nullptr) {
    c.runtime->sleepers.raise(rank, base, record);
    return OMPL_OK;
  }
  return c.runtime->network->sender.signal(c, rank, record, deadline);
}

int atomic(Context& c, uint32_t rank, const Signal& record, uint64_t* before, Deadline deadline) {
  Caller caller(c);
  int code = check_update(c, rank, record, before, "an atomic");
  if (code != OMPL_OK) return code;
  if (std::byte* base = c.bases[rank]; base != nullptr) {
    c.open_flag_window(rank, record.offset);
    if (before != nullptr) ompl_window_fence_before_fetch(record.function == Function::fetch);
    const uint64_t old = c.runtime->sleepers.raise(rank, base, record);
    if (before != nullptr) *before = old;
  } else if (before != nullptr) {
    if (code = calls::may_wait("an atomic that fetches"); code != OMPL_OK) return code;
    code = c.runtime->network->sender.fetch(c, rank, record, before, deadline);
  } else {
    code = c.runtime->network->sender.signal(c, rank, record, deadline);
  }
  if (code == OMPL_OK) ++caller.now().statistics.atomics;
  return code;
}

int put_signal(Context& c, const void* source, uint32_t rank, uint64_t offset, std::size_t length,
               const Signal& record, Deadline deadline) {
  Caller caller(c);
  int code = check_transfer(c, source, rank, offset, length, &record, "ompl_put_signal");
  if (code != OMPL_OK)
    return staged_or(code, c, Call::put_signal, source, rank, offset, length, &record, deadline);
  if (std::byte* base = c.bases[rank]; base != nullptr) {
    arch::copy(base + offset, source, length);
    c.runtime->sleepers.raise(rank, base, record);
  } else if (length == 0) {
    code = c.runtime->network->sender.signal(c, rank, record, deadline);
  } else {
    code = c.runtime->network->sender.put_signal(c, source, rank, offset, length, record, deadline);
  }
  if (code >= OMPL_OK) caller.now().count_put(length, true);
  return code;
}

// Puts and signals to mapped ranks are stores and atomics of the calling thread. A thread that is told of them by anything
// that synchronises sees them. The fence makes them visible to all others too, before the caller's next load [25]. It comes
// last, since a network may deliver by stores of this thread.
int flush(Context& c, Deadline deadline, uint32_t rank) {
  Network* const network = c.runtime->network.get();
  const int code = network != nullptr ? network->completion.flush(c, rank, deadline) : OMPL_OK;
  ompl_window_fence();
  return code;
}

int quiet(Context& c, Deadline deadline, uint32_t rank) {
  Network* const network = c.runtime->network.get();
  const int code = network != nullptr ? network->completion.quiet(c, rank, deadline) : OMPL_OK;
  ompl_window_fence();
  return code;
}

// Earlier stores to mapped memory become visible before later ones [27].
int fence(Context& c, Deadline deadline, uint32_t rank) {
  ompl_window_store_fence();
  Network* const network = c.runtime->network.get();
  return network != nullptr ? network->completion.fence(c, rank, deadline) : OMPL_OK;
}

int quiet_all(Context& c) {
  Network* const network = c.runtime->network.get();
  const int code = network != nullptr ? network->completion.quiet_all(c) : OMPL_OK;
  ompl_window_fence();
  return code;
}

void drive(Context& c) {
  if (Network* const network = c.runtime->network.get(); network != nullptr) {
    network->sender.send_held(c);
    network->pool.progress(c, c.preferred_slot);
  }
  c.runtime->remote_calls.progress();
}

}  // namespace ompl
