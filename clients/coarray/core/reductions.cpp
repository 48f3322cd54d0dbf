// SPDX-License-Identifier: BSD-3-Clause
// The layer's types where it has them, else user-defined operations.
#include "core/reductions.hpp"

#include <complex>

namespace caf {
namespace {

struct QuadComplex {
  Quad re, im;
};

template <class T>
int sum(const void* in, void* inout, std::size_t count, void* /*arg*/) {
  return each<T>(in, inout, count, [](T one, T other) { return static_cast<T>(one + other); });
}
template <class T>
int least(const void* in, void* inout, std::size_t count, void* /*arg*/) {
  return each<T>(in, inout, count,
                 [](T one, T other) { return one < other || one != one ? one : other; });
}
template <class T>
int most(const void* in, void* inout, std::size_t count, void* /*arg*/) {
  return each<T>(in, inout, count,
                 [](T one, T other) { return other < one || one != one ? one : other; });
}
int sum_quad_complex(const void* in, void* inout, std::size_t count, void* /*arg*/) {
  return each<QuadComplex>(in, inout, count, [](QuadComplex one, QuadComplex other) {
    return QuadComplex{one.re + other.re, one.im + other.im};
  });
}

template <class T>
ompl_op_fn combination(Kind kind) {
  return kind == Kind::sum ? &sum<T> : kind == Kind::least ? &least<T> : &most<T>;
}

// A type that the layer has, and what combines it here.
template <class T>
int standard(int32_t type, Kind kind, Operation* made) {
  const int32_t op = kind == Kind::sum ? OMPL_SUM : kind == Kind::least ? OMPL_MIN : OMPL_MAX;
  *made = {type, op, combination<T>(kind), nullptr};
  return kOk;
}

}  // namespace

int integer_operation(std::size_t bytes, Kind kind, Operation* made) {
  switch (bytes) {
    case 1:
      return standard<int8_t>(OMPL_INT8, kind, made);
    case 2:
      return standard<int16_t>(OMPL_INT16, kind, made);
    case 4:
      return standard<int32_t>(OMPL_INT32, kind, made);
    case 8:
      return standard<int64_t>(OMPL_INT64, kind, made);
    default:
      return operation(combination<Whole>(kind), nullptr, 0, bytes, made);
  }
}

int real_operation(std::size_t bytes, Kind kind, Operation* made) {
  switch (bytes) {
    case 4:
      return standard<float>(OMPL_FLOAT, kind, made);
    case 8:
      return standard<double>(OMPL_DOUBLE, kind, made);
    default:
      return operation(combination<Quad>(kind), nullptr, 0, bytes, made);
  }
}

int complex_operation(std::size_t bytes, Operation* made) {
  switch (bytes) {
    case 8:
      *made = {OMPL_FLOAT_COMPLEX, OMPL_SUM, &sum<std::complex<float>>, nullptr};
      return kOk;
    case 16:
      *made = {OMPL_DOUBLE_COMPLEX, OMPL_SUM, &sum<std::complex<double>>, nullptr};
      return kOk;
    default:
      return operation(&sum_quad_complex, nullptr, 0, bytes, made);
  }
}

}  // namespace caf
