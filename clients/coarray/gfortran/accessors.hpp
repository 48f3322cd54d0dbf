// SPDX-License-Identifier: BSD-3-Clause
// Accessors: functions that gfortran 15 makes for each reference to a coindexed object, and that read or change it where it
// lies. As the manual (chapter Coarray Programming) and the compiler's dumps show them.
#pragma once

#include <utility>
#include <vector>

#include "gfortran/abi.hpp"

namespace gfortran {

// True once the program has registered one: then components are what malloc() gives, since accessors call realloc() on them.
extern bool accessors_in_use;

// A value between two images: an array, whose elements are packed, or a scalar.
class Value {
 public:
  enum class Memory { borrowed, heap, component };
  Value() = default;
  Value(Value&& other) noexcept { *this = std::move(other); }
  Value& operator=(Value&& other) noexcept {
    std::swap(is_array, other.is_array);
    std::swap(array, other.array);
    std::swap(data, other.data);
    std::swap(bytes, other.bytes);
    std::swap(memory_, other.memory_);
    std::swap(of_, other.of_);
    return *this;
  }
  ~Value();
  // `memory` is what is given back at the end.
  void keep(Memory of, void* memory) {
    of_ = of;
    memory_ = memory;
  }
  // The caller takes the memory, of malloc(), over; null if it is not such.
  void* take();

  bool is_array = false;
  Descriptor array{};  // its bounds
  const std::byte* data = nullptr;
  std::size_t bytes = 0;

 private:
  Memory of_ = Memory::borrowed;
  void* memory_ = nullptr;
};

// A nested reference: an accessor wants a part of what its caller gave it, by another accessor.
struct Wanted {
  int hash = 0;
  Value value;
};

// What an accessor is applied to.
struct Access {
  int hash = 0;
  int image = 0;                            // of the caller, for the accessor
  void* base = nullptr;                     // of the coarray
  const Descriptor* descriptor = nullptr;   // and its bounds, if it is an allocatable array; its base is not used
  void* data = nullptr;                     // what the compiler passes to the accessor
  std::size_t data_bytes = 0;
  bool has_length[2] = {};                  // of strings: the local side's, the coarray's
  std::size_t length[2] = {};
  std::size_t unit = 0;                     // bytes of a scalar, or of a character of it
  int counted_by = -1;                      // the length that counts its characters
  const std::vector<Wanted>* given = nullptr;  // for nested references; null: `data` is that of the caller itself
};

// What a get gives: in memory of the coarray, or in memory of malloc().
struct Result {
  Descriptor array{};  // of an array; its base is that memory
  void* scalar = nullptr;
  std::size_t bytes = 0;
  bool owned = false;
};

// What a nested reference needs that was not given.
struct Want {
  int hash = 0;  // 0: nothing
  bool is_array = false;
  std::size_t unit = 0;
};

// Run an accessor. A get into an array writes to what result->array.base points to, if that is not null. `from` is a value or,
// for an array, its descriptor.
Want run_getter(Access* access, bool is_array, Result* result);
Want run_receiver(Access* access, const void* from);
Want run_presence(Access* access, bool* present);
bool has_accessor(int hash);
std::size_t scalar_bytes(const Access& access);

// The access whose accessor uses this token to refer to what its caller gave it, or null: a coarray's token.
Access* access_of_caller(const void* token);
// What was given for a nested reference of that access. Leaves the accessor if it was not.
const Value& given_value(const void* token, const Want& want);

// --- At any image (remote.cpp). Where the accessor can run in this process, it does.
struct Side {
  Access access;
  uint32_t rank = 0;
  uint64_t base = 0;  // of the coarray, in that rank's process
  const Token* token = nullptr;
};
// `like` gives the bounds of an array and, if its base is not null, the memory for it; `into` the memory for a scalar, or null.
int fetch(Side* side, const Descriptor* like, void* into, Value* value);
int store(Side* side, const Descriptor* array, const void* scalar);
int ask_presence(Side* side, bool* present);

}  // namespace gfortran
