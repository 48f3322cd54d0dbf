// SPDX-License-Identifier: BSD-3-Clause
// co_broadcast, co_sum, co_min, co_max, co_reduce.
#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "core/reductions.hpp"
#include "gfortran/abi.hpp"

namespace gfortran {
namespace {

using caf::Kind, caf::Quad, caf::Whole;

// For components of a derived type that is broadcast the compiler leaves two members of the descriptor undefined, the offset
// and the span: where the one does not fit to the bounds, the other is not trusted.
caf::Shape trusted_shape(const Descriptor& array) {
  std::ptrdiff_t offset = 0;
  for (int d = 0; d < array.rank; ++d) offset -= array.dim[d].stride * array.dim[d].lower;
  if (offset == static_cast<std::ptrdiff_t>(array.offset) &&
      array.span >= static_cast<std::ptrdiff_t>(array.elem_len))
    return shape_of(array);
  caf::Shape shape;
  shape.dimensions = array.rank;
  for (int d = 0; d < array.rank; ++d) {
    shape.extent[d] = array.dim[d].extent();
    shape.stride[d] = array.dim[d].stride * static_cast<std::ptrdiff_t>(array.elem_len);
  }
  return shape;
}

// The elements of an array, contiguous for the time of a collective.
class Gathered {
 public:
  explicit Gathered(Descriptor* array) : array_(array), shape_(trusted_shape(*array)) {
    std::ptrdiff_t expected = static_cast<std::ptrdiff_t>(array->elem_len);
    bool whole = true;
    for (int d = 0; d < shape_.dimensions; ++d) {
      whole = whole && (shape_.extent[d] == 1 || shape_.stride[d] == expected);
      expected *= static_cast<std::ptrdiff_t>(shape_.extent[d]);
    }
    if (whole) return;
    copy_.resize(count() * array->elem_len + 1);
    caf::copy_block(copy_.data(), caf::packed(shape_, array->elem_len), own(), shape_, array->elem_len);
  }

  [[nodiscard]] std::size_t count() const { return shape_.count(); }
  std::byte* data() { return copy_.empty() ? own() : copy_.data(); }
  void give_back() {
    if (copy_.empty()) return;
    caf::copy_block(own(), shape_, copy_.data(), caf::packed(shape_, array_->elem_len),
                    array_->elem_len);
  }

 private:
  [[nodiscard]] std::byte* own() const { return static_cast<std::byte*>(array_->base); }

  Descriptor* array_;
  caf::Shape shape_;
  std::vector<std::byte> copy_;
};

// Strings, by the numbers of their characters. `arg` is the length, times two, plus one for the most.
template <class Character>
int text(const void* in, void* inout, std::size_t count, void* arg) {
  const std::size_t length = reinterpret_cast<uintptr_t>(arg) / 2;
  const bool want_most = (reinterpret_cast<uintptr_t>(arg) & 1) != 0;
  const auto* from = static_cast<const Character*>(in);
  auto* to = static_cast<Character*>(inout);
  for (std::size_t i = 0; i < count; ++i, from += length, to += length) {
    const bool smaller = std::lexicographical_compare(from, from + length, to, to + length);
    const bool greater = std::lexicographical_compare(to, to + length, from, from + length);
    if (want_most ? greater : smaller) std::copy_n(from, length, to);
  }
  return 0;
}

int own_operation(ompl_op_fn function, uint64_t key, const Descriptor& array, caf::Operation* made) {
  void* const arg = reinterpret_cast<void*>(key);  // NOLINT(performance-no-int-to-ptr): a number
  return caf::operation(function, arg, key, array.elem_len, made);
}

int choose(const Descriptor& array, Kind kind, int length, caf::Operation* made) {
  if (array.type == kInteger) return caf::integer_operation(array.elem_len, kind, made);
  if (array.type == kReal) return caf::real_operation(array.elem_len, kind, made);
  if (array.type == kComplex && kind == Kind::sum) return caf::complex_operation(array.elem_len, made);
  if (array.type == kCharacter && kind != Kind::sum && length > 0) {
    const auto many = static_cast<uint64_t>(length);
    const uint64_t key = 2 * many + (kind == Kind::most ? 1 : 0);
    return own_operation(array.elem_len == many ? &text<unsigned char> : &text<uint32_t>, key, array,
                         made);
  }
  return caf::refuse(caf::kWrong, "no such reduction for a type of %zu bytes", array.elem_len);
}

// A descriptor says 16 bytes of real(10) and of real(16). What would be too small for any number of real(16) is taken for one of
// real(10), with zeros where it has no bits, and refused.
bool of_kind_ten(const Descriptor& array, const std::byte* data, std::size_t count) {
  if (!(array.type == kReal && array.elem_len == 16) &&
      !(array.type == kComplex && array.elem_len == 32))
    return false;
  for (std::size_t i = 0; i < count * array.elem_len; i += 16) {
    const bool tiny = (data[i + 15] & std::byte{0x7f}) == std::byte{0} && data[i + 14] == std::byte{0};
    if (tiny && (data[i + 8] != std::byte{0} || data[i + 9] != std::byte{0})) return true;
  }
  return false;
}

void reduce(Descriptor* array, Kind kind, int length, int result_image, const char* statement,
            int* stat, char* message, std::size_t message_length) {
  caf::Operation operation{};
  int code = choose(*array, kind, length, &operation);
  if (code == caf::kOk && array->elem_len > 0) {
    Gathered data(array);
    if (of_kind_ten(*array, data.data(), data.count())) {
      code = caf::refuse(
          caf::kWrong,
          "real(10), which the compiler does not tell from real(16): use real(8) or real(16)");
    } else {
      code = caf::co_reduce(data.data(), data.count(), array->elem_len, operation, result_image);
    }
    if (code == caf::kOk) data.give_back();
  }
  report(code, statement, stat, message, message_length);
}

// --- co_reduce: the user's function, called as the compiler would

constexpr int kByValue = 4;       // of the flags: the arguments are values
constexpr int kByDescriptor = 8;  // descriptors, which are not supported

struct Function {
  void (*code)();
  std::size_t length;  // of strings
  std::size_t bytes;
};

// Kept, since the layer's operation is: one for each function and type.
Function* kept_function(void (*code)(), std::size_t length, std::size_t bytes) {
  static auto* known = new std::map<std::pair<uintptr_t, std::size_t>, Function>;
  return &known->try_emplace({reinterpret_cast<uintptr_t>(code), bytes}, Function{code, length, bytes})
              .first->second;
}

template <class T>
int by_reference(const void* in, void* inout, std::size_t count, void* arg) {
  const auto function = reinterpret_cast<T (*)(T*, T*)>(static_cast<Function*>(arg)->code);
  return caf::each<T>(in, inout, count, [&](T one, T other) { return function(&one, &other); });
}

template <class T>
int by_value(const void* in, void* inout, std::size_t count, void* arg) {
  const auto function = reinterpret_cast<T (*)(T, T)>(static_cast<Function*>(arg)->code);
  return caf::each<T>(in, inout, count, [&](T one, T other) { return function(one, other); });
}

int on_strings(const void* in, void* inout, std::size_t count, void* arg) {
  const Function& what = *static_cast<Function*>(arg);
  const auto function = reinterpret_cast<void (*)(void*, std::size_t, const void*, const void*,
                                                  std::size_t, std::size_t)>(what.code);
  std::vector<std::byte> result(what.bytes);
  for (std::size_t i = 0; i < count; ++i) {
    auto* const other = static_cast<std::byte*>(inout) + i * what.bytes;
    function(result.data(), what.length, static_cast<const std::byte*>(in) + i * what.bytes, other,
             what.length, what.length);
    std::memcpy(other, result.data(), what.bytes);
  }
  return 0;
}

#if defined(__x86_64__)
// A result of more than 16 bytes goes where the first, hidden argument says.
int on_structures(const void* in, void* inout, std::size_t count, void* arg) {
  const Function& what = *static_cast<Function*>(arg);
  const auto function = reinterpret_cast<void* (*)(void*, const void*, const void*)>(what.code);
  std::vector<std::byte> result(what.bytes);
  for (std::size_t i = 0; i < count; ++i) {
    auto* const other = static_cast<std::byte*>(inout) + i * what.bytes;
    function(result.data(), static_cast<const std::byte*>(in) + i * what.bytes, other);
    std::memcpy(other, result.data(), what.bytes);
  }
  return 0;
}
#endif

template <class T>
ompl_op_fn caller(int flags) {
  return (flags & kByValue) != 0 ? &by_value<T> : &by_reference<T>;
}

ompl_op_fn caller_of(const Descriptor& array, int flags) {
  const std::size_t bytes = array.elem_len;
  switch (array.type) {
    case kInteger:
    case kLogical:
      return bytes == 1   ? caller<int8_t>(flags)
             : bytes == 2 ? caller<int16_t>(flags)
             : bytes == 4 ? caller<int32_t>(flags)
             : bytes == 8 ? caller<int64_t>(flags)
                          : caller<Whole>(flags);
    case kReal:
      return bytes == 4   ? caller<float>(flags)
             : bytes == 8 ? caller<double>(flags)
                          : caller<Quad>(flags);
    case kComplex:
      return bytes == 8    ? caller<_Complex float>(flags)
             : bytes == 16 ? caller<_Complex double>(flags)
                           : nullptr;
    case kCharacter:
      return &on_strings;
#if defined(__x86_64__)
    case kDerived:
      return bytes > 16 && (flags & kByValue) == 0 ? &on_structures : nullptr;
#endif
    default:
      return nullptr;
  }
}

}  // namespace
}  // namespace gfortran

using namespace gfortran;

CAF_API void _gfortran_caf_co_broadcast(Descriptor* array, int source_image, int* stat, char* message,
                                        std::size_t length) {
  Gathered data(array);
  const int code = caf::co_broadcast(data.data(), data.count() * array->elem_len, source_image);
  if (code == caf::kOk) data.give_back();
  report(code, "co_broadcast", stat, message, length);
}

CAF_API void _gfortran_caf_co_sum(Descriptor* array, int result_image, int* stat, char* message,
                                  std::size_t length) {
  reduce(array, Kind::sum, 0, result_image, "co_sum", stat, message, length);
}

CAF_API void _gfortran_caf_co_min(Descriptor* array, int result_image, int* stat, char* message,
                                  int string_length, std::size_t length) {
  reduce(array, Kind::least, string_length, result_image, "co_min", stat, message, length);
}

CAF_API void _gfortran_caf_co_max(Descriptor* array, int result_image, int* stat, char* message,
                                  int string_length, std::size_t length) {
  reduce(array, Kind::most, string_length, result_image, "co_max", stat, message, length);
}

CAF_API void _gfortran_caf_co_reduce(Descriptor* array, void (*function)(), int flags, int result_image,
                                     int* stat, char* message, int string_length, std::size_t length) {
  const ompl_op_fn call = (flags & kByDescriptor) != 0 ? nullptr : caller_of(*array, flags);
  int code = caf::kOk;
  if (call == nullptr) {
    code = caf::refuse(caf::kWrong,
                       "a function on a type of %zu bytes cannot be called: its result comes in "
                       "registers that only the compiler knows",
                       array->elem_len);
  } else if (array->elem_len > 0) {
    Gathered data(array);
    Function* const kept =
        kept_function(function, static_cast<std::size_t>(string_length), array->elem_len);
    caf::Operation operation{};
    const uint64_t key = reinterpret_cast<uintptr_t>(function);
    code = caf::operation(call, kept, key, array->elem_len, &operation);
    if (code == caf::kOk)
      code = caf::co_reduce(data.data(), data.count(), array->elem_len, operation, result_image);
    if (code == caf::kOk) data.give_back();
  }
  report(code, "co_reduce", stat, message, length);
}
