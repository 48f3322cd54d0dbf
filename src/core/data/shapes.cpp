// SPDX-License-Identifier: BSD-3-Clause
// Strided and indexed data: checked whole, then copied where the target is mapped. Else packed if the pieces are short, or
// posted piece by piece; one signal follows all of it.
#include "core/data/shapes.hpp"

#include "core/calls/scope.hpp"
#include "core/data/checks.hpp"
#include "core/data/operations.hpp"
#include "core/data/staging.hpp"
#include "core/job/runtime.hpp"
#include "core/network/network.hpp"
#include "util/status.hpp"

namespace ompl {
namespace {

// What is asked for: the direction, the addresses, and what follows.
struct Transfer {
  Call call;  // put or get
  std::byte* local;
  uint32_t rank;
  uint64_t offset;
  const Signal* record;  // null: none
  const char* what;      // the function, for messages
};

// `given` is what the user says of the shape. *on_device: `local` is memory of a GPU.
template <class Final, class Given>
int check(Context& c, const Transfer& t, const Given& given, Final* shape, bool* on_device) {
  if (const int code = shape->read(given, t.what); code != OMPL_OK) return code;
  const int where = check_local(c, t.local, t.what);
  if (where != OMPL_OK && where != kOnDevice) return where;
  *on_device = where == kOnDevice;
  if (const int code = check_data(c, t.rank, t.offset, 0, t.what); code != OMPL_OK) return code;
  if (!shape->empty()) {
    const auto check_range = [&](uint64_t begin, std::size_t length) {
      return check_data(c, t.rank, begin, length, t.what);
    };
    if (const int code = shape->check(check_range, t.offset); code != OMPL_OK) return code;
  }
  return check_record(c, t.rank, t.record, t.what);
}

void count(Context& c, const Transfer& t, std::size_t bytes) {
  t.call == Call::put ? c.count_put(bytes, t.record != nullptr) : c.count_get(bytes);
}

// Mapped, or without elements: done at once.
template <class Final>
bool is_direct(const Context& c, const Transfer& t, const Final& shape) {
  return shape.empty() || c.bases[t.rank] != nullptr;
}
template <class Final>
void move_direct(Context& c, const Transfer& t, const Final& shape) {
  if (shape.empty()) return;
  shape.copy(t.local, c.bases[t.rank] + t.offset, t.call == Call::put);
}

template <class Final, class Given>
int move(Context& c, const Transfer& t, const Given& given, Deadline deadline) {
  Final shape;
  bool on_device = false;
  if (const int code = check(c, t, given, &shape, &on_device); code != OMPL_OK) return code;
  if (on_device && !shape.empty())
    return c.runtime->staging.transfer(c, t.call, t.local, t.rank, shape.pieces(t.local, t.offset),
                                       shape.bytes(), t.record, deadline);
  Caller caller(c);
  if (is_direct(c, t, shape)) {
    move_direct(c, t, shape);
    count(c, t, shape.bytes());
    return t.record != nullptr ? signal_any(c, t.rank, *t.record, deadline) : OMPL_OK;
  }
  Runtime& runtime = *c.runtime;
  if (t.call == Call::put && runtime.remote_calls.packs(shape)) {
    // Whoever has no time to wait for a ring posts the pieces, of which the first may find room at once.
    const int code = runtime.remote_calls.put_packed(caller, t.rank, t.offset, shape, t.local, t.record,
                                                     deadline.finite(), false, nullptr);
    if (code == OMPL_OK) count(caller.now(), t, shape.bytes());
    if (code <= OMPL_OK && code != calls::Packing::kNotPacked) return code;
  } else if (t.call == Call::get && runtime.remote_calls.packs(shape)) {
    const int code =
        runtime.remote_calls.get_packed(caller, t.rank, t.offset, shape, t.local, deadline);
    if (code == OMPL_OK || code == OMPL_PENDING) count(caller.now(), t, shape.bytes());
    if (!calls::is_retry(code) && code != calls::Packing::kNotPacked) return code;
  }
  Sender& sender = runtime.network->sender;
  const int code = sender.transfer(caller.now(), t.call, t.rank, shape.pieces(t.local, t.offset),
                                   deadline, t.record != nullptr);
  if (code != OMPL_OK && code != OMPL_PENDING) return code;
  count(caller.now(), t, shape.bytes());
  return t.record == nullptr ? code : sender.signal_after(caller, t.rank, *t.record, code);
}

template <class Final, class Given>
int move_nb(Context& c, const Transfer& t, const Given& given, bool local, Handle* handle) {
  Final shape;
  bool on_device = false;
  int code = check(c, t, given, &shape, &on_device);
  if (code != OMPL_OK) return code;
  if (on_device && !shape.empty())
    return fail(OMPL_ERR_UNSUPPORTED, "{}: memory of a GPU needs the blocking call", t.what);
  Caller caller(c);
  Runtime& runtime = *c.runtime;
  if (is_direct(c, t, shape)) {
    move_direct(c, t, shape);
    if (t.record != nullptr && c.bases[t.rank] != nullptr) {
      runtime.sleepers.raise(t.rank, c.bases[t.rank], *t.record);
    } else if (t.record != nullptr) {
      code = runtime.network->sender.signal_nb(c, t.rank, *t.record);
    }
  } else {
    code = calls::Packing::kNotPacked;
    if (runtime.remote_calls.packs(shape))
      code = t.call == Call::put
                 ? runtime.remote_calls.put_packed(caller, t.rank, t.offset, shape, t.local, t.record,
                                                   true, !local && handle != nullptr, handle)
                 : runtime.remote_calls.get_packed_nb(caller, t.rank, t.offset, shape, t.local, handle);
    if (code == calls::Packing::kNotPacked)
      code = runtime.network->sender.transfer_nb(c, t.call, t.rank, shape.pieces(t.local, t.offset),
                                                 t.record, local, handle);
  }
  if (code == OMPL_OK || code == OMPL_PENDING) count(caller.now(), t, shape.bytes());
  if (code == OMPL_OK && handle != nullptr) handle->kind = Pending::Kind::none;
  return code;
}

Transfer put_of(const void* source, uint32_t rank, uint64_t offset, const Signal* record,
                const char* what) {
  auto* from = static_cast<std::byte*>(const_cast<void*>(source));  // only read
  return {Call::put, from, rank, offset, record, what};
}
Transfer get_of(void* target, uint32_t rank, uint64_t offset, const char* what) {
  return {Call::get, static_cast<std::byte*>(target), rank, offset, nullptr, what};
}

}  // namespace

int put_strided(Context& c, const void* source, uint32_t rank, uint64_t offset,
                const ompl_strided& block, const Signal* record, Deadline deadline) {
  return move<Strided>(c, put_of(source, rank, offset, record, "ompl_ctx_put_strided"), block,
                       deadline);
}

int get_strided(Context& c, void* target, uint32_t rank, uint64_t offset, const ompl_strided& block,
                Deadline deadline) {
  return move<Strided>(c, get_of(target, rank, offset, "ompl_ctx_get_strided"), block, deadline);
}

int put_indexed(Context& c, const void* source, uint32_t rank, uint64_t offset,
                const ompl_indexed& list, const Signal* record, Deadline deadline) {
  return move<Indexed>(c, put_of(source, rank, offset, record, "ompl_ctx_put_indexed"), list, deadline);
}

int get_indexed(Context& c, void* target, uint32_t rank, uint64_t offset, const ompl_indexed& list,
                Deadline deadline) {
  return move<Indexed>(c, get_of(target, rank, offset, "ompl_ctx_get_indexed"), list, deadline);
}

int put_strided_nb(Context& c, const void* source, uint32_t rank, uint64_t offset,
                   const ompl_strided& block, const Signal* record, bool local, Handle* handle) {
  return move_nb<Strided>(c, put_of(source, rank, offset, record, "ompl_put_strided_nb"), block, local,
                          handle);
}

int get_strided_nb(Context& c, void* target, uint32_t rank, uint64_t offset, const ompl_strided& block,
                   Handle* handle) {
  return move_nb<Strided>(c, get_of(target, rank, offset, "ompl_get_strided_nb"), block, false, handle);
}

int put_indexed_nb(Context& c, const void* source, uint32_t rank, uint64_t offset,
                   const ompl_indexed& list, const Signal* record, bool local, Handle* handle) {
  return move_nb<Indexed>(c, put_of(source, rank, offset, record, "ompl_put_indexed_nb"), list, local,
                          handle);
}

int get_indexed_nb(Context& c, void* target, uint32_t rank, uint64_t offset, const ompl_indexed& list,
                   Handle* handle) {
  return move_nb<Indexed>(c, get_of(target, rank, offset, "ompl_get_indexed_nb"), list, false, handle);
}

}  // namespace ompl
