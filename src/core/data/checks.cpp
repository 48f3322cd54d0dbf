// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/checks.hpp"

#include "core/job/runtime.hpp"
#include "util/status.hpp"

namespace ompl {
namespace {

int outside(const char* what, uint64_t offset) {
  return fail(OMPL_ERR_OFFSET, "{}: offset {:#x} is not allocated; use what ompl_alloc returned", what,
              offset);
}

// Whether another rank may have taken that alone: then only its bounds are known here.
bool accepts_far(Context& c, uint32_t rank, uint64_t offset, std::size_t length) {
  if (rank == c.rank) return false;
  if (c.accepts_far(offset, length)) return true;
  c.runtime->memory.local_range(&c.far);
  return c.accepts_far(offset, length);
}

}  // namespace

int check_rank(const Context& c, uint32_t rank, const char* what) {
  if (rank < c.ranks) return OMPL_OK;
  return fail(OMPL_ERR_RANK, "{}: rank {} does not exist; the job has ranks 0 to {}", what, rank,
              c.ranks - 1);
}

int check_data(Context& c, uint32_t rank, uint64_t offset, std::size_t length, const char* what) {
  if (const int code = check_rank(c, rank, what); code != OMPL_OK) return code;
  if (length == 0 || c.knows_data(offset, length)) return OMPL_OK;
  if (accepts_far(c, rank, offset, length)) return OMPL_OK;
  Extent found;
  if (!c.runtime->memory.allocations().find(offset, &found)) return outside(what, offset);
  if (!found.covers(offset, length, found.generation)) {
    return fail(OMPL_ERR_LENGTH,
                "{}: {} bytes at offset {:#x} leave the allocation of {} bytes at {:#x}", what, length,
                offset, found.length, found.begin);
  }
  c.data = found;
  return OMPL_OK;
}

int check_flag(Context& c, uint32_t rank, uint64_t flag, const char* what, std::size_t width) {
  if (const int code = check_rank(c, rank, what); code != OMPL_OK) return code;
  if (c.knows_flag(flag, width)) return OMPL_OK;
  if (flag % width != 0) {
    return fail(OMPL_ERR_ALIGN, "{}: flag offset {:#x} is not a multiple of {}", what, flag, width);
  }
  if (accepts_far(c, rank, flag, width)) return OMPL_OK;
  Extent found;
  if (!c.runtime->memory.allocations().find(flag, &found)) return outside(what, flag);
  if (!found.covers(flag, width, found.generation)) {
    return fail(OMPL_ERR_LENGTH, "{}: the flag at {:#x} leaves the allocation of {} bytes at {:#x}",
                what, flag, found.length, found.begin);
  }
  c.flag = found;
  return OMPL_OK;
}

int check_update(Context& c, uint32_t rank, const Signal& record, const void* before,
                 const char* what) {
  const bool fetches = record.function == Function::fetch || record.function == Function::compare_swap;
  if (fetches && before == nullptr) {
    return fail(OMPL_ERR_ARG, "{}: a fetch and a compare-swap need a place for the value before", what);
  }
  return check_flag(c, rank, record.offset, what, width_of(record));
}

// Memory of a GPU would crash the copy, or the network. The driver is asked each time: what was the CPU's may be a GPU's now.
int check_local(const Context& c, const void* address, const char* what) {
  const Runtime& runtime = *c.runtime;
  if (!runtime.contexts.has_gpus()) return OMPL_OK;
  const arch::MemoryOwner owner = runtime.contexts.gpu_drivers().owner_of(address);
  if (owner == arch::MemoryOwner::host) return OMPL_OK;
  const bool staged = owner == arch::MemoryOwner::cuda && runtime.settings.gpu == "stage";
  return staged ? kOnDevice : refuse_device(address, what);
}

int check_host(const Runtime& runtime, const void* address, const char* what) {
  if (!runtime.contexts.has_gpus()) return OMPL_OK;
  const arch::MemoryOwner owner = runtime.contexts.gpu_drivers().owner_of(address);
  return owner == arch::MemoryOwner::host ? int{OMPL_OK} : refuse_device(address, what);
}

int refuse_device(const void* address, const char* what) {
  return fail(OMPL_ERR_UNSUPPORTED,
              "{}: {} is memory of a GPU; copy to host memory first, or allocate it managed", what,
              address);
}

// Both addresses are checked before anything is written.
int check_transfer(Context& c, const void* local, uint32_t rank, uint64_t offset, std::size_t length,
                   const Signal* record, const char* what) {
  if (const int code = check_data(c, rank, offset, length, what); code != OMPL_OK) return code;
  if (const int code = check_record(c, rank, record, what); code != OMPL_OK) return code;
  if (length == 0 || !c.runtime->contexts.has_gpus()) return OMPL_OK;  // no call where there is no GPU
  return check_local(c, local, what);
}

int check_condition(Context& c, const ompl_condition& condition, const char* what) {
  if (condition.width != 32 && condition.width != 64)
    return fail(OMPL_ERR_ARG, "{}: a flag has a width of 32 or 64 bits, not {}", what, condition.width);
  if (condition.comparison > OMPL_TAKE_MANY)
    return fail(OMPL_ERR_ARG,
                "{}: {} is no comparison; use OMPL_TAKE, OMPL_EQ, ... OMPL_LE or OMPL_TAKE_MANY", what,
                condition.comparison);
  if (condition.comparison == OMPL_TAKE_MANY &&
      (condition.value == 0 || (condition.width == 32 && condition.value > UINT32_MAX)))
    return fail(OMPL_ERR_ARG, "{}: {} cannot be taken from a flag of {} bits; take 1 or more", what,
                condition.value, condition.width);
  return check_flag(c, c.rank, condition.flag_addr, what, condition.width / 8);
}

int check_conditions(Context& c, std::span<const ompl_condition> conditions, const char* what) {
  if (conditions.empty() || conditions.data() == nullptr)
    return fail(OMPL_ERR_ARG, "{}: there is no condition to wait for", what);
  for (const ompl_condition& condition : conditions) {
    if (const int code = check_condition(c, condition, what); code != OMPL_OK) return code;
  }
  return OMPL_OK;
}

}  // namespace ompl
