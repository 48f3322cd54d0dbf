// SPDX-License-Identifier: BSD-3-Clause
// The interposer's part for ompl_ext.h but for the atomics (atomics.cpp): signals, nonblocking operations, waits for
// conditions, strided and indexed data, callbacks.
#include <utility>

#include "call.hpp"

namespace ompl::trace {

namespace {

Fields to(uint32_t rank, uint64_t bytes = 0) {
  return {.peer = static_cast<int32_t>(rank), .bytes = bytes};
}

// What ompl_put_word() sends is told by the record alone.
bool is_plain(const ompl_signal& signal) { return signal.op == OMPL_ADD32 && signal.value == 1; }

Fields of_signal(uint32_t rank, const ompl_signal* signal) {
  Fields fields = to(rank);
  if (signal != nullptr) fields.request = word_number(signal->flag_addr);
  return fields;
}

uint64_t bytes_of(const ompl_strided* block) {
  if (block == nullptr || block->dimensions < 0 || block->dimensions > OMPL_MAX_DIMENSIONS) return 0;
  uint64_t bytes = block->element;
  for (int32_t i = 0; i < block->dimensions && block->extents != nullptr; ++i)
    bytes *= block->extents[i];
  return bytes;
}
uint64_t bytes_of(const ompl_indexed* list) {
  return list != nullptr ? uint64_t{list->element} * list->count : 0;
}

// A put of elements, and its signal.
template <typename Function>
int put(Kind kind, void* caller, const Fields& fields, const ompl_signal* signal,
        const Function& real) {
  Call call(kind, caller, fields);
  const int code = call.run(real);
  call.append();
  if (signal != nullptr) call.append(word_of(*signal));
  return code;
}

// Puts and gets that do not wait, of whatever shape.
template <typename Function>
int put_nb(void* caller, Fields fields, const ompl_signal* signal, unsigned options,
           ompl_handle* handle, const Function& real) {
  fields.tag = static_cast<int32_t>(options);
  Call call(Kind::kOmplPutNb, caller, fields);
  const int code = call.post(real, handle);
  if (Call::was_posted(code) && signal != nullptr) call.append(word_of(*signal));
  return code;
}
template <typename Function>
int get_nb(void* caller, const Fields& fields, ompl_handle* handle, const Function& real) {
  Call call(Kind::kOmplGetNb, caller, fields);
  return call.post(real, handle);
}

// That of a completed operation, which is asked once.
uint32_t take_id(const Call& call, ompl_handle& handle) {
  return call.is_recorded() ? static_cast<uint32_t>(std::exchange(id_of(handle), 0)) : 0;
}

// A completion of several, by their numbers in the list.
template <typename Number>
void append_completed(Call& call, ompl_handle* handles, std::size_t count, const Number& number) {
  call.record().flags |= kSeveral;
  call.record().bytes = count;
  call.append();
  call.append_ids(count, [&](std::size_t i) { return take_id(call, handles[number(i)]); });
}

template <typename Number>
void append_held(Call& call, const ompl_condition* conditions, std::size_t count,
                 const Number& number) {
  call.append();
  for (std::size_t i = 0; i < count; ++i) call.append(word_of(conditions[number(i)]));
}

// The same of waits for memory. Signals and atomics change words of 32 and 64 bits; of puts nobody knows which word they change.
template <typename Number>
void append_memory(Call& call, const ompl_condition* conditions, std::size_t count,
                   const Number& number) {
  call.append();
  for (std::size_t i = 0; i < count; ++i) {
    ompl_condition held = conditions[number(i)];
    held.comparison &= ~uint32_t{OMPL_SIGNED};
    if (held.width >= 32) call.append(word_of(held));
  }
}

}  // namespace

}  // namespace ompl::trace

using namespace ompl::trace;  // NOLINT(google-build-using-namespace)

extern "C" {

int ompl_ctx_signal(ompl_ctx* ctx, uint32_t target_rank, const ompl_signal* signal,
                    int64_t timeout_ns) {
  Call call(Kind::kOmplSignal, __builtin_return_address(0), of_signal(target_rank, signal));
  const int code =
      call.run([&] { return OMPL_REAL(ompl_ctx_signal)(ctx, target_rank, signal, timeout_ns); });
  call.append();
  if (signal != nullptr && !is_plain(*signal)) call.append(word_of(*signal));
  return code;
}
int ompl_signal_nb(ompl_ctx* ctx, uint32_t target_rank, const ompl_signal* signal) {
  Call call(Kind::kOmplSignalNb, __builtin_return_address(0), of_signal(target_rank, signal));
  const int code = call.post([&] { return OMPL_REAL(ompl_signal_nb)(ctx, target_rank, signal); });
  if (code == OMPL_OK && !is_plain(*signal)) call.append(word_of(*signal));
  return code;
}

int ompl_put_nb(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                size_t length, const ompl_signal* signal, unsigned options, ompl_handle* handle) {
  return put_nb(__builtin_return_address(0), to(target_rank, length), signal, options, handle, [&] {
    return OMPL_REAL(ompl_put_nb)(ctx, src_addr, target_rank, dest_addr, length, signal, options,
                                  handle);
  });
}
int ompl_get_nb(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                size_t length, ompl_handle* handle) {
  return get_nb(__builtin_return_address(0), to(target_rank, length), handle, [&] {
    return OMPL_REAL(ompl_get_nb)(ctx, src_addr, target_rank, dest_addr, length, handle);
  });
}
int ompl_put_strided_nb(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                        const ompl_strided* block, const ompl_signal* signal, unsigned options,
                        ompl_handle* handle) {
  return put_nb(__builtin_return_address(0), to(target_rank, bytes_of(block)), signal, options, handle,
                [&] {
                  return OMPL_REAL(ompl_put_strided_nb)(ctx, src_addr, target_rank, dest_addr, block,
                                                        signal, options, handle);
                });
}
int ompl_get_strided_nb(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                        const ompl_strided* block, ompl_handle* handle) {
  return get_nb(__builtin_return_address(0), to(target_rank, bytes_of(block)), handle, [&] {
    return OMPL_REAL(ompl_get_strided_nb)(ctx, src_addr, target_rank, dest_addr, block, handle);
  });
}
int ompl_put_indexed_nb(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                        const ompl_indexed* list, const ompl_signal* signal, unsigned options,
                        ompl_handle* handle) {
  return put_nb(__builtin_return_address(0), to(target_rank, bytes_of(list)), signal, options, handle,
                [&] {
                  return OMPL_REAL(ompl_put_indexed_nb)(ctx, src_addr, target_rank, dest_addr, list,
                                                        signal, options, handle);
                });
}
int ompl_get_indexed_nb(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                        const ompl_indexed* list, ompl_handle* handle) {
  return get_nb(__builtin_return_address(0), to(target_rank, bytes_of(list)), handle, [&] {
    return OMPL_REAL(ompl_get_indexed_nb)(ctx, src_addr, target_rank, dest_addr, list, handle);
  });
}

int ompl_handle_test(ompl_ctx* ctx, ompl_handle* handle) {
  Call call(Kind::kOmplHandleTest, __builtin_return_address(0), {});
  return call.look([&] {
    const int code = OMPL_REAL(ompl_handle_test)(ctx, handle);
    if (code == 1) call.record().request = take_id(call, *handle);
    return code;
  });
}
// A look at the source alone: the handle's completion is recorded when that is asked for.
int ompl_handle_test_source(ompl_ctx* ctx, ompl_handle* handle) {
  Call call(Kind::kOmplProgress, __builtin_return_address(0), {});
  return call.look([&] { return OMPL_REAL(ompl_handle_test_source)(ctx, handle); });
}
int ompl_handle_wait(ompl_ctx* ctx, ompl_handle* handle, int64_t timeout_ns) {
  Call call(Kind::kOmplHandleWait, __builtin_return_address(0), {});
  const int code = call.run([&] { return OMPL_REAL(ompl_handle_wait)(ctx, handle, timeout_ns); });
  if (code == OMPL_OK) call.record().request = take_id(call, *handle);
  call.append();
  return code;
}
int ompl_handle_wait_any(ompl_ctx* ctx, ompl_handle* handles, size_t count, size_t* which,
                         int64_t timeout_ns) {
  Call call(Kind::kOmplHandleWaitAny, __builtin_return_address(0), {});
  const int code =
      call.run([&] { return OMPL_REAL(ompl_handle_wait_any)(ctx, handles, count, which, timeout_ns); });
  if (code == OMPL_OK && *which < count) call.record().request = take_id(call, handles[*which]);
  call.append();
  return code;
}
int ompl_handle_wait_some(ompl_ctx* ctx, ompl_handle* handles, size_t count, size_t* indices,
                          size_t* found, int64_t timeout_ns) {
  Call call(Kind::kOmplHandleWaitSome, __builtin_return_address(0), {});
  const int code = call.run([&] {
    return OMPL_REAL(ompl_handle_wait_some)(ctx, handles, count, indices, found, timeout_ns);
  });
  append_completed(call, handles, code == OMPL_OK ? *found : 0,
                   [&](std::size_t i) { return indices[i]; });
  return code;
}
int ompl_handle_wait_all(ompl_ctx* ctx, ompl_handle* handles, size_t count, int64_t timeout_ns) {
  Call call(Kind::kOmplHandleWaitAll, __builtin_return_address(0), {});
  const int code =
      call.run([&] { return OMPL_REAL(ompl_handle_wait_all)(ctx, handles, count, timeout_ns); });
  append_completed(call, handles, code == OMPL_OK ? count : 0, [](std::size_t i) { return i; });
  return code;
}

int ompl_ctx_wait_until(ompl_ctx* ctx, const ompl_condition* condition, int64_t timeout_ns) {
  Call call(Kind::kOmplWaitUntil, __builtin_return_address(0), {});
  const int code = call.run([&] { return OMPL_REAL(ompl_ctx_wait_until)(ctx, condition, timeout_ns); });
  append_held(call, condition, code == OMPL_OK ? 1 : 0, [](std::size_t) { return 0; });
  return code;
}
int ompl_ctx_wait_any(ompl_ctx* ctx, const ompl_condition* conditions, size_t count, size_t* which,
                      int64_t timeout_ns) {
  Call call(Kind::kOmplWaitAny, __builtin_return_address(0), {});
  const int code =
      call.run([&] { return OMPL_REAL(ompl_ctx_wait_any)(ctx, conditions, count, which, timeout_ns); });
  append_held(call, conditions, code == OMPL_OK ? 1 : 0, [&](std::size_t) { return *which; });
  return code;
}
int ompl_ctx_wait_some(ompl_ctx* ctx, const ompl_condition* conditions, size_t count, size_t* indices,
                       size_t* found, int64_t timeout_ns) {
  Call call(Kind::kOmplWaitSome, __builtin_return_address(0), {});
  const int code = call.run([&] {
    return OMPL_REAL(ompl_ctx_wait_some)(ctx, conditions, count, indices, found, timeout_ns);
  });
  append_held(call, conditions, code == OMPL_OK ? *found : 0,
              [&](std::size_t i) { return indices[i]; });
  return code;
}
int ompl_ctx_wait_all(ompl_ctx* ctx, const ompl_condition* conditions, size_t count,
                      int64_t timeout_ns) {
  Call call(Kind::kOmplWaitAll, __builtin_return_address(0), {});
  const int code =
      call.run([&] { return OMPL_REAL(ompl_ctx_wait_all)(ctx, conditions, count, timeout_ns); });
  append_held(call, conditions, code == OMPL_OK ? count : 0, [](std::size_t i) { return i; });
  return code;
}

int ompl_wait_memory(ompl_ctx* ctx, const ompl_condition* condition, int64_t timeout_ns) {
  Call call(Kind::kOmplWaitMemory, __builtin_return_address(0), {});
  const int code = call.run([&] { return OMPL_REAL(ompl_wait_memory)(ctx, condition, timeout_ns); });
  append_memory(call, condition, code == OMPL_OK ? 1 : 0, [](std::size_t) { return 0; });
  return code;
}
int ompl_wait_memory_any(ompl_ctx* ctx, const ompl_condition* conditions, size_t count, size_t* which,
                         int64_t timeout_ns) {
  Call call(Kind::kOmplWaitMemory, __builtin_return_address(0), {});
  const int code = call.run(
      [&] { return OMPL_REAL(ompl_wait_memory_any)(ctx, conditions, count, which, timeout_ns); });
  append_memory(call, conditions, code == OMPL_OK ? 1 : 0, [&](std::size_t) { return *which; });
  return code;
}
int ompl_wait_memory_some(ompl_ctx* ctx, const ompl_condition* conditions, size_t count,
                          size_t* indices, size_t* found, int64_t timeout_ns) {
  Call call(Kind::kOmplWaitMemory, __builtin_return_address(0), {});
  const int code = call.run([&] {
    return OMPL_REAL(ompl_wait_memory_some)(ctx, conditions, count, indices, found, timeout_ns);
  });
  append_memory(call, conditions, code == OMPL_OK ? *found : 0,
                [&](std::size_t i) { return indices[i]; });
  return code;
}
int ompl_wait_memory_all(ompl_ctx* ctx, const ompl_condition* conditions, size_t count,
                         int64_t timeout_ns) {
  Call call(Kind::kOmplWaitMemory, __builtin_return_address(0), {});
  const int code =
      call.run([&] { return OMPL_REAL(ompl_wait_memory_all)(ctx, conditions, count, timeout_ns); });
  append_memory(call, conditions, code == OMPL_OK ? count : 0, [](std::size_t i) { return i; });
  return code;
}

int ompl_ctx_put_strided(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                         const ompl_strided* block, const ompl_signal* signal, int64_t timeout_ns) {
  return put(Kind::kOmplPutStrided, __builtin_return_address(0), to(target_rank, bytes_of(block)),
             signal, [&] {
               return OMPL_REAL(ompl_ctx_put_strided)(ctx, src_addr, target_rank, dest_addr, block,
                                                      signal, timeout_ns);
             });
}
int ompl_ctx_get_strided(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                         const ompl_strided* block, int64_t timeout_ns) {
  OMPL_TRACED(kOmplGetStrided, ompl_ctx_get_strided,
              (ctx, src_addr, target_rank, dest_addr, block, timeout_ns),
              static_cast<int32_t>(target_rank), bytes_of(block));
}
int ompl_ctx_put_indexed(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                         const ompl_indexed* list, const ompl_signal* signal, int64_t timeout_ns) {
  return put(Kind::kOmplPutIndexed, __builtin_return_address(0), to(target_rank, bytes_of(list)),
             signal, [&] {
               return OMPL_REAL(ompl_ctx_put_indexed)(ctx, src_addr, target_rank, dest_addr, list,
                                                      signal, timeout_ns);
             });
}
int ompl_ctx_get_indexed(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                         const ompl_indexed* list, int64_t timeout_ns) {
  OMPL_TRACED(kOmplGetIndexed, ompl_ctx_get_indexed,
              (ctx, src_addr, target_rank, dest_addr, list, timeout_ns),
              static_cast<int32_t>(target_rank), bytes_of(list));
}

int ompl_progress(ompl_ctx* ctx, int64_t timeout_ns) {
  Call call(Kind::kOmplProgress, __builtin_return_address(0), {});
  return call.look([&] { return OMPL_REAL(ompl_progress)(ctx, timeout_ns); });
}
int ompl_handle_then(ompl_handle* handle, ompl_callback_fn callback, void* arg) {
  Call call(Kind::kOmplHandleThen, __builtin_return_address(0), {});
  // Afterwards the handle may be gone.
  if (call.is_recorded() && handle != nullptr)
    call.record().request = static_cast<uint32_t>(id_of(*handle));
  const int code = call.run([&] { return OMPL_REAL(ompl_handle_then)(handle, callback, arg); });
  call.append();
  return code;
}
int ompl_flag_then(ompl_watch* watch, const ompl_condition* condition, ompl_callback_fn callback,
                   void* arg) {
  const NextWatch wait = take_next_watch();
  Call call(Kind::kOmplFlagThen, __builtin_return_address(0), {.request = wait.id});
  ompl_condition recorded{};
  if (condition != nullptr) recorded = *condition;
  if (wait.takes) recorded.comparison = OMPL_TAKE;
  const int code = call.run([&] { return OMPL_REAL(ompl_flag_then)(watch, condition, callback, arg); });
  append_held(call, &recorded, code == OMPL_OK ? 1 : 0, [](std::size_t) { return 0; });
  return code;
}

}  // extern "C"
