// SPDX-License-Identifier: BSD-3-Clause
// Events, locks, critical constructs, atomics. Image 0 stands for this image.
#include "gfortran/abi.hpp"

namespace gfortran {
namespace {

int place(const void* token, std::size_t index, int image, uint32_t* rank, uint64_t* address) {
  if (image == 0) image = caf::this_image();
  const int code = locate(token, image, rank, address);
  *address += index * caf::kWord;
  return code;
}

// A critical construct is one lock for all images, whatever the current team: that of rank 0.
int place_of_lock(const void* token, std::size_t index, int image, uint32_t* rank, uint64_t* address) {
  const auto* const known = static_cast<const Token*>(token);
  if (known == nullptr || known->type != kCritical) return place(token, index, image, rank, address);
  *rank = 0;
  return caf::address_on(known->coarray, 0, address);
}

int atomic(const void* token, std::size_t offset, int image, int op, const void* operand,
           const void* compare, void* before, int kind) {
  uint32_t rank = 0;
  uint64_t address = 0;
  if (kind != 4) return caf::refuse(caf::kWrong, "an atomic of kind %d: they are of kind 4", kind);
  if (const int code = place(token, 0, image, &rank, &address); code != caf::kOk) return code;
  const uint32_t value = operand == nullptr ? 0 : *static_cast<const uint32_t*>(operand);
  const uint32_t expected = compare == nullptr ? 0 : *static_cast<const uint32_t*>(compare);
  return caf::atomic(rank, address + offset, op, value, expected, static_cast<uint32_t*>(before));
}

const char* const kLock = "lock";
const char* const kUnlock = "unlock";
const char* const kCriticalName = "critical";

const char* named(const void* token, const char* otherwise) {
  const auto* const known = static_cast<const Token*>(token);
  return known != nullptr && known->type == kCritical ? kCriticalName : otherwise;
}

}  // namespace
}  // namespace gfortran

using namespace gfortran;

CAF_API void _gfortran_caf_event_post(void* token, std::size_t index, int image, int* stat,
                                      char* message, std::size_t length) {
  uint32_t rank = 0;
  uint64_t address = 0;
  int code = place(token, index, image, &rank, &address);
  if (code == caf::kOk) code = caf::event_post(rank, address);
  report(code, "event post", stat, message, length);
}

CAF_API void _gfortran_caf_event_wait(void* token, std::size_t index, int until, int* stat,
                                      char* message, std::size_t length) {
  uint32_t rank = 0;
  uint64_t address = 0;
  int code = place(token, index, 0, &rank, &address);
  if (code == caf::kOk) code = caf::event_wait(address, until < 1 ? 1 : static_cast<uint32_t>(until));
  report(code, "event wait", stat, message, length);
}

CAF_API void _gfortran_caf_event_query(void* token, std::size_t index, int image, int* count,
                                       int* stat) {
  uint32_t rank = 0;
  uint64_t address = 0;
  int code = place(token, index, image, &rank, &address);
  if (code == caf::kOk) code = caf::event_query(rank, address, count);
  report(code, "event_query", stat);
}

CAF_API void _gfortran_caf_lock(void* token, std::size_t index, int image, int* acquired, int* stat,
                                char* message, std::size_t length) {
  uint32_t rank = 0;
  uint64_t address = 0;
  bool got = false;
  int code = place_of_lock(token, index, image, &rank, &address);
  if (code == caf::kOk) code = caf::lock(rank, address, acquired == nullptr ? nullptr : &got);
  if (acquired != nullptr) *acquired = got ? 1 : 0;
  const bool has_it = code == caf::kUnlockedFailed;  // and goes on, unless STAT= wants to know
  report(has_it && stat == nullptr ? caf::kOk : code, named(token, kLock), stat, message, length);
}

CAF_API void _gfortran_caf_unlock(void* token, std::size_t index, int image, int* stat, char* message,
                                  std::size_t length) {
  uint32_t rank = 0;
  uint64_t address = 0;
  int code = place_of_lock(token, index, image, &rank, &address);
  if (code == caf::kOk) code = caf::unlock(rank, address);
  if (code == caf::kUnlocked) code = caf::kOk;  // STAT_UNLOCKED of this compiler is 0
  report(code, named(token, kUnlock), stat, message, length);
}

CAF_API void _gfortran_caf_atomic_define(void* token, std::size_t offset, int image, void* value,
                                         int* stat, int /*type*/, int kind) {
  report(atomic(token, offset, image, OMPL_ATOMIC_SET, value, nullptr, nullptr, kind), "atomic_define",
         stat);
}

CAF_API void _gfortran_caf_atomic_ref(void* token, std::size_t offset, int image, void* value,
                                      int* stat, int /*type*/, int kind) {
  report(atomic(token, offset, image, OMPL_ATOMIC_FETCH, nullptr, nullptr, value, kind), "atomic_ref",
         stat);
}

CAF_API void _gfortran_caf_atomic_cas(void* token, std::size_t offset, int image, void* before,
                                      void* compare, void* value, int* stat, int /*type*/, int kind) {
  report(atomic(token, offset, image, OMPL_ATOMIC_CSWAP, value, compare, before, kind), "atomic_cas",
         stat);
}

CAF_API void _gfortran_caf_atomic_op(int op, void* token, std::size_t offset, int image, void* value,
                                     void* before, int* stat, int /*type*/, int kind) {
  constexpr int kOps[] = {OMPL_ATOMIC_FETCH, OMPL_ATOMIC_ADD, OMPL_ATOMIC_AND, OMPL_ATOMIC_OR,
                          OMPL_ATOMIC_XOR};
  int code = caf::kOk;
  if (op < 1 || op > 4) {
    code = caf::refuse(caf::kWrong, "there is no atomic operation %d", op);
  } else {
    code = atomic(token, offset, image, kOps[op], value, nullptr, before, kind);
  }
  report(code, "atomic operation", stat);
}
