// SPDX-License-Identifier: BSD-3-Clause
// The operations of a context behind their inline fast paths: full checks, then the mapped or the network way. Results are
// as ompl.h and ompl_ext.h document them. Any thread, with a context that no other thread uses meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/data/handle.hpp"
#include "core/data/update.hpp"
#include "core/job/context.hpp"
#include "core/wait/deadline.hpp"

namespace ompl {

int put(Context& c, const void* source, uint32_t rank, uint64_t offset, std::size_t length,
        Deadline deadline = Deadline::never());
int get(Context& c, void* target, uint32_t rank, uint64_t offset, std::size_t length,
        Deadline deadline = Deadline::never());
// A record is an update: `signal` sends it; `atomic` also fetches the value before, unless null.
int signal(Context& c, uint32_t rank, const Signal& record, Deadline deadline = Deadline::never());
int atomic(Context& c, uint32_t rank, const Signal& record, uint64_t* before,
           Deadline deadline = Deadline::never());
int put_signal(Context& c, const void* source, uint32_t rank, uint64_t offset, std::size_t length,
               const Signal& record, Deadline deadline = Deadline::never());
// A signal that was checked, or to a flag of the layer's own, which no user's check lets through.
int signal_any(Context& c, uint32_t rank, const Signal& record, Deadline deadline);

// To one rank, or to all: kNoRank.
int flush(Context& c, Deadline deadline = Deadline::never(), uint32_t rank = kNoRank);
int quiet(Context& c, Deadline deadline = Deadline::never(), uint32_t rank = kNoRank);
int fence(Context& c, Deadline deadline, uint32_t rank);
// Everything that any context of this rank has sent is applied or visible.
int quiet_all(Context& c);
// Drives communication once and runs remote calls, for those who wait by other means than a Blocker: a progress thread.
void drive(Context& c);

// --- Nonblocking, and waiting for handles (handles.cpp)
// OMPL_OK, OMPL_PENDING, OMPL_RETRY_* or an error; `handle` may be null but for atomics. `record` may be null. `local`: the handle
// is complete when the source may be reused.
int put_nb(Context& c, const void* source, uint32_t rank, uint64_t offset, std::size_t length,
           const Signal* record, bool local, Handle* handle);
int get_nb(Context& c, void* target, uint32_t rank, uint64_t offset, std::size_t length,
           Handle* handle);
int signal_nb(Context& c, uint32_t rank, const Signal& record);
int atomic_nb(Context& c, uint32_t rank, const Signal& record, void* before, Handle* handle);

int test(Context& c, Handle& handle);  // 1: complete, 0: not, or an error; without progress,
int progress_and_test(Context& c, Handle& handle);               // and with
int progress_and_test_source(Context& c, const Handle& handle);  // the same, of a put's source
int await(Context& c, Handle& handle, Deadline deadline);
int await_some(Context& c, std::span<ompl_handle> handles, std::size_t* indices, std::size_t most,
               std::size_t* found, Deadline deadline);
int await_all(Context& c, std::span<ompl_handle> handles, Deadline deadline);

// --- Strided and indexed data (shapes.cpp). `record` may be null.
int put_strided(Context& c, const void* source, uint32_t rank, uint64_t offset,
                const ompl_strided& block, const Signal* record, Deadline deadline);
int get_strided(Context& c, void* target, uint32_t rank, uint64_t offset, const ompl_strided& block,
                Deadline deadline);
int put_indexed(Context& c, const void* source, uint32_t rank, uint64_t offset,
                const ompl_indexed& list, const Signal* record, Deadline deadline);
int get_indexed(Context& c, void* target, uint32_t rank, uint64_t offset, const ompl_indexed& list,
                Deadline deadline);
// The same without waiting, as put_nb() and get_nb().
int put_strided_nb(Context& c, const void* source, uint32_t rank, uint64_t offset,
                   const ompl_strided& block, const Signal* record, bool local, Handle* handle);
int get_strided_nb(Context& c, void* target, uint32_t rank, uint64_t offset, const ompl_strided& block,
                   Handle* handle);
int put_indexed_nb(Context& c, const void* source, uint32_t rank, uint64_t offset,
                   const ompl_indexed& list, const Signal* record, bool local, Handle* handle);
int get_indexed_nb(Context& c, void* target, uint32_t rank, uint64_t offset, const ompl_indexed& list,
                   Handle* handle);

}  // namespace ompl
