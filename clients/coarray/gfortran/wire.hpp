// SPDX-License-Identifier: BSD-3-Clause
// How a request to run an accessor is written. Everything begins at a multiple of 16, so the owner uses it where it lies.
#pragma once

#include <cstring>
#include <vector>

#include "gfortran/accessors.hpp"

namespace gfortran {

enum class Kind : int32_t { get, put, presence };

struct Head {
  Kind kind;
  int32_t hash, image, counted_by;
  uint64_t base;         // of the coarray at the owner
  uint64_t reply, room;  // where a get answers, at the caller
  uint64_t data_bytes, unit, length[2];
  uint32_t given;
  bool has_length[2], has_bounds, is_array;
};

// The answer to a get; what fits follows. The bounds are there for an array only.
struct Answer {
  uint64_t bytes;
  uint64_t kept;  // not 0: the address where it lies at the owner, until forgotten
  uint64_t owned;  // whether it has to be forgotten
  uint64_t length;
  Descriptor array;
};
inline std::size_t answer_bytes(bool is_array) {
  return is_array ? sizeof(Answer) : offsetof(Answer, array);
}

class Writer {
 public:
  explicit Writer(std::size_t expected) { bytes_.reserve(expected + 512); }
  void add(const void* data, std::size_t count) {
    const std::size_t place = bytes_.size();
    bytes_.resize(place + (count + 15) / 16 * 16);
    if (count > 0) std::memcpy(&bytes_[place], data, count);
  }
  void add(const Value& value) {
    const uint64_t sizes[2] = {value.bytes, value.is_array ? 1U : 0U};
    add(sizes, sizeof sizes);
    if (value.is_array) add(&value.array, sizeof value.array);
    add(value.data, value.bytes);
  }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class Reader {
 public:
  explicit Reader(const void* at) : at_(static_cast<const std::byte*>(at)) {}
  const std::byte* take(std::size_t count) {
    const std::byte* const here = at_;
    at_ += (count + 15) / 16 * 16;
    return here;
  }
  template <class T>
  const T& take() {
    return *reinterpret_cast<const T*>(take(sizeof(T)));
  }
  void take(Value* value) {
    const auto* const sizes = reinterpret_cast<const uint64_t*>(take(2 * sizeof(uint64_t)));
    value->bytes = sizes[0];
    value->is_array = sizes[1] != 0;
    if (value->is_array) value->array = take<Descriptor>();
    value->data = take(value->bytes);
  }

 private:
  const std::byte* at_;
};

// What the owner replies: in the lowest 8 bits one of these; for more, the hash is in the upper 32 bits, the unit between.
enum Reply : uint64_t { kDone, kMore, kMoreArray, kUnknown, kNotSent, kAbsent, kPresent };

}  // namespace gfortran
