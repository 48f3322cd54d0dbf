// SPDX-License-Identifier: BSD-3-Clause
// The table of accessors, and how one is run. An accessor may refer back to what its caller gave it (a vector subscript whose
// length only the running program knows), by another accessor on the caller's image. It may run inside a remote call, which
// must not wait. So it is left by longjmp, its caller is told what is wanted, and asks again with that. gfortran's functions have nothing
// to clean up, and such references come before anything is changed.
#include "gfortran/accessors.hpp"

#include <algorithm>
#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace gfortran {

bool accessors_in_use = false;

namespace {

using Getter = void (*)(void* data, const int* image, void* into, int32_t* owned, void* from,
                        void* token, std::size_t offset, std::size_t* local_length,
                        const std::size_t* length);
using Receiver = void (*)(void* data, const int* image, void* into, const void* from, void* token,
                          std::size_t offset, std::size_t* length, const std::size_t* local_length);
using Presence = void (*)(void* data, const int* image, int32_t* present, void* of, void* token,
                          std::size_t offset);
using Code = void (*)();

struct Entry {
  int hash;
  Code code;
};
std::vector<Entry>& table() {
  static auto* only = new std::vector<Entry>;
  return *only;
}

Code code_of(int hash) {
  const auto found = std::ranges::lower_bound(table(), hash, {}, &Entry::hash);
  return found == table().end() || found->hash != hash ? nullptr : found->code;
}

// The accessor that the thread runs. The compiler hands its token on, to refer back.
constexpr uint64_t kCallerMagic = 0x6361662d63616c6c;
struct Running {
  Token token{kCallerMagic, 0, nullptr, nullptr};
  Access* access = nullptr;
  std::size_t used = 0;  // of what was given
  Want want{};
  std::jmp_buf away;
};

// The bounds of the coarray, with the base that they have here.
struct Based {
  Descriptor descriptor{};
  void* pointer;
  explicit Based(const Access& access) : pointer(access.base) {
    if (access.descriptor == nullptr) return;
    std::memcpy(&descriptor, access.descriptor, descriptor_bytes(access.descriptor->rank));
    descriptor.base = access.base;
    pointer = &descriptor;
  }
};

std::size_t* length_of(Access* access, int side) {
  return access->has_length[side] ? &access->length[side] : nullptr;
}

}  // namespace

Value::~Value() {
  if (of_ == Memory::heap) std::free(memory_);
  if (of_ == Memory::component) caf::release_component(memory_);
}

void* Value::take() {
  if (of_ != Memory::heap) return nullptr;
  of_ = Memory::borrowed;
  return std::exchange(memory_, nullptr);
}

bool has_accessor(int hash) { return code_of(hash) != nullptr; }

std::size_t scalar_bytes(const Access& access) {
  return access.unit * (access.counted_by < 0 ? 1 : access.length[access.counted_by]);
}

Want run_getter(Access* access, bool is_array, Result* result) {
  const auto code = reinterpret_cast<Getter>(code_of(access->hash));
  Based from(*access);
  Running running;
  running.access = access;
  if (setjmp(running.away) != 0) return running.want;
  void* const before = result->array.base;
  int32_t owned = 0;
  void* const into = is_array ? static_cast<void*>(&result->array) : &result->scalar;
  code(access->data, &access->image, into, &owned, from.pointer, &running.token, 0, length_of(access, 0),
       length_of(access, 1));
  if (!is_array) {
    result->bytes = scalar_bytes(*access);
    result->owned = owned != 0;
    return {};
  }
  result->owned = owned != 0 && result->array.base != before;
  result->bytes = shape_of(result->array).count() * result->array.elem_len;
  return {};
}

Want run_receiver(Access* access, const void* from) {
  const auto code = reinterpret_cast<Receiver>(code_of(access->hash));
  Based into(*access);
  Running running;
  running.access = access;
  if (setjmp(running.away) != 0) return running.want;
  code(access->data, &access->image, into.pointer, from, &running.token, 0, length_of(access, 1),
       length_of(access, 0));
  return {};
}

Want run_presence(Access* access, bool* present) {
  const auto code = reinterpret_cast<Presence>(code_of(access->hash));
  Running running;
  running.access = access;
  if (setjmp(running.away) != 0) return running.want;
  int32_t result = 0;
  code(access->data, &access->image, &result, access->base, &running.token, 0);
  *present = result != 0;
  return {};
}

Access* access_of_caller(const void* token) {
  if (token == nullptr || static_cast<const Token*>(token)->magic != kCallerMagic) return nullptr;
  return static_cast<const Running*>(token)->access;
}

const Value& given_value(const void* token, const Want& want) {
  auto* const running = static_cast<Running*>(const_cast<void*>(token));
  const std::vector<Wanted>& given = *running->access->given;
  const std::size_t place = running->used++;
  if (place < given.size() && given[place].hash == want.hash) return given[place].value;
  running->want = want;
  std::longjmp(running->away, 1);  // NOLINT(cert-err52-cpp): out of functions of the compiler
}

}  // namespace gfortran

using namespace gfortran;

CAF_API void _gfortran_caf_register_accessor(int hash, void (*code)()) {
  accessors_in_use = true;
  table().push_back({hash, code});
}

CAF_API void _gfortran_caf_register_accessors_finish() {
  accessors_in_use = true;
  std::ranges::sort(table(), {}, &Entry::hash);
}

// The hash itself: the images of a program may be different files.
CAF_API int _gfortran_caf_get_remote_function_index(int hash) {
  if (code_of(hash) == nullptr) {
    caf::refuse(caf::kWrong, "the program has no accessor %d", hash);
    end_in_error("reference to a coindexed object");
  }
  return hash;
}
