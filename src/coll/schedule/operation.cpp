// SPDX-License-Identifier: BSD-3-Clause
#include "coll/schedule/operation.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <functional>
#include <type_traits>

#include "arch/memory/copy.hpp"

namespace ompl::coll {
namespace {

// Loads and stores by memcpy: buffers may have any alignment, and compilers make vectors of it all the same.
template <class T, class Op>
void combine(const std::byte* __restrict in, const std::byte* own, std::byte* out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    T a;
    T b;
    std::memcpy(&a, in + i * sizeof(T), sizeof(T));
    std::memcpy(&b, own + i * sizeof(T), sizeof(T));
    a = static_cast<T>(Op()(a, b));
    std::memcpy(out + i * sizeof(T), &a, sizeof(T));
  }
}

// Signed sums and products wrap, as unsigned ones do.
struct Sum {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    else
      return a + b;
  }
};
struct Product {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else
      return a * b;
  }
};
// What is not a number stays, in whatever order the operands come: members combine in different ones.
template <class T>
bool is_number(T value) {
  return value == value;
}
struct Least {
  template <class T>
  T operator()(T a, T b) const {
    return b < a || !is_number(b) ? b : a;
  }
};
struct Greatest {
  template <class T>
  T operator()(T a, T b) const {
    return a < b || !is_number(b) ? b : a;
  }
};
struct LogicalXor {
  template <class T>
  bool operator()(T a, T b) const {
    return (a != T{}) != (b != T{});
  }
};

template <class T>
ReductionOperation::Kernel any_kernel(int32_t op) {
  switch (op) {
    case OMPL_SUM:
      return combine<T, Sum>;
    case OMPL_PROD:
      return combine<T, Product>;
    default:
      return nullptr;
  }
}

template <class T>
ReductionOperation::Kernel real_kernel(int32_t op) {
  switch (op) {
    case OMPL_MIN:
      return combine<T, Least>;
    case OMPL_MAX:
      return combine<T, Greatest>;
    case OMPL_LAND:
      return combine<T, std::logical_and<T>>;
    case OMPL_LOR:
      return combine<T, std::logical_or<T>>;
    case OMPL_LXOR:
      return combine<T, LogicalXor>;
    default:
      return any_kernel<T>(op);
  }
}

template <class T>
ReductionOperation::Kernel integer_kernel(int32_t op) {
  switch (op) {
    case OMPL_BAND:
      return combine<T, std::bit_and<>>;
    case OMPL_BOR:
      return combine<T, std::bit_or<>>;
    case OMPL_BXOR:
      return combine<T, std::bit_xor<>>;
    default:
      return real_kernel<T>(op);
  }
}

template <class T>
ReductionOperation::Kernel kernel_for(int32_t op, uint32_t* element) {
  *element = sizeof(T);
  if constexpr (std::is_integral_v<T>) return integer_kernel<T>(op);
  if constexpr (std::is_floating_point_v<T>) return real_kernel<T>(op);
  return any_kernel<T>(op);
}

}  // namespace

ReductionOperation::Kernel kernel_of(int32_t type, int32_t op, uint32_t* element) {
  switch (type) {
    case OMPL_INT8:
      return kernel_for<int8_t>(op, element);
    case OMPL_UINT8:
      return kernel_for<uint8_t>(op, element);
    case OMPL_INT16:
      return kernel_for<int16_t>(op, element);
    case OMPL_UINT16:
      return kernel_for<uint16_t>(op, element);
    case OMPL_INT32:
      return kernel_for<int32_t>(op, element);
    case OMPL_UINT32:
      return kernel_for<uint32_t>(op, element);
    case OMPL_INT64:
      return kernel_for<int64_t>(op, element);
    case OMPL_UINT64:
      return kernel_for<uint64_t>(op, element);
    case OMPL_FLOAT:
      return kernel_for<float>(op, element);
    case OMPL_DOUBLE:
      return kernel_for<double>(op, element);
    case OMPL_FLOAT_COMPLEX:
      return kernel_for<std::complex<float>>(op, element);
    case OMPL_DOUBLE_COMPLEX:
      return kernel_for<std::complex<double>>(op, element);
    default:
      return nullptr;
  }
}

bool ReductionOperation::apply(std::byte* in, const std::byte* own, std::byte* out, std::size_t bytes,
                               bool behind) const {
  const std::size_t count = bytes / element;
  if (kernel != nullptr) {
    kernel(in, own, out, count);
    return true;
  }
  try {
    if (behind) {
      const bool right = function(own, in, count, argument) == 0;
      arch::copy(out, in, bytes);
      return right;
    }
    if (own != out) arch::copy(out, own, bytes);
    return function(in, out, count, argument) == 0;
  } catch (const abi::__forced_unwind&) {  // the end of the thread
    throw;
  } catch (...) {
    return false;
  }
}

}  // namespace ompl::coll
