// SPDX-License-Identifier: BSD-3-Clause
// The interposer for this layer's own operations: preloaded before libomnipgas, of which nothing is linked. What is
// recorded of each function stands in docs/reference/trace-format.md. Here: begin and end, and the functions of ompl.h.
#include <cstdio>
#include <cstdlib>

#include <omnipgas/ompl_memory.h>

#include "call.hpp"

namespace ompl::trace {

namespace {

__attribute__((constructor)) void first_look_at_the_clock() { tracer.clock.start(); }

FileHeader make_header() {
  FileHeader header = tracer.header_of_process(static_cast<uint32_t>(OMPL_REAL(ompl_rank)()),
                                               static_cast<uint32_t>(OMPL_REAL(ompl_size)()));
  header.thread_level = 3;
  std::snprintf(header.library, sizeof header.library, "OmniPGAS %s", OMPL_REAL(ompl_version)());
  tracer.clock.calibrate();
  header.clock[0] = tracer.clock_point();
  header.sum = sum_of(header);
  return header;
}

void start(uint64_t begin, uint64_t end, void* caller) {
  const char* const folder = std::getenv("OMPL_TRACE_DIR");
  if (folder == nullptr) return;
  const FileHeader header = make_header();
  if (!create_halo_table() || !create_team_tables() || !tracer.start(folder, header))
    return tracer.stop();
  CommunicatorDefinition world{};
  world.global = world.id = 1;
  world.size = header.ranks;
  world.rank = header.rank;
  world.kind = Kind::kCommunicator;
  world.made_by = Kind::kInit;
  tracer.definitions.append(world);
  if (!tracer.record_init(begin, end, caller)) tracer.stop();
}

}  // namespace

}  // namespace ompl::trace

using ompl::trace::tracer;
using ompl::trace::word_number;

namespace {
// One rank ends the whole job.
void note_end_of_job(int exit_code, void* caller) {
  if (!tracer.recording()) return;
  ompl::trace::Call call(ompl::trace::Kind::kAbort, caller, {.tag = exit_code});
  call.run([] { return OMPL_OK; });
  call.append();
  tracer.file.header().code = exit_code;
  tracer.file.header().state = ompl::trace::State::kAborted;
}

int32_t one_or_all(uint32_t rank) {
  return rank == OMPL_ALL_RANKS ? ompl::trace::kNoPeer : static_cast<int32_t>(rank);
}
}  // namespace

extern "C" {

// libomnipgas looks whether this is there (src/api/process.cpp), and then lets nothing be done without a call of it.
OMPL_API extern const char ompl_tracer = 1;  // NOLINT(readability-identifier-naming)

int ompl_init() {
  const uint64_t begin = tracer.clock.ticks();
  const int code = OMPL_REAL(ompl_init)();
  const uint64_t end = tracer.clock.ticks();
  if (code == OMPL_OK) ompl::trace::start(begin, end, __builtin_return_address(0));
  return code;
}

int ompl_finalize() {
  const bool records = tracer.recording();
  if (records) tracer.file.header().clock[1] = tracer.clock_point();
  const int code = ompl::trace::traced(ompl::trace::Kind::kFinalize, __builtin_return_address(0), {},
                                       [] { return OMPL_REAL(ompl_finalize)(); });
  if (!records) return code;
  tracer.file.header().state = ompl::trace::State::kFinalized;
  tracer.stop();
  return code;
}

void ompl_abort(int exit_code, const char* why) {
  note_end_of_job(exit_code, __builtin_return_address(0));
  OMPL_REAL(ompl_abort)(exit_code, why);
}
int ompl_job_exit(int status) {
  if (status >= 0 && status <= UINT8_MAX) note_end_of_job(status, __builtin_return_address(0));
  return OMPL_REAL(ompl_job_exit)(status);
}

int ompl_put(uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr, size_t length) {
  OMPL_TRACED(kOmplPut, ompl_put, (src_addr, target_rank, dest_addr, length),
              static_cast<int32_t>(target_rank), length);
}
int ompl_ctx_put(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                 size_t length, int64_t timeout_ns) {
  OMPL_TRACED(kOmplPut, ompl_ctx_put, (ctx, src_addr, target_rank, dest_addr, length, timeout_ns),
              static_cast<int32_t>(target_rank), length);
}
int ompl_get(uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr, size_t length) {
  OMPL_TRACED(kOmplGet, ompl_get, (src_addr, target_rank, dest_addr, length),
              static_cast<int32_t>(target_rank), length);
}
int ompl_ctx_get(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                 size_t length, int64_t timeout_ns) {
  OMPL_TRACED(kOmplGet, ompl_ctx_get, (ctx, src_addr, target_rank, dest_addr, length, timeout_ns),
              static_cast<int32_t>(target_rank), length);
}
int ompl_put_word(uint32_t target_rank, uint64_t flag_addr) {
  OMPL_TRACED(kOmplPutWord, ompl_put_word, (target_rank, flag_addr), static_cast<int32_t>(target_rank),
              0, word_number(flag_addr));
}
int ompl_ctx_put_word(ompl_ctx* ctx, uint32_t target_rank, uint64_t flag_addr, int64_t timeout_ns) {
  OMPL_TRACED(kOmplPutWord, ompl_ctx_put_word, (ctx, target_rank, flag_addr, timeout_ns),
              static_cast<int32_t>(target_rank), 0, word_number(flag_addr));
}
int ompl_put_signal(uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr, size_t length,
                    uint64_t flag_addr) {
  OMPL_TRACED(kOmplPutSignal, ompl_put_signal, (src_addr, target_rank, dest_addr, length, flag_addr),
              static_cast<int32_t>(target_rank), length, word_number(flag_addr));
}
int ompl_ctx_put_signal(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                        size_t length, uint64_t flag_addr, int64_t timeout_ns) {
  OMPL_TRACED(kOmplPutSignal, ompl_ctx_put_signal,
              (ctx, src_addr, target_rank, dest_addr, length, flag_addr, timeout_ns),
              static_cast<int32_t>(target_rank), length, word_number(flag_addr));
}
int ompl_wait(uint64_t flag_addr) {
  OMPL_TRACED(kOmplWait, ompl_wait, (flag_addr), .request = word_number(flag_addr));
}
int ompl_ctx_wait(ompl_ctx* ctx, uint64_t flag_addr, int64_t timeout_ns) {
  OMPL_TRACED(kOmplWait, ompl_ctx_wait, (ctx, flag_addr, timeout_ns),
              .request = word_number(flag_addr));
}
int ompl_flush() { OMPL_TRACED(kOmplFlush, ompl_flush, (), ); }
int ompl_ctx_flush(ompl_ctx* ctx, int64_t timeout_ns) {
  OMPL_TRACED(kOmplFlush, ompl_ctx_flush, (ctx, timeout_ns), );
}
int ompl_quiet() { OMPL_TRACED(kOmplQuiet, ompl_quiet, (), ); }
// Completes what is outstanding, as the context's quiet does.
int ompl_ctx_destroy(ompl_ctx* ctx) { OMPL_TRACED(kOmplQuiet, ompl_ctx_destroy, (ctx), ); }
int ompl_ctx_quiet(ompl_ctx* ctx, int64_t timeout_ns) {
  OMPL_TRACED(kOmplQuiet, ompl_ctx_quiet, (ctx, timeout_ns), );
}
int ompl_ctx_flush_rank(ompl_ctx* ctx, uint32_t rank, int64_t timeout_ns) {
  OMPL_TRACED(kOmplFlush, ompl_ctx_flush_rank, (ctx, rank, timeout_ns), .peer = one_or_all(rank));
}
int ompl_ctx_quiet_rank(ompl_ctx* ctx, uint32_t rank, int64_t timeout_ns) {
  OMPL_TRACED(kOmplQuiet, ompl_ctx_quiet_rank, (ctx, rank, timeout_ns), .peer = one_or_all(rank));
}
int ompl_process_quiet() { OMPL_TRACED(kOmplQuiet, ompl_process_quiet, (), ); }
// Completes all that the rank has sent.
int ompl_stop() { OMPL_TRACED(kOmplQuiet, ompl_stop, (), ); }
int ompl_ctx_fence(ompl_ctx* ctx, uint32_t rank, int64_t timeout_ns) {
  OMPL_TRACED(kOmplFence, ompl_ctx_fence, (ctx, rank, timeout_ns), .peer = one_or_all(rank));
}
int ompl_poll(uint64_t flag_addr) {
  ompl::trace::Call call(ompl::trace::Kind::kOmplPoll, __builtin_return_address(0),
                         {.request = word_number(flag_addr)});
  return call.look([&] { return OMPL_REAL(ompl_poll)(flag_addr); });
}
int ompl_barrier() { OMPL_TRACED(kOmplBarrier, ompl_barrier, (), ); }
int ompl_barrier_timed(int64_t timeout_ns) {
  OMPL_TRACED(kOmplBarrier, ompl_barrier_timed, (timeout_ns), );
}
int ompl_alloc(size_t size, uint64_t* offset) {
  OMPL_TRACED(kOmplAlloc, ompl_alloc, (size, offset), .bytes = size);
}
int ompl_free(uint64_t offset) { OMPL_TRACED(kOmplFree, ompl_free, (offset), ); }
int ompl_adopt(void* address, size_t length, uint64_t* offset) {
  OMPL_TRACED(kOmplAlloc, ompl_adopt, (address, length, offset), .bytes = length);
}
int ompl_unadopt(uint64_t offset) { OMPL_TRACED(kOmplFree, ompl_unadopt, (offset), ); }

}  // extern "C"
