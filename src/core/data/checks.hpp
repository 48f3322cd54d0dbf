// SPDX-License-Identifier: BSD-3-Clause
// Checks of user input. The allocation of what passes is remembered in the context. `what`: the call, for the error's text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/data/update.hpp"
#include "core/job/context.hpp"

namespace ompl {

int check_rank(const Context& c, uint32_t rank, const char* what);
int check_data(Context& c, uint32_t rank, uint64_t offset, std::size_t length, const char* what);
// A flag is a word of `width` bytes.
int check_flag(Context& c, uint32_t rank, uint64_t flag, const char* what,
               std::size_t width = sizeof(uint32_t));
// `record` null: there is nothing to check.
inline int check_record(Context& c, uint32_t rank, const Signal* record, const char* what) {
  if (record == nullptr) return OMPL_OK;
  const std::size_t width = width_of(*record);
  const bool known = rank < c.ranks && c.knows_flag(record->offset, width);
  return known ? OMPL_OK : check_flag(c, rank, record->offset, what, width);
}
int check_update(Context& c, uint32_t rank, const Signal& record, const void* before, const char* what);
// The local side of a transfer: OMPL_OK, kOnDevice (memory of a GPU, to be staged), or an error.
inline constexpr int kOnDevice = 1;
int check_local(const Context& c, const void* address, const char* what);
// The same of memory that the caller or this thread reads or writes itself: never kOnDevice.
int check_host(const Runtime& runtime, const void* address, const char* what);
int refuse_device(const void* address, const char* what);
// All of a put or get, with the outcomes of check_local().
int check_transfer(Context& c, const void* local, uint32_t rank, uint64_t offset, std::size_t length,
                   const Signal* record, const char* what);
int check_condition(Context& c, const ompl_condition& condition, const char* what);
int check_conditions(Context& c, std::span<const ompl_condition> conditions, const char* what);

}  // namespace ompl
