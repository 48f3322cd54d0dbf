// SPDX-License-Identifier: BSD-3-Clause
// Conversions between types and kinds, as assignments do them.
#include <algorithm>
#include <complex>
#include <cstring>

#include "gfortran/abi.hpp"

namespace gfortran {
namespace {

__extension__ using Quad = __float128;
__extension__ using Whole = __int128;

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

// A number in the widest kind of its type.
struct Number {
  bool real;
  Whole whole;
  Quad re, im;
};

Quad real_part(const std::byte* from, int kind) {
  switch (kind) {
    case 4:
      return load<float>(from);
    case 8:
      return load<double>(from);
    case 10:
      return load<long double>(from);
    default:
      return load<Quad>(from);
  }
}

std::size_t bytes_of_real(int kind) { return kind == 10 ? 16 : static_cast<std::size_t>(kind); }

Number load_number(const std::byte* from, Element type) {
  Number number{false, 0, 0, 0};
  if (type.type == kInteger || type.type == kLogical) {
    switch (type.kind) {
      case 1:
        number.whole = load<int8_t>(from);
        break;
      case 2:
        number.whole = load<int16_t>(from);
        break;
      case 4:
        number.whole = load<int32_t>(from);
        break;
      case 8:
        number.whole = load<int64_t>(from);
        break;
      default:
        number.whole = load<Whole>(from);
        break;
    }
    number.re = static_cast<Quad>(number.whole);
    return number;
  }
  number.real = true;
  number.re = real_part(from, type.kind);
  if (type.type == kComplex) number.im = real_part(from + bytes_of_real(type.kind), type.kind);
  return number;
}

void store_real(std::byte* to, int kind, Quad value) {
  switch (kind) {
    case 4:
      store(to, static_cast<float>(value));
      break;
    case 8:
      store(to, static_cast<double>(value));
      break;
    case 10:
      store(to, static_cast<long double>(value));
      break;
    default:
      store(to, value);
      break;
  }
}

void store_number(std::byte* to, Element type, const Number& number) {
  if (type.type == kInteger || type.type == kLogical) {
    const Whole whole = number.real ? static_cast<Whole>(number.re) : number.whole;
    switch (type.kind) {
      case 1:
        store(to, static_cast<int8_t>(whole));
        break;
      case 2:
        store(to, static_cast<int16_t>(whole));
        break;
      case 4:
        store(to, static_cast<int32_t>(whole));
        break;
      case 8:
        store(to, static_cast<int64_t>(whole));
        break;
      default:
        store(to, whole);
        break;
    }
    return;
  }
  store_real(to, type.kind, number.re);
  if (type.type == kComplex) store_real(to + bytes_of_real(type.kind), type.kind, number.im);
}

uint32_t character(const std::byte* text, std::size_t place, int kind) {
  return kind == 1 ? static_cast<uint32_t>(text[place]) : load<uint32_t>(text + 4 * place);
}

void convert_text(std::byte* to, Element to_type, const std::byte* from, Element from_type) {
  const std::size_t length = to_type.bytes / static_cast<std::size_t>(to_type.kind);
  const std::size_t given =
      std::min(length, from_type.bytes / static_cast<std::size_t>(from_type.kind));
  if (to_type.kind == from_type.kind)
    std::memmove(to, from, given * static_cast<std::size_t>(to_type.kind));
  for (std::size_t i = to_type.kind == from_type.kind ? given : 0; i < length; ++i) {
    const uint32_t one = i < given ? character(from, i, from_type.kind) : ' ';
    if (to_type.kind == 1) {
      to[i] = static_cast<std::byte>(one > 255 ? '?' : one);
    } else {
      store(to + 4 * i, one);
    }
  }
}

bool numeric(int type) { return type == kInteger || type == kReal || type == kComplex; }

bool possible(Element to, Element from) {
  if (to.type == kCharacter || from.type == kCharacter)
    return to.type == from.type && to.kind > 0 && from.kind > 0;
  if (numeric(to.type) && numeric(from.type)) return true;
  if (to.type == kLogical ||
      to.type == kInteger)  // gfortran allows integers and logicals for each other
    return from.type == kLogical || from.type == kInteger;
  return to.type == from.type && to.bytes == from.bytes;
}

void convert_one(std::byte* to, Element to_type, const std::byte* from, Element from_type) {
  if (to_type.type == kCharacter) {
    convert_text(to, to_type, from, from_type);
  } else if (same(to_type, from_type) || to_type.type == kDerived) {
    std::memmove(to, from, to_type.bytes);
  } else {
    store_number(to, to_type, load_number(from, from_type));
  }
}

void convert_dimension(std::byte* to, const caf::Shape& to_shape, Element to_type,
                       const std::byte* from, const caf::Shape& from_shape, Element from_type,
                       int dimension) {
  if (dimension < 0) return convert_one(to, to_type, from, from_type);
  for (std::size_t i = 0; i < to_shape.extent[dimension]; ++i) {
    convert_dimension(to, to_shape, to_type, from, from_shape, from_type, dimension - 1);
    to += to_shape.stride[dimension];
    from += from_shape.stride[dimension];
  }
}

}  // namespace

bool convert(std::byte* to, const caf::Shape& to_shape, Element to_type, const std::byte* from,
             const caf::Shape& from_shape, Element from_type) {
  if (same(to_type, from_type)) {
    caf::copy_block(to, to_shape, from, from_shape, to_type.bytes);
    return true;
  }
  if (!possible(to_type, from_type)) return false;
  convert_dimension(to, to_shape, to_type, from, from_shape, from_type, to_shape.dimensions - 1);
  return true;
}

}  // namespace gfortran
