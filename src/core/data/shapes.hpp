// SPDX-License-Identifier: BSD-3-Clause
// What a strided block or a list of elements is: checked, its elements numbered in row-major order, with the ways over it
// that copying, posting piece by piece and packing (core/calls/packing.hpp) need.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "arch/memory/copy.hpp"
#include "omnipgas/ompl_ext.h"
#include "util/status.hpp"

namespace ompl {

// One element, `Size` bytes, at equal distances.
template <std::size_t Size>
void copy_elements(std::byte* to, std::ptrdiff_t to_stride, const std::byte* from,
                   std::ptrdiff_t from_stride, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i, to += to_stride, from += from_stride)
    std::memcpy(to, from, Size);
}

inline void copy_row(std::byte* to, std::ptrdiff_t to_stride, const std::byte* from,
                     std::ptrdiff_t from_stride, std::size_t count, std::size_t element) {
  switch (element) {
    case 1:
      return copy_elements<1>(to, to_stride, from, from_stride, count);
    case 2:
      return copy_elements<2>(to, to_stride, from, from_stride, count);
    case 4:
      return copy_elements<4>(to, to_stride, from, from_stride, count);
    case 8:
      return copy_elements<8>(to, to_stride, from, from_stride, count);
    case 16:
      return copy_elements<16>(to, to_stride, from, from_stride, count);
    default:
      for (; count > 0; --count, to += to_stride, from += from_stride) arch::copy(to, from, element);
  }
}

// Which of the two addresses of an element.
enum class Side : uint8_t { local, remote };

// Elements of equal length, numbered from 0, each with a place on either side.
class Shape {
 public:
  static constexpr uint8_t kList = 255;

  virtual ~Shape() = default;
  [[nodiscard]] virtual bool empty() const = 0;
  [[nodiscard]] std::size_t element() const { return element_; }  // bytes
  [[nodiscard]] std::size_t bytes() const { return bytes_; }      // of all
  [[nodiscard]] std::size_t elements() const { return bytes_ / element_; }
  // `check_range(offset, length)` of all that the remote elements cover; the first that is not OMPL_OK.
  using CheckRange = std::function<int(uint64_t, std::size_t)>;
  [[nodiscard]] virtual int check(const CheckRange& check_range, uint64_t offset) const = 0;

  // Elements [first, first + count) between their places on one side, the element of place 0 being at `base`, and packed memory.
  virtual void gather(Side side, const std::byte* base, std::size_t first, std::size_t count,
                      std::byte* packed) const = 0;
  virtual void scatter(Side side, std::byte* base, std::size_t first, std::size_t count,
                       const std::byte* packed) const = 0;
  // The same without change of place, for as long as an operation is under way.
  [[nodiscard]] virtual std::unique_ptr<Shape> keep() const = 0;

  // --- As it travels: the remote places of `count` elements, of a strided block those of all.
  [[nodiscard]] virtual uint8_t wire_kind() const = 0;  // dimensions, or kList
  [[nodiscard]] virtual std::size_t wire_bytes(std::size_t count) const = 0;
  virtual void write(std::size_t first, std::size_t count, std::byte* to) const = 0;

 protected:
  Shape() = default;
  Shape(const Shape&) = default;
  Shape& operator=(const Shape&) = default;

  std::size_t element_ = 1;
  std::size_t bytes_ = 0;
};

// `Final`: a shape with visit(first, count, run), which calls run(local, remote, n) for n elements at equal distances, and
// with stride(side).
template <class Final>
class VisitedShape : public Shape {
 public:
  void gather(Side side, const std::byte* base, std::size_t first, std::size_t count,
              std::byte* packed) const final {
    const auto width = static_cast<std::ptrdiff_t>(element_);
    self().visit(first, count, [&](std::ptrdiff_t local, std::ptrdiff_t remote, std::size_t n) {
      copy_row(packed, width, base + (side == Side::local ? local : remote), self().stride(side), n,
               element_);
      packed += n * element_;
    });
  }
  void scatter(Side side, std::byte* base, std::size_t first, std::size_t count,
               const std::byte* packed) const final {
    const auto width = static_cast<std::ptrdiff_t>(element_);
    self().visit(first, count, [&](std::ptrdiff_t local, std::ptrdiff_t remote, std::size_t n) {
      copy_row(base + (side == Side::local ? local : remote), self().stride(side), packed, width, n,
               element_);
      packed += n * element_;
    });
  }
  // Between a block at `local` and one at `remote`, both mapped.
  void copy(std::byte* local, std::byte* remote, bool put) const {
    self().visit(0, elements(), [&](std::ptrdiff_t l, std::ptrdiff_t r, std::size_t n) {
      if (put) {
        copy_row(remote + r, self().stride(Side::remote), local + l, self().stride(Side::local), n,
                 element_);
      } else {
        copy_row(local + l, self().stride(Side::local), remote + r, self().stride(Side::remote), n,
                 element_);
      }
    });
  }
  [[nodiscard]] std::unique_ptr<Shape> keep() const override { return std::make_unique<Final>(self()); }

 private:
  [[nodiscard]] const Final& self() const { return static_cast<const Final&>(*this); }
};

// An ompl_strided, checked, with as few dimensions as it has gaps.
class Strided final : public VisitedShape<Strided> {
 public:
  int read(const ompl_strided& block, const char* what) {
    if (block.element == 0 || block.dimensions < 0 || block.dimensions > OMPL_MAX_DIMENSIONS ||
        (block.dimensions > 0 && block.extents == nullptr)) {
      return fail(OMPL_ERR_ARG,
                  "{}: a block needs elements of at least a byte, 0 to {} dimensions and their extents",
                  what, OMPL_MAX_DIMENSIONS);
    }
    element_ = block.element;
    dimensions_ = 0;
    std::ptrdiff_t packed = 0;
    bool fits = !__builtin_add_overflow(block.element, std::size_t{0}, &packed);
    for (int i = block.dimensions - 1; i >= 0; --i) {  // from the innermost outwards
      const std::size_t extent = block.extents[i];
      empty_ = empty_ || extent == 0;
      add(extent, block.local_strides != nullptr ? block.local_strides[i] : packed,
          block.remote_strides != nullptr ? block.remote_strides[i] : packed);
      fits = !__builtin_mul_overflow(packed, extent, &packed) && fits;
    }
    if (!empty_ && (!fits || !measure()))
      return fail(OMPL_ERR_LENGTH, "{}: the block is larger than memory", what);
    return OMPL_OK;
  }

  // What another rank's write() made, outside bytes; false: it is no block.
  bool receive(std::size_t element, uint8_t dimensions, const std::byte* from) {
    if (element == 0 || dimensions > OMPL_MAX_DIMENSIONS) return false;
    element_ = element;
    dimensions_ = dimensions;
    for (std::size_t d = 0; d < dimensions_; ++d) {
      std::array<uint64_t, 2> axis{};
      std::memcpy(axis.data(), from + d * sizeof axis, sizeof axis);
      if (axis[0] == 0) return false;
      axes_[d] = {.extent = axis[0], .local = 0, .remote = static_cast<std::ptrdiff_t>(axis[1])};
    }
    return measure();
  }

  [[nodiscard]] bool empty() const override { return empty_; }

  [[nodiscard]] int check(const CheckRange& check_range, uint64_t offset) const override {
    return check_range(offset + static_cast<uint64_t>(lowest_), span_);
  }

  [[nodiscard]] uint8_t wire_kind() const override { return static_cast<uint8_t>(dimensions_); }
  [[nodiscard]] std::size_t wire_bytes(std::size_t /*count*/) const override {
    return dimensions_ * 2 * sizeof(uint64_t);
  }
  void write(std::size_t /*first*/, std::size_t /*count*/, std::byte* to) const override {
    for (std::size_t d = 0; d < dimensions_; ++d) {
      const std::array<uint64_t, 2> axis{axes_[d].extent, static_cast<uint64_t>(axes_[d].remote)};
      std::memcpy(to + d * sizeof axis, axis.data(), sizeof axis);
    }
  }

  [[nodiscard]] std::ptrdiff_t stride(Side side) const {
    if (dimensions_ == 0) return 0;
    return side == Side::local ? axes_[0].local : axes_[0].remote;
  }
  template <class Run>
  void visit(std::size_t first, std::size_t count, Run run) const {
    std::array<std::size_t, OMPL_MAX_DIMENSIONS> at{};
    for (std::size_t d = 0; d < dimensions_; ++d) {
      at[d] = first % axes_[d].extent;
      first /= axes_[d].extent;
    }
    while (count > 0) {
      const std::size_t n = dimensions_ > 0 ? std::min(count, axes_[0].extent - at[0]) : 1;
      std::ptrdiff_t local = 0;
      std::ptrdiff_t remote = 0;
      place(at, &local, &remote);
      run(local, remote, n);
      count -= n;
      at[0] = 0;
      if (!advance(at, 1)) return;
    }
  }

  // The elements one by one.
  [[nodiscard]] auto pieces(std::byte* local, uint64_t offset) const {
    return [this, local, offset, at = std::array<std::size_t, OMPL_MAX_DIMENSIONS>{},
            more = true](auto* piece) mutable {
      if (!more) return false;
      std::ptrdiff_t l = 0;
      std::ptrdiff_t r = 0;
      place(at, &l, &r);
      *piece = {local + l, offset + static_cast<uint64_t>(r), element_};
      more = advance(at, 0);
      return true;
    };
  }

 private:
  struct Axis {
    std::size_t extent;
    std::ptrdiff_t local;
    std::ptrdiff_t remote;
  };
  void place(const std::array<std::size_t, OMPL_MAX_DIMENSIONS>& at, std::ptrdiff_t* local,
             std::ptrdiff_t* remote) const {
    for (std::size_t d = 0; d < dimensions_; ++d) {
      *local += static_cast<std::ptrdiff_t>(at[d]) * axes_[d].local;
      *remote += static_cast<std::ptrdiff_t>(at[d]) * axes_[d].remote;
    }
  }

  // The next dimension outwards: joined to the element or to the last one if there is no gap between.
  void add(std::size_t extent, std::ptrdiff_t local, std::ptrdiff_t remote) {
    if (extent == 1) return;
    const auto follows = [](std::ptrdiff_t stride, std::ptrdiff_t inner_stride, std::size_t count) {
      std::ptrdiff_t end = 0;
      return !__builtin_mul_overflow(inner_stride, count, &end) && stride == end;
    };
    std::size_t whole = 0;
    if (dimensions_ == 0 && follows(local, 1, element_) && follows(remote, 1, element_) &&
        !__builtin_mul_overflow(element_, extent, &whole)) {
      element_ = whole;
      return;
    }
    if (dimensions_ > 0) {
      Axis& last = axes_[dimensions_ - 1];
      if (follows(local, last.local, last.extent) && follows(remote, last.remote, last.extent) &&
          !__builtin_mul_overflow(last.extent, extent, &whole)) {
        last.extent = whole;
        return;
      }
    }
    axes_[dimensions_++] = {extent, local, remote};
  }

  // The range of remote addresses, from the first element's. False if it does not fit into memory.
  bool measure() {
    __int128 low = 0;
    __int128 high = static_cast<__int128>(element_);
    __int128 bytes = high;
    for (std::size_t d = 0; d < dimensions_; ++d) {
      const __int128 reach = static_cast<__int128>(axes_[d].extent - 1) * axes_[d].remote;
      (reach < 0 ? low : high) += reach;
      bytes *= static_cast<__int128>(axes_[d].extent);
      if (bytes > std::numeric_limits<std::ptrdiff_t>::max()) return false;
    }
    constexpr __int128 kMost = std::numeric_limits<std::ptrdiff_t>::max();
    if (high - low > kMost) return false;
    lowest_ = static_cast<std::ptrdiff_t>(low);
    span_ = static_cast<std::size_t>(high - low);
    bytes_ = static_cast<std::size_t>(bytes);
    return true;
  }

  bool advance(std::array<std::size_t, OMPL_MAX_DIMENSIONS>& at, std::size_t from) const {
    for (std::size_t d = from; d < dimensions_; ++d) {
      if (++at[d] < axes_[d].extent) return true;
      at[d] = 0;
    }
    return false;
  }

  std::size_t dimensions_ = 0;
  std::array<Axis, OMPL_MAX_DIMENSIONS> axes_{};  // innermost first
  bool empty_ = false;
  std::ptrdiff_t lowest_ = 0;
  std::size_t span_ = 0;
};

// An ompl_indexed, checked.
class Indexed final : public VisitedShape<Indexed> {
 public:
  int read(const ompl_indexed& list, const char* what) {
    if (list.element == 0)
      return fail(OMPL_ERR_ARG, "{}: a list needs elements of at least a byte", what);
    if (__builtin_mul_overflow(list.element, list.count, &bytes_))
      return fail(OMPL_ERR_LENGTH, "{}: the list is larger than memory", what);
    list_ = list;
    element_ = list.element;
    return OMPL_OK;
  }
  // What another rank's write() made, of memory that stays.
  bool receive(std::size_t element, std::size_t count, const std::byte* from) {
    if (element == 0 || __builtin_mul_overflow(element, count, &bytes_)) return false;
    element_ = element;
    list_ = {.element = element,
             .count = count,
             .local = nullptr,
             .remote = reinterpret_cast<const uint64_t*>(from)};
    return true;
  }

  [[nodiscard]] bool empty() const override { return list_.count == 0; }

  [[nodiscard]] int check(const CheckRange& check_range, uint64_t offset) const override {
    if (list_.remote == nullptr) return check_range(offset, bytes_);
    for (std::size_t i = 0; i < list_.count; ++i) {
      if (const int code = check_range(offset + list_.remote[i], list_.element); code != OMPL_OK)
        return code;
    }
    return OMPL_OK;
  }

  // With lists of its own.
  [[nodiscard]] std::unique_ptr<Shape> keep() const override {
    auto kept = std::make_unique<Indexed>(*this);
    const auto own = [&](const uint64_t*& places) {
      if (places == nullptr) return;
      kept->owned_.emplace_back(places, places + list_.count);
      places = kept->owned_.back().data();
    };
    kept->owned_.reserve(2);
    own(kept->list_.local);
    own(kept->list_.remote);
    return kept;
  }

  [[nodiscard]] uint8_t wire_kind() const override { return kList; }
  [[nodiscard]] std::size_t wire_bytes(std::size_t count) const override {
    return count * sizeof(uint64_t);
  }
  void write(std::size_t first, std::size_t count, std::byte* to) const override {
    for (std::size_t i = 0; i < count; ++i) {
      const uint64_t at = place(list_.remote, first + i);
      std::memcpy(to + i * sizeof at, &at, sizeof at);
    }
  }

  [[nodiscard]] static std::ptrdiff_t stride(Side /*side*/) { return 0; }
  template <class Run>
  void visit(std::size_t first, std::size_t count, Run run) const {
    for (std::size_t i = first; i < first + count; ++i)
      run(static_cast<std::ptrdiff_t>(place(list_.local, i)),
          static_cast<std::ptrdiff_t>(place(list_.remote, i)), std::size_t{1});
  }

  [[nodiscard]] auto pieces(std::byte* local, uint64_t offset) const {
    return [this, local, offset, i = std::size_t{0}](auto* piece) mutable {
      if (i == list_.count) return false;
      *piece = {local + place(list_.local, i), offset + place(list_.remote, i), list_.element};
      ++i;
      return true;
    };
  }

 private:
  [[nodiscard]] uint64_t place(const uint64_t* places, std::size_t i) const {
    return places != nullptr ? places[i] : i * list_.element;
  }

  ompl_indexed list_{};
  std::vector<std::vector<uint64_t>> owned_;
};

}  // namespace ompl
