// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking operations of a context, and waiting for their handles. What is mapped is done at once, and who waits for or
// tests its handle sees to it that the stores come before the caller's later loads [25].
#include <cstring>

#include "core/data/checks.hpp"
#include "core/data/operations.hpp"
#include "core/data/staging.hpp"
#include "core/wait/block.hpp"
#include "util/status.hpp"

namespace ompl {
namespace {

// The outcome for an operation that is complete when the function returns.
int complete(Handle* handle) {
  if (handle != nullptr) handle->kind = Pending::Kind::none;
  return OMPL_OK;
}

// Without the order of earlier stores and later loads.
int await_unordered(Context& c, Handle& handle, Deadline deadline) {
  if (handle.kind == Pending::Kind::none) return OMPL_OK;
  const Blocked what{.call = Call::handle, .peer = handle.rank, .own_end = true};
  Blocker blocker(c, what, deadline);
  return blocker.run([&] { return test(blocker.context(), handle); });
}

}  // namespace

int put_nb(Context& c, const void* source, uint32_t rank, uint64_t offset, std::size_t length,
           const Signal* record, bool local, Handle* handle) {
  int code = check_transfer(c, source, rank, offset, length, record, "ompl_put_nb");
  if (code == kOnDevice)
    return c.runtime->staging.put_nb(c, source, rank, offset, length, record, local, handle);
  if (code != OMPL_OK) return code;
  if (std::byte* base = c.bases[rank]; base != nullptr) {
    c.put_mapped(source, rank, offset, length);
    if (record != nullptr) c.runtime->sleepers.raise(rank, base, *record);
  } else if (length > 0) {
    code = c.runtime->network->sender.put_nb(c, source, rank, offset, length, record, local, handle);
  } else if (record != nullptr) {
    code = c.runtime->network->sender.signal_nb(c, rank, *record);
  }
  if (code == OMPL_OK || code == OMPL_PENDING) c.count_put(length, record != nullptr);
  return code == OMPL_OK ? complete(handle) : code;
}

int get_nb(Context& c, void* target, uint32_t rank, uint64_t offset, std::size_t length,
           Handle* handle) {
  int code = check_transfer(c, target, rank, offset, length, nullptr, "ompl_get_nb");
  if (code == kOnDevice) return c.runtime->staging.get_nb(c, target, rank, offset, length, handle);
  if (code != OMPL_OK) return code;
  if (c.bases[rank] != nullptr) {
    c.get_mapped(target, rank, offset, length);
  } else if (length > 0) {
    code = c.runtime->network->sender.get_nb(c, target, rank, offset, length, handle);
  }
  if (code == OMPL_OK || code == OMPL_PENDING) c.count_get(length);
  return code == OMPL_OK ? complete(handle) : code;
}

int signal_nb(Context& c, uint32_t rank, const Signal& record) {
  int code = check_record(c, rank, &record, "ompl_signal_nb");
  if (code != OMPL_OK) return code;
  if (std::byte* base = c.bases[rank]; base != nullptr) {
    c.runtime->sleepers.raise(rank, base, record);
  } else {
    code = c.runtime->network->sender.signal_nb(c, rank, record);
  }
  if (code == OMPL_OK) ++c.statistics.signals;
  return code;
}

int atomic_nb(Context& c, uint32_t rank, const Signal& record, void* before, Handle* handle) {
  int code = check_update(c, rank, record, before, "a nonblocking atomic");
  if (code != OMPL_OK) return code;
  if (handle == nullptr) return fail(OMPL_ERR_ARG, "a nonblocking atomic: the handle is null");
  if (std::byte* base = c.bases[rank]; base != nullptr) {
    if (before != nullptr) ompl_window_fence_before_fetch(record.function == Function::fetch);
    const uint64_t old = c.runtime->sleepers.raise(rank, base, record);
    if (before != nullptr) std::memcpy(before, &old, width_of(record));
  } else if (before == nullptr) {
    code = c.runtime->network->sender.signal_nb(c, rank, record);
  } else {
    Handle request{};
    request.before = before;
    request.width = static_cast<uint32_t>(width_of(record));
    code = c.runtime->network->sender.fetch_nb(c, rank, record, &request);
    if (code == OMPL_PENDING) *handle = request;
  }
  if (code == OMPL_OK || code == OMPL_PENDING) ++c.statistics.atomics;
  return code == OMPL_OK ? complete(handle) : code;
}

int test(Context& c, Handle& handle) {
  if (handle.kind == Pending::Kind::none) return 1;
  Runtime& runtime = *c.runtime;
  const bool by_calls = handle.kind == Pending::Kind::call || handle.kind == Pending::Kind::packed ||
                        handle.kind == Pending::Kind::brought;
  int state =
      by_calls ? runtime.remote_calls.test(handle) : runtime.network->completion.test(c, handle);
  // A reply comes by whichever of the target's connections: its death may be known elsewhere.
  if (state == 0 && handle.kind == Pending::Kind::fetch && runtime.failures.hopeless(handle.rank)) {
    runtime.network->completion.forget(handle);
    state = runtime.failures.report_failure();
  }
  if (state != 0) handle.kind = Pending::Kind::none;
  return state;
}

int progress_and_test(Context& c, Handle& handle) {
  int state = test(c, handle);
  if (state == 0) {
    Runtime& runtime = *c.runtime;
    bool found = runtime.network != nullptr && runtime.network->pool.progress(c, c.preferred_slot);
    found = runtime.remote_calls.progress() || found;
    if (found || runtime.network == nullptr) state = test(c, handle);
  }
  if (state != 0) ompl_window_fence();
  return state;
}

int progress_and_test_source(Context& c, const Handle& handle) {
  Network* const network = c.runtime->network.get();
  if (network == nullptr) return 1;
  const int state = network->completion.test_source(handle);
  return state == 0 && network->pool.progress(c, c.preferred_slot)
             ? network->completion.test_source(handle)
             : state;
}

int await(Context& c, Handle& handle, Deadline deadline) {
  const int code = await_unordered(c, handle, deadline);
  ompl_window_fence();
  return code;
}

int await_some(Context& c, std::span<ompl_handle> handles, std::size_t* indices, std::size_t most,
               std::size_t* found, Deadline deadline) {
  std::size_t over = 0;
  const Blocked what{.call = Call::handle, .own_end = true};
  Blocker blocker(c, what, deadline);
  const int code = blocker.run([&] {
    bool any = false;
    int error = 0;
    for (std::size_t i = 0; i < handles.size() && over < most && error == 0; ++i) {
      Handle& handle = handle_of(handles[i]);
      if (handle.kind == Pending::Kind::none) continue;
      any = true;
      const int state = test(blocker.context(), handle);
      if (state != 0) indices[over++] = i;
      if (state < 0) error = state;
    }
    if (error != 0) return error;
    return over > 0 || !any ? 1 : 0;
  });
  if (code == OMPL_OK || over > 0) *found = over;
  ompl_window_fence();
  return code;
}

int await_all(Context& c, std::span<ompl_handle> handles, Deadline deadline) {
  Caller caller(c);
  int first_error = OMPL_OK;
  for (ompl_handle& memory : handles) {
    Handle& handle = handle_of(memory);
    if (handle.kind == Pending::Kind::none) continue;
    const int code = await_unordered(caller.now(), handle, deadline);
    if (code == OMPL_ERR_TIMEOUT) return code;
    if (first_error == OMPL_OK) first_error = code;
  }
  ompl_window_fence();
  return first_error;
}

}  // namespace ompl
