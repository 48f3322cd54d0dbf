// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking operations of a context, and waiting for their handles. What is mapped is done at once, and who waits for or
// tests its handle sees to it that the stores come before the caller's later loads [25].
#include <cstring>

#include "core/job/runtime.hpp"
#include "core/wait/block.hpp"
#include "util/status.hpp"

namespace ompl {
namespace {

// The outcome for an operation that is complete when the function returns.
int complete(Handle* handle) {
  if (handle != nullptr) handle->kind = Pending::Kind::none;
  return OMPL_OK;
}

}  // namespace

int Runtime::put_nb(Context& c, const void* source, uint32_t rank, uint64_t offset, std::size_t length,
                    const Signal* record, bool local, Handle* handle) {
  int code = check_transfer(c, source, rank, offset, length, record, "ompl_put_nb");
  if (code != OMPL_OK) return code;
  if (std::byte* base = c.bases[rank]; base != nullptr) {
    put_mapped(c, base, source, rank, offset, length);
    if (record != nullptr) raise(rank, base, *record);
  } else if (length > 0) {
    code = network_->sender.put_nb(c, source, rank, offset, length, record, local, handle);
  } else if (record != nullptr) {
    code = network_->sender.signal_nb(c, rank, *record);
  }
  if (code == OMPL_OK || code == OMPL_PENDING) count_put(c, length, record);
  return code == OMPL_OK ? complete(handle) : code;
}

int Runtime::get_nb(Context& c, void* target, uint32_t rank, uint64_t offset, std::size_t length,
                    Handle* handle) {
  int code = check_transfer(c, target, rank, offset, length, nullptr, "ompl_get_nb");
  if (code != OMPL_OK) return code;
  if (std::byte* base = c.bases[rank]; base != nullptr) {
    get_mapped(c, base, target, rank, offset, length);
  } else if (length > 0) {
    code = network_->sender.get_nb(c, target, rank, offset, length, handle);
  }
  if (code == OMPL_OK || code == OMPL_PENDING) count_get(c, length);
  return code == OMPL_OK ? complete(handle) : code;
}

int Runtime::signal_nb(Context& c, uint32_t rank, const Signal& record) {
  int code = check_record(c, rank, &record, "ompl_signal_nb");
  if (code != OMPL_OK) return code;
  if (std::byte* base = c.bases[rank]; base != nullptr) {
    raise(rank, base, record);
  } else {
    code = network_->sender.signal_nb(c, rank, record);
  }
  if (code == OMPL_OK) ++c.statistics.signals;
  return code;
}

int Runtime::atomic_nb(Context& c, uint32_t rank, const Signal& record, void* before, Handle* handle) {
  int code = check_update(c, rank, record, before, "a nonblocking atomic");
  if (code != OMPL_OK) return code;
  if (handle == nullptr) return fail(OMPL_ERR_ARG, "a nonblocking atomic: the handle is null");
  if (std::byte* base = c.bases[rank]; base != nullptr) {
    if (before != nullptr) ompl_window_fence_before_fetch(record.function == Function::fetch);
    const uint64_t old = raise(rank, base, record);
    if (before != nullptr) std::memcpy(before, &old, width_of(record));
  } else if (before == nullptr) {
    code = network_->sender.signal_nb(c, rank, record);
  } else {
    Handle request{};
    request.before = before;
    request.width = static_cast<uint32_t>(width_of(record));
    code = network_->sender.fetch_nb(c, rank, record, &request);
    if (code == OMPL_PENDING) *handle = request;
  }
  if (code == OMPL_OK || code == OMPL_PENDING) ++c.statistics.atomics;
  return code == OMPL_OK ? complete(handle) : code;
}

int Runtime::test(Context& c, Handle& handle) {
  if (handle.kind == Pending::Kind::none) return 1;
  int state = network_->completion.test(c, handle);
  // A reply comes by whichever of the target's connections: its death may be known elsewhere.
  if (state == 0 && handle.kind == Pending::Kind::fetch && !deaths_are_ignored() &&
      peers_[handle.rank].failure.load() != OMPL_OK) {
    network_->completion.forget(handle);
    state = report_failure();
  }
  if (state != 0) handle.kind = Pending::Kind::none;
  return state;
}

int Runtime::progress_and_test(Context& c, Handle& handle) {
  int state = test(c, handle);
  if (state == 0 && network_->pool.progress(c, c.preferred_slot)) state = test(c, handle);
  if (state != 0) ompl_window_fence();
  return state;
}

int Runtime::await(Context& c, Handle& handle, Deadline deadline) {
  const int code = await_unordered(c, handle, deadline);
  ompl_window_fence();
  return code;
}

int Runtime::await_unordered(Context& c, Handle& handle, Deadline deadline) {
  if (handle.kind == Pending::Kind::none) return OMPL_OK;
  const Blocked what{.call = Call::handle, .peer = handle.rank, .own_end = true};
  Blocker blocker(c, what, deadline);
  return blocker.run([&] { return test(blocker.context(), handle); });
}

int Runtime::await_some(Context& c, std::span<ompl_handle> handles, std::size_t* indices,
                        std::size_t most, std::size_t* found, Deadline deadline) {
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

int Runtime::await_all(Context& c, std::span<ompl_handle> handles, Deadline deadline) {
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
