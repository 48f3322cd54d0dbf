// SPDX-License-Identifier: BSD-3-Clause
// The functions of ompl_memory.h as thin calls of the runtime.
#include "omnipgas/ompl_memory.h"

#include "api/call.hpp"
#include "core/job/collective.hpp"
#include "core/wait/memory_conditions.hpp"

using ompl::Context;
using ompl::Deadline;
using ompl::api::with;

extern "C" {

int ompl_wait_memory(ompl_ctx* ctx, const ompl_condition* condition, int64_t timeout_ns) {
  return with(ctx, [=](Context& c) {
    return ompl::wait_memory_all(c, {condition, condition != nullptr ? size_t{1} : 0},
                                 Deadline::in(timeout_ns));
  });
}

int ompl_wait_memory_any(ompl_ctx* ctx, const ompl_condition* conditions, size_t count, size_t* which,
                         int64_t timeout_ns) {
  return with(ctx, [=](Context& c) {
    size_t found = 0;
    return ompl::wait_memory_some(c, {conditions, count}, which, 1, &found, Deadline::in(timeout_ns));
  });
}

int ompl_wait_memory_some(ompl_ctx* ctx, const ompl_condition* conditions, size_t count,
                          size_t* indices, size_t* found, int64_t timeout_ns) {
  return with(ctx, [=](Context& c) {
    return ompl::wait_memory_some(c, {conditions, count}, indices, count, found,
                                  Deadline::in(timeout_ns));
  });
}

int ompl_wait_memory_all(ompl_ctx* ctx, const ompl_condition* conditions, size_t count,
                         int64_t timeout_ns) {
  return with(ctx, [=](Context& c) {
    return ompl::wait_memory_all(c, {conditions, count}, Deadline::in(timeout_ns));
  });
}

int ompl_alloc_local(size_t size, uint64_t* offset) {
  return with(nullptr, [=](Context& c) { return c.runtime->memory.allocate_local(size, offset); });
}

int ompl_free_local(uint64_t offset) {
  return with(nullptr, [=](Context& c) { return c.runtime->collective.free_local(offset); });
}

int ompl_accept_local(void) {
  return with(nullptr, [](Context& c) {
    c.runtime->memory.accept_local();
    return OMPL_OK;
  });
}

int ompl_adopt(void* address, size_t length, uint64_t* offset) {
  return with(nullptr,
              [=](Context& c) { return c.runtime->collective.adopt(c, address, length, offset); });
}

int ompl_unadopt(uint64_t offset) {
  return with(nullptr, [=](Context& c) { return c.runtime->collective.unadopt(c, offset); });
}

int ompl_adopt_local(void* address, size_t length, uint64_t* offset) {
  return with(nullptr,
              [=](Context& c) { return c.runtime->memory.adopt_local(address, length, offset); });
}

int ompl_can_adopt(const void* address, size_t length) {
  return with(nullptr, [=](const Context&) { return ompl::GlobalMemory::can_adopt(address, length); });
}

int ompl_memory_kind(const void* address, int* kind) {
  return with(nullptr, [=](Context& c) {
    if (kind == nullptr)
      return ompl::fail(OMPL_ERR_ARG, "ompl_memory_kind: the result pointer is null");
    ompl::ContextTable& contexts = c.runtime->contexts;
    contexts.look_for_gpus_again();
    const bool host = contexts.gpu_drivers().owner_of(address) == ompl::arch::MemoryOwner::host;
    *kind = host ? OMPL_KIND_HOST : OMPL_KIND_DEVICE;
    return static_cast<int>(OMPL_OK);
  });
}

int ompl_kind_supports(int kind, int use) {
  return with(nullptr, [=](Context& c) {
    constexpr const char* kName = "ompl_kind_supports";
    if ((kind != OMPL_KIND_HOST && kind != OMPL_KIND_DEVICE) ||
        (use != OMPL_USE_LOCAL && use != OMPL_USE_REMOTE))
      return ompl::fail(OMPL_ERR_ARG, "{}: there is no kind {} or no use {}", kName, kind, use);
    if (kind == OMPL_KIND_HOST) return static_cast<int>(OMPL_OK);
    if (use == OMPL_USE_REMOTE)
      return ompl::fail(OMPL_ERR_UNSUPPORTED, "{}: segments are host memory; put from memory of a GPU",
                        kName);
    ompl::ContextTable& contexts = c.runtime->contexts;
    contexts.look_for_gpus_again();
    if (c.runtime->settings.gpu != "stage")
      return ompl::fail(OMPL_ERR_UNSUPPORTED, "{}: OMPL_GPU is {}; set it to stage", kName,
                        c.runtime->settings.gpu);
    if (!contexts.gpu_drivers().has(ompl::arch::MemoryOwner::cuda))
      return ompl::fail(OMPL_ERR_UNSUPPORTED, "{}: the program has not loaded CUDA's driver", kName);
    return static_cast<int>(OMPL_OK);
  });
}

int ompl_unadopt_local(uint64_t offset) {
  return with(nullptr, [=](Context& c) { return c.runtime->collective.unadopt_local(offset); });
}

}  // extern "C"
