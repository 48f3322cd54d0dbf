// SPDX-License-Identifier: BSD-3-Clause
// The interposer's part for halo.h. A halo's number is the same on every rank, since making one is collective.
#include <omnipgas/halo.h>

#include <mutex>

#include "call.hpp"
#include "writer/handles.hpp"

namespace ompl::trace {

namespace {

constexpr std::size_t kMostHalos = 4096;  // at once; the number of a further one is 0

HandleTable<uint32_t, kMostHalos> halos;
uint32_t made = 0;  // so far; under the tracer's lock

uint64_t key_of(const ompl_halo* halo) { return reinterpret_cast<uint64_t>(halo); }

uint32_t number_of(const ompl_halo* halo) {
  if (halo == nullptr || !tracer.recording()) return 0;
  const uint32_t* const number = halos.find(key_of(halo));
  return number != nullptr ? *number : 0;
}

uint32_t add(const ompl_halo* halo) {
  const std::lock_guard lock(tracer.mutex);
  const uint32_t* const number = halos.insert(key_of(halo), ++made);
  return number != nullptr ? *number : 0;
}

void forget(const ompl_halo* halo) {
  const std::lock_guard lock(tracer.mutex);
  if (const uint32_t* const number = halos.find(key_of(halo))) halos.erase(number);
}

}  // namespace

bool create_halo_table() { return halos.create(); }

}  // namespace ompl::trace

using ompl::trace::Call;
using ompl::trace::Kind;
using ompl::trace::number_of;

extern "C" {

int ompl_halo_create(const ompl_halo_config* config, const ompl_halo_neighbor* neighbors, size_t count,
                     ompl_halo** halo) {
  Call call(Kind::kOmplHaloCreate, __builtin_return_address(0), {});
  const int code =
      call.run([&] { return OMPL_REAL(ompl_halo_create)(config, neighbors, count, halo); });
  if (code != OMPL_OK || !call.is_recorded()) {
    call.append();
    return code;
  }
  const uint64_t element = config->element * config->vectors;
  call.record().request = ompl::trace::add(*halo);
  call.record().bytes = element;
  call.record().tag = config->strategy;
  call.append();
  call.append_ids(count, [&](size_t i) { return neighbors[i].rank; });
  call.append_counts(false, count, [&](size_t i) { return neighbors[i].send_count * element; });
  call.append_counts(true, count, [&](size_t i) { return neighbors[i].receive_count * element; });
  return code;
}

int ompl_halo_destroy(ompl_halo* halo) {
  Call call(Kind::kOmplHaloDestroy, __builtin_return_address(0), {.request = number_of(halo)});
  if (call.is_recorded() && halo != nullptr) ompl::trace::forget(halo);
  const int code = call.run([&] { return OMPL_REAL(ompl_halo_destroy)(halo); });
  call.append();
  return code;
}

int ompl_halo_start(ompl_ctx* ctx, ompl_halo* halo, const void* const* vectors, int64_t timeout_ns) {
  OMPL_TRACED(kOmplHaloStart, ompl_halo_start, (ctx, halo, vectors, timeout_ns),
              .request = number_of(halo));
}

int ompl_halo_test(ompl_ctx* ctx, ompl_halo* halo) {
  Call call(Kind::kOmplHaloTest, __builtin_return_address(0), {.request = number_of(halo)});
  return call.look([&] { return OMPL_REAL(ompl_halo_test)(ctx, halo); });
}

int ompl_halo_wait(ompl_ctx* ctx, ompl_halo* halo, int64_t timeout_ns) {
  OMPL_TRACED(kOmplHaloWait, ompl_halo_wait, (ctx, halo, timeout_ns), .request = number_of(halo));
}

int ompl_halo_wait_some(ompl_ctx* ctx, ompl_halo* halo, size_t* indices, size_t* found,
                        int64_t timeout_ns) {
  Call call(Kind::kOmplHaloWaitSome, __builtin_return_address(0), {.request = number_of(halo)});
  const int code =
      call.run([&] { return OMPL_REAL(ompl_halo_wait_some)(ctx, halo, indices, found, timeout_ns); });
  const size_t count = code == OMPL_OK ? *found : 0;
  call.record().bytes = count;
  call.append();
  call.append_ids(count, [&](size_t i) { return static_cast<uint32_t>(indices[i]); });
  return code;
}

}  // extern "C"
