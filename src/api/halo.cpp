// SPDX-License-Identifier: BSD-3-Clause
// The functions of halo.h as thin calls of halo/.
#include "omnipgas/halo.h"

#include "api/call.hpp"
#include "halo/halo.hpp"

using ompl::Context;
using ompl::Deadline;
using ompl::api::guarded;
using ompl::api::with;
using ompl::halo::Halo;

namespace {

Halo* halo_of(ompl_halo* halo) { return reinterpret_cast<Halo*>(halo); }
const Halo* halo_of(const ompl_halo* halo) { return reinterpret_cast<const Halo*>(halo); }

// Runs `call(context, halo)`.
template <class Call>
int with_halo(ompl_ctx* ctx, ompl_halo* halo, const char* what, Call call) {
  return with(ctx, [=](Context& c) {
    if (halo == nullptr) return ompl::fail(OMPL_ERR_ARG, "{}: the halo is null", what);
    return call(c, *halo_of(halo));
  });
}

}  // namespace

extern "C" {

int ompl_halo_create(const ompl_halo_config* config, const ompl_halo_neighbor* neighbors, size_t count,
                     ompl_halo** halo) {
  return with(nullptr, [=](Context& c) {
    if (halo == nullptr)
      return ompl::fail(OMPL_ERR_ARG, "ompl_halo_create: the result pointer is null");
    std::unique_ptr<Halo> made;
    const int code = Halo::create(*c.runtime, c, config, neighbors, count, &made);
    if (code == OMPL_OK) *halo = reinterpret_cast<ompl_halo*>(made.release());
    return code;
  });
}

int ompl_halo_destroy(ompl_halo* halo) {
  if (halo == nullptr) return OMPL_OK;
  const std::unique_ptr<Halo> owned(halo_of(halo));
  return with(nullptr, [&](Context& c) { return owned->release(c); });
}

int ompl_halo_start(ompl_ctx* ctx, ompl_halo* halo, const void* const* vectors, int64_t timeout_ns) {
  return with_halo(ctx, halo, "ompl_halo_start",
                   [=](Context& c, Halo& h) { return h.start(c, vectors, Deadline::in(timeout_ns)); });
}

int ompl_halo_test(ompl_ctx* ctx, ompl_halo* halo) {
  const int code = ompl_halo_wait(ctx, halo, 0);
  return code == OMPL_OK ? 1 : code == OMPL_ERR_TIMEOUT ? 0 : code;
}

int ompl_halo_wait(ompl_ctx* ctx, ompl_halo* halo, int64_t timeout_ns) {
  return with_halo(ctx, halo, "ompl_halo_wait",
                   [=](Context& c, Halo& h) { return h.wait(c, Deadline::in(timeout_ns)); });
}

int ompl_halo_wait_some(ompl_ctx* ctx, ompl_halo* halo, size_t* indices, size_t* found,
                        int64_t timeout_ns) {
  return with_halo(ctx, halo, "ompl_halo_wait_some", [=](Context& c, Halo& h) {
    return h.wait_some(c, indices, found, Deadline::in(timeout_ns));
  });
}

const void* ompl_halo_data(const ompl_halo* halo, size_t neighbor, size_t vector) {
  return halo != nullptr ? halo_of(halo)->data(neighbor, vector) : nullptr;
}

int ompl_halo_unpack(const ompl_halo* halo, size_t neighbor, void* const* vectors) {
  if (halo == nullptr) return ompl::fail(OMPL_ERR_ARG, "ompl_halo_unpack: the halo is null");
  return halo_of(halo)->unpack(neighbor, vectors);
}

size_t ompl_halo_describe(const ompl_halo* halo, char* text, size_t size) {
  if (text != nullptr && size > 0) *text = '\0';
  size_t length = 0;
  guarded([&]() -> int {
    const std::string all = halo != nullptr ? halo_of(halo)->describe() : "";
    if (text != nullptr && size > 0) text[all.copy(text, size - 1)] = '\0';
    length = all.size();
    return OMPL_OK;
  });
  return length;
}

}  // extern "C"
