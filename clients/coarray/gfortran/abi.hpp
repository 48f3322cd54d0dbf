// SPDX-License-Identifier: BSD-3-Clause
// The binary interface between programs compiled by gfortran 12 to 15 with -fcoarray=lib and their library, as the compiler's own
// dumps (-fdump-tree-original) and its manual, chapter Coarray Programming, show it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/core.hpp"

namespace gfortran {

// Types of dtype.type.
enum : int { kInteger = 1, kLogical = 2, kReal = 3, kComplex = 4, kDerived = 5, kCharacter = 6 };

struct Dimension {
  std::ptrdiff_t stride, lower, upper;
  [[nodiscard]] std::size_t extent() const {
    return upper < lower ? 0 : static_cast<std::size_t>(upper - lower + 1);
  }
};

// An array descriptor. The co-dimensions follow those of the rank; an allocatable coarray's token stands behind them.
struct Descriptor {
  void* base;
  std::size_t offset;
  std::size_t elem_len;
  int32_t version;
  int8_t rank;
  int8_t type;
  int16_t attribute;
  std::ptrdiff_t span;
  Dimension dim[caf::kMostRank];

  // Bytes from one element to the next of stride 1.
  [[nodiscard]] std::ptrdiff_t unit() const {
    return span != 0 ? span : static_cast<std::ptrdiff_t>(elem_len);
  }
};

// The start of a descriptor with `rank` dimensions.
constexpr std::size_t descriptor_bytes(int rank) {
  return offsetof(Descriptor, dim) + sizeof(Dimension) * static_cast<std::size_t>(rank);
}

// A vector subscript or a triplet of a dimension of a coindexed object.
struct Subscript {
  std::size_t vectors;  // 0: a triplet
  union {
    struct {
      const void* vector;
      int kind;
    } v;
    struct {
      std::ptrdiff_t lower, upper, stride;
    } triplet;
  } u;
};

enum ReferenceType : int { kComponent = 0, kArray = 1, kStaticArray = 2 };
enum Mode : unsigned char {
  kNone = 0,
  kVector = 1,
  kFull = 2,
  kRange = 3,
  kSingle = 4,
  kOpenEnd = 5,
  kOpenStart = 6
};

// A part of a reference such as a(2)[3]%b(:)%c, from left to right. Bounds of static arrays are in elements from the
// beginning, already multiplied by what lies between two of their dimension.
struct Reference {
  Reference* next;
  int type;
  std::size_t item_size;
  union {
    struct {
      std::ptrdiff_t offset;
      std::ptrdiff_t token_offset;  // 0: neither allocatable nor a pointer
    } c;
    struct {
      unsigned char mode[caf::kMostRank];  // kNone ends it
      int static_array_type;
      union {
        struct {
          std::ptrdiff_t start, end, stride;
        } s;
        struct {
          const void* vector;
          std::size_t count;
          int kind;
        } v;
      } dim[caf::kMostRank];
    } a;
  } u;
};

enum RegisterType : int {
  kCoarrayStatic = 0,
  kCoarrayAllocate = 1,
  kLockStatic = 2,
  kLockAllocate = 3,
  kCritical = 4,
  kEventStatic = 5,
  kEventAllocate = 6,
  kRegisterOnly = 7,
  kAllocateOnly = 8
};

// What a token points to. That of a component lies in the segment, since others read where the component is and how long.
constexpr uint64_t kCoarrayMagic = 0x6361662d61727261;
constexpr uint64_t kComponentMagic = 0x6361662d636f6d70;
struct Token {
  uint64_t magic = kCoarrayMagic;
  int type = 0;
  caf::Coarray* coarray = nullptr;
  const Descriptor* descriptor = nullptr;  // of an allocatable array
  bool plain = false;                      // of an intrinsic type: its elements hold no addresses
};
struct ComponentToken {
  uint64_t magic;
  uint64_t address;  // 0: not allocated
  uint64_t bytes;
  int8_t rank;
  bool text;
};

// The compiler ends an allocation by a synchronisation that has no STAT=, whatever the allocation has: true while it is due
// after one that had.
extern bool allocation_had_stat;

// Gives the component of a token new memory; also for other images (references.cpp).
void* renew_component(void** token, std::size_t bytes);

// What STAT= and ERRMSG= get; without STAT= an error ends the job. `statement` is what the programmer wrote.
void report(int code, const char* statement, int* stat, char* message = nullptr,
            std::size_t length = 0);
// report() for sync statements, in which gfortran 12 passes for ERRMSG= of most variables where a pointer to the text lies, in place of
// the pointer. Eight bytes of text are no address that can be read.
void report_sync(int code, const char* statement, int* stat, char* message, std::size_t length);
[[noreturn]] void end_in_error(const char* statement);

caf::Shape shape_of(const Descriptor& descriptor);

// One element of any intrinsic type and kind.
struct Element {
  int type;
  int kind;
  std::size_t bytes;
};
// Converts `count` elements as an assignment does; false if there is no such conversion.
bool convert(std::byte* to, const caf::Shape& to_shape, Element to_type, const std::byte* from,
             const caf::Shape& from_shape, Element from_type);
inline bool same(const Element& one, const Element& other) {
  return one.type == other.type && one.bytes == other.bytes &&
         (one.kind == other.kind || one.type == kDerived);
}

// The rank and the address of a coarray on an image of the current team.
int locate(const void* token, int image, uint32_t* rank, uint64_t* address);

}  // namespace gfortran

#define CAF_API extern "C" __attribute__((visibility("default")))
