// SPDX-License-Identifier: BSD-3-Clause
// The functions of ompl_ext.h but for the atomics (atomics.cpp) as thin calls of the runtime.
#include "omnipgas/ompl_ext.h"

#include <cstdlib>
#include <cstring>
#include <optional>

#include "api/call.hpp"
#include "arch/libraries/mpi.hpp"
#include "core/calls/scope.hpp"
#include "core/data/callbacks.hpp"
#include "core/data/checks.hpp"
#include "core/data/operations.hpp"
#include "core/wait/conditions.hpp"
#include "util/log.hpp"

using ompl::Context;
using ompl::Deadline;
using ompl::Handle;
using ompl::Signal;
using ompl::api::pointer;
using ompl::api::with;

namespace {

// What the user wants of a signal; `record` stays empty if there is to be none.
int read(const ompl_signal* signal, std::optional<Signal>* record, const char* what) {
  if (signal == nullptr) return OMPL_OK;
  if (signal->op < OMPL_ADD32 || signal->op > OMPL_SET64) {
    return ompl::fail(OMPL_ERR_ARG, "{}: {} is no operation of a signal; use OMPL_ADD32 ... OMPL_SET64",
                      what, signal->op);
  }
  const bool wide = signal->op == OMPL_ADD64 || signal->op == OMPL_SET64;
  const bool sets = signal->op == OMPL_SET32 || signal->op == OMPL_SET64;
  record->emplace(Signal{.offset = signal->flag_addr,
                         .value = signal->value,
                         .op = wide ? ompl::SignalOp::update64 : ompl::SignalOp::update32,
                         .function = sets ? ompl::Function::set : ompl::Function::add});
  return OMPL_OK;
}

// Runs `call(context, record or nullptr)`.
template <class Call>
int with_signal(ompl_ctx* ctx, const ompl_signal* signal, const char* what, Call call) {
  return with(ctx, [&](Context& c) {
    std::optional<Signal> record;
    const int code = read(signal, &record, what);
    return code != OMPL_OK ? code : call(c, record.has_value() ? &*record : nullptr);
  });
}

// Runs `call(context)` for a rank that exists, or all; a shared context is completed as a whole.
template <class Call>
int with_ranks(ompl_ctx* ctx, uint32_t rank, const char* what, Call call) {
  return with(ctx, [=](Context& c) {
    if (rank != OMPL_ALL_RANKS) {
      if (const int code = ompl::check_rank(c, rank, what); code != OMPL_OK) return code;
    }
    return ctx == OMPL_CTX_SHARED ? ompl_process_quiet() : call(c);
  });
}

int null(const char* what, const char* which) {
  return ompl::fail(OMPL_ERR_ARG, "{}: {} is null", what, which);
}

int check_options(unsigned options, const char* what) {
  if ((options & ~unsigned{OMPL_LOCAL}) == 0) return OMPL_OK;
  return ompl::fail(OMPL_ERR_ARG, "{}: {:#x} are no options", what, options);
}

Handle* handle_of(ompl_handle* handle) {
  return handle != nullptr ? &ompl::handle_of(*handle) : nullptr;
}

int wait_some(ompl_ctx* ctx, ompl_handle* handles, size_t count, size_t* indices, size_t most,
              size_t* found, int64_t timeout_ns) {
  return with(ctx, [=](Context& c) {
    if (indices == nullptr || found == nullptr || (handles == nullptr && count > 0))
      return null("ompl_handle_wait_any or _some", "an argument");
    return ompl::await_some(c, {handles, count}, indices, most, found, Deadline::in(timeout_ns));
  });
}

}  // namespace

extern "C" {

int ompl_ctx_signal(ompl_ctx* ctx, uint32_t target_rank, const ompl_signal* signal,
                    int64_t timeout_ns) {
  constexpr const char* kName = "ompl_ctx_signal";
  return with_signal(ctx, signal, kName, [=](Context& c, const Signal* record) {
    if (record == nullptr) return null(kName, "the signal");
    return ompl::signal(c, target_rank, *record, Deadline::in(timeout_ns));
  });
}

static_assert(OMPL_ALL_RANKS == ompl::kNoRank);

int ompl_ctx_fence(ompl_ctx* ctx, uint32_t rank, int64_t timeout_ns) {
  // Where all ranks share memory nothing is waited for.
  if (const Context* const c = ctx == OMPL_CTX_SHARED ? nullptr : ompl::api::known_context(ctx);
      c != nullptr && rank < c->ranks && c->runtime->network == nullptr) {
    ompl_window_store_fence();
    return OMPL_OK;
  }
  return with_ranks(ctx, rank, "ompl_ctx_fence",
                    [=](Context& c) { return ompl::fence(c, Deadline::in(timeout_ns), rank); });
}

int ompl_ctx_flush_rank(ompl_ctx* ctx, uint32_t rank, int64_t timeout_ns) {
  return with_ranks(ctx, rank, "ompl_ctx_flush_rank",
                    [=](Context& c) { return ompl::flush(c, Deadline::in(timeout_ns), rank); });
}

int ompl_ctx_quiet_rank(ompl_ctx* ctx, uint32_t rank, int64_t timeout_ns) {
  return with_ranks(ctx, rank, "ompl_ctx_quiet_rank",
                    [=](Context& c) { return ompl::quiet(c, Deadline::in(timeout_ns), rank); });
}

int ompl_process_quiet(void) {
  return with(nullptr, [](Context& c) {
    const int code = ompl::quiet_all(c);
    return code == OMPL_OK && c.runtime->failures.hopeless() ? c.runtime->failures.report_failure()
                                                             : code;
  });
}

int ompl_put_nb(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                size_t length, const ompl_signal* signal, unsigned options, ompl_handle* handle) {
  if (ompl_put_nb_inline(ctx, src_addr, target_rank, dest_addr, length, signal, options, handle))
    return OMPL_OK;
  return with_signal(ctx, signal, "ompl_put_nb", [=](Context& c, const Signal* record) {
    if (const int code = check_options(options, "ompl_put_nb"); code != OMPL_OK) return code;
    return ompl::put_nb(c, pointer(src_addr), target_rank, dest_addr, length, record,
                        (options & OMPL_LOCAL) != 0, handle_of(handle));
  });
}

int ompl_get_nb(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                size_t length, ompl_handle* handle) {
  return with(ctx, [=](Context& c) {
    return ompl::get_nb(c, pointer(src_addr), target_rank, dest_addr, length, handle_of(handle));
  });
}

int ompl_signal_nb(ompl_ctx* ctx, uint32_t target_rank, const ompl_signal* signal) {
  constexpr const char* kName = "ompl_signal_nb";
  return with_signal(ctx, signal, kName, [=](Context& c, const Signal* record) {
    return record != nullptr ? ompl::signal_nb(c, target_rank, *record) : null(kName, "the signal");
  });
}

int ompl_handle_test(ompl_ctx* ctx, ompl_handle* handle) {
  return with(ctx, [=](Context& c) {
    if (handle == nullptr) return null("ompl_handle_test", "the handle");
    return ompl::progress_and_test(c, *handle_of(handle));
  });
}

int ompl_handle_test_source(ompl_ctx* ctx, ompl_handle* handle) {
  return with(ctx, [=](Context& c) {
    if (handle == nullptr) return null("ompl_handle_test_source", "the handle");
    return ompl::progress_and_test_source(c, *handle_of(handle));
  });
}

int ompl_handle_wait(ompl_ctx* ctx, ompl_handle* handle, int64_t timeout_ns) {
  return with(ctx, [=](Context& c) {
    if (handle == nullptr) return null("ompl_handle_wait", "the handle");
    return ompl::await(c, *handle_of(handle), Deadline::in(timeout_ns));
  });
}

int ompl_handle_wait_any(ompl_ctx* ctx, ompl_handle* handles, size_t count, size_t* which,
                         int64_t timeout_ns) {
  size_t index = SIZE_MAX;
  size_t found = 0;
  const int code =
      wait_some(ctx, handles, count, which != nullptr ? &index : nullptr, 1, &found, timeout_ns);
  if (code == OMPL_OK || found > 0) *which = index;
  return code;
}

int ompl_handle_wait_some(ompl_ctx* ctx, ompl_handle* handles, size_t count, size_t* indices,
                          size_t* found, int64_t timeout_ns) {
  return wait_some(ctx, handles, count, indices, count, found, timeout_ns);
}

int ompl_handle_wait_all(ompl_ctx* ctx, ompl_handle* handles, size_t count, int64_t timeout_ns) {
  return with(ctx, [=](Context& c) {
    if (handles == nullptr && count > 0) return null("ompl_handle_wait_all", "the list of handles");
    return ompl::await_all(c, {handles, count}, Deadline::in(timeout_ns));
  });
}

int ompl_ctx_wait_until(ompl_ctx* ctx, const ompl_condition* condition, int64_t timeout_ns) {
  return with(ctx, [=](Context& c) {
    if (condition == nullptr) return null("ompl_ctx_wait_until", "the condition");
    return ompl::wait_until(c, *condition, Deadline::in(timeout_ns));
  });
}

int ompl_ctx_wait_any(ompl_ctx* ctx, const ompl_condition* conditions, size_t count, size_t* which,
                      int64_t timeout_ns) {
  return with(ctx, [=](Context& c) {
    size_t found = 0;
    return ompl::wait_some(c, {conditions, count}, which, 1, &found, Deadline::in(timeout_ns));
  });
}

int ompl_ctx_wait_some(ompl_ctx* ctx, const ompl_condition* conditions, size_t count, size_t* indices,
                       size_t* found, int64_t timeout_ns) {
  return with(ctx, [=](Context& c) {
    return ompl::wait_some(c, {conditions, count}, indices, count, found, Deadline::in(timeout_ns));
  });
}

int ompl_ctx_wait_all(ompl_ctx* ctx, const ompl_condition* conditions, size_t count,
                      int64_t timeout_ns) {
  return with(ctx, [=](Context& c) {
    return ompl::wait_all(c, {conditions, count}, Deadline::in(timeout_ns));
  });
}

int ompl_ctx_put_strided(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                         const ompl_strided* block, const ompl_signal* signal, int64_t timeout_ns) {
  constexpr const char* kName = "ompl_ctx_put_strided";
  return with_signal(ctx, signal, kName, [=](Context& c, const Signal* record) {
    if (block == nullptr) return null(kName, "the block");
    return ompl::put_strided(c, pointer(src_addr), target_rank, dest_addr, *block, record,
                             Deadline::in(timeout_ns));
  });
}

int ompl_ctx_get_strided(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                         const ompl_strided* block, int64_t timeout_ns) {
  return with(ctx, [=](Context& c) {
    if (block == nullptr) return null("ompl_ctx_get_strided", "the block");
    return ompl::get_strided(c, pointer(src_addr), target_rank, dest_addr, *block,
                             Deadline::in(timeout_ns));
  });
}

int ompl_ctx_put_indexed(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                         const ompl_indexed* list, const ompl_signal* signal, int64_t timeout_ns) {
  constexpr const char* kName = "ompl_ctx_put_indexed";
  return with_signal(ctx, signal, kName, [=](Context& c, const Signal* record) {
    if (list == nullptr) return null(kName, "the list");
    return ompl::put_indexed(c, pointer(src_addr), target_rank, dest_addr, *list, record,
                             Deadline::in(timeout_ns));
  });
}

int ompl_ctx_get_indexed(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                         const ompl_indexed* list, int64_t timeout_ns) {
  return with(ctx, [=](Context& c) {
    if (list == nullptr) return null("ompl_ctx_get_indexed", "the list");
    return ompl::get_indexed(c, pointer(src_addr), target_rank, dest_addr, *list,
                             Deadline::in(timeout_ns));
  });
}

int ompl_put_strided_nb(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                        const ompl_strided* block, const ompl_signal* signal, unsigned options,
                        ompl_handle* handle) {
  constexpr const char* kName = "ompl_put_strided_nb";
  return with_signal(ctx, signal, kName, [=](Context& c, const Signal* record) {
    if (block == nullptr) return null(kName, "the block");
    if (const int code = check_options(options, kName); code != OMPL_OK) return code;
    return ompl::put_strided_nb(c, pointer(src_addr), target_rank, dest_addr, *block, record,
                                (options & OMPL_LOCAL) != 0, handle_of(handle));
  });
}

int ompl_get_strided_nb(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                        const ompl_strided* block, ompl_handle* handle) {
  return with(ctx, [=](Context& c) {
    if (block == nullptr) return null("ompl_get_strided_nb", "the block");
    return ompl::get_strided_nb(c, pointer(src_addr), target_rank, dest_addr, *block,
                                handle_of(handle));
  });
}

int ompl_put_indexed_nb(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                        const ompl_indexed* list, const ompl_signal* signal, unsigned options,
                        ompl_handle* handle) {
  constexpr const char* kName = "ompl_put_indexed_nb";
  return with_signal(ctx, signal, kName, [=](Context& c, const Signal* record) {
    if (list == nullptr) return null(kName, "the list");
    if (const int code = check_options(options, kName); code != OMPL_OK) return code;
    return ompl::put_indexed_nb(c, pointer(src_addr), target_rank, dest_addr, *list, record,
                                (options & OMPL_LOCAL) != 0, handle_of(handle));
  });
}

int ompl_get_indexed_nb(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                        const ompl_indexed* list, ompl_handle* handle) {
  return with(ctx, [=](Context& c) {
    if (list == nullptr) return null("ompl_get_indexed_nb", "the list");
    return ompl::get_indexed_nb(c, pointer(src_addr), target_rank, dest_addr, *list, handle_of(handle));
  });
}

int ompl_register(const void* address, size_t length) {
  return with(nullptr, [=](Context& c) { return c.runtime->memory.register_memory(address, length); });
}

int ompl_unregister(const void* address) {
  return with(nullptr, [=](Context& c) { return c.runtime->memory.unregister_memory(address); });
}

int ompl_progress(ompl_ctx* ctx, int64_t timeout_ns) {
  return with(ctx, [=](Context& c) { return ompl::progress(c, Deadline::in(timeout_ns)); });
}

int ompl_set_progress_thread(int on) {
  constexpr const char* kName = "ompl_set_progress_thread";
  return with(nullptr, [=](Context& c) {
    if (on != 0 && on != 1) return ompl::fail(OMPL_ERR_ARG, "{}: {} is neither 0 nor 1", kName, on);
    if (const int may = ompl::calls::may_wait(kName); may != OMPL_OK) return may;
    ompl::ProgressThread& thread = c.runtime->progress;
    return on == 1 ? thread.begin_service() : thread.end_service();
  });
}

int ompl_progress_thread(void) {
  return with(nullptr, [](const Context& c) { return c.runtime->progress.serves() ? 1 : 0; });
}

int ompl_handle_then(ompl_handle* handle, ompl_callback_fn callback, void* arg) {
  return with(nullptr, [=](Context& c) {
    if (handle == nullptr) return null("ompl_handle_then", "the handle");
    return ompl::call_back(c, *handle_of(handle), callback, arg);
  });
}

int ompl_flag_then(ompl_watch* watch, const ompl_condition* condition, ompl_callback_fn callback,
                   void* arg) {
  return with(nullptr, [=](Context& c) {
    if (watch == nullptr || condition == nullptr)
      return null("ompl_flag_then", watch == nullptr ? "the watch" : "the condition");
    return ompl::call_back(c, reinterpret_cast<ompl::Watch&>(*watch), *condition, callback, arg);
  });
}

int ompl_mpi_lock(void) {
  bool& locked = ompl::arch::mpi_locked_by_user();
  if (locked) return ompl::fail(OMPL_ERR_STATE, "ompl_mpi_lock: this thread holds the lock already");
  ompl::arch::mpi_mutex().lock();
  locked = true;
  return OMPL_OK;
}

int ompl_mpi_unlock(void) {
  bool& locked = ompl::arch::mpi_locked_by_user();
  if (!locked) return ompl::fail(OMPL_ERR_STATE, "ompl_mpi_unlock: this thread does not hold the lock");
  locked = false;
  ompl::arch::mpi_mutex().unlock();
  return OMPL_OK;
}

void ompl_abort(int exit_code, const char* why) {
  // A parent process sees the lowest eight bits only, and 0 would be success.
  if (exit_code < 1 || exit_code > 255) {
    ompl::log::warn(
        "ompl_abort: {} is no exit code of a failure, which is 1 to 255; the job ends with 1",
        exit_code);
    exit_code = 1;
  }
  with(nullptr, [=](Context& c) {
    c.runtime->bootstrap->abort(exit_code, why != nullptr ? why : "ompl_abort");
    return static_cast<int>(OMPL_OK);
  });
  std::_Exit(exit_code);
}

int ompl_job_exit(int status) {
  if (status < 0 || status > 255)
    return ompl::fail(OMPL_ERR_ARG, "ompl_job_exit: {} is no exit code; use 0 to 255", status);
  const int code = with(nullptr, [=](Context& c) {
    c.runtime->bootstrap->abort(status, status == 0 ? "" : "ompl_job_exit");
    return static_cast<int>(OMPL_OK);
  });
  if (code != OMPL_OK) return code;
  std::_Exit(status);
}

int ompl_failed_ranks(uint32_t* ranks, size_t capacity, size_t* count) {
  return with(nullptr, [=](Context& c) {
    if (count == nullptr || (ranks == nullptr && capacity != 0))
      return ompl::fail(OMPL_ERR_ARG, "ompl_failed_ranks: {} is null",
                        count == nullptr ? "the pointer to the count" : "the list of ranks");
    auto& failures = c.runtime->failures;
    failures.look_for_broken(0, c.ranks);  // what calls have reported and no look has found yet
    *count = failures.failed_ranks({ranks, capacity});
    return static_cast<int>(OMPL_OK);
  });
}

int ompl_stop(void) {
  return with(nullptr, [=](Context& c) {
    if (const int code = ompl::calls::may_wait("ompl_stop"); code != OMPL_OK) return code;
    const int code = ompl::quiet_all(c);
    c.runtime->failures.stop();
    return code;
  });
}

int ompl_stopped_ranks(uint32_t* ranks, size_t capacity, size_t* count) {
  return with(nullptr, [=](Context& c) {
    if (count == nullptr || (ranks == nullptr && capacity != 0))
      return null("ompl_stopped_ranks",
                  count == nullptr ? "the pointer to the count" : "the list of ranks");
    *count = c.runtime->failures.stopped_ranks({ranks, capacity});
    return static_cast<int>(OMPL_OK);
  });
}

int ompl_ctx_statistics(ompl_ctx* ctx, ompl_statistics* out) {
  return with(ctx, [=](const Context& c) {
    constexpr const char* kName = "ompl_ctx_statistics";
    if (out == nullptr || out->size < sizeof out->size)
      return ompl::fail(OMPL_ERR_ARG, "{}: begin with OMPL_STATISTICS_INIT", kName);
    if (c.runtime->settings.statistics != "1")
      return ompl::fail(OMPL_ERR_UNSUPPORTED, "{}: set OMPL_STATISTICS=1 for the program", kName);
    const size_t size = std::min(out->size, sizeof *out);
    std::memcpy(out, &c.statistics, size);
    out->size = size;
    return static_cast<int>(OMPL_OK);
  });
}

}  // extern "C"
