// SPDX-License-Identifier: BSD-3-Clause
// Strided and indexed data: checked whole, then copied row by row where the target is mapped, else posted
// piece by piece, with one signal after all of it.
#include <array>
#include <limits>

#include "core/data/checks.hpp"
#include "core/data/operations.hpp"
#include "core/data/staging.hpp"
#include "core/job/runtime.hpp"
#include "core/network/network.hpp"
#include "util/status.hpp"

namespace ompl {
namespace {

// One element, `Size` bytes, at equal distances.
template <std::size_t Size>
void copy_elements(std::byte* to, std::ptrdiff_t to_stride, const std::byte* from,
                   std::ptrdiff_t from_stride, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i, to += to_stride, from += from_stride)
    std::memcpy(to, from, Size);
}

void copy_row(std::byte* to, std::ptrdiff_t to_stride, const std::byte* from,
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

// An ompl_strided, checked, with as few dimensions as it has gaps.
class Strided {
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

  [[nodiscard]] bool empty() const { return empty_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  int check(const auto& check_range, uint64_t offset) const {
    return check_range(offset + static_cast<uint64_t>(lowest_), span_);
  }

  // Copies between a block at `local` and one at `remote`, both mapped.
  void copy(std::byte* local, std::byte* remote, bool put) const {
    const std::size_t count = dimensions_ > 0 ? inner().extent : 1;
    const std::ptrdiff_t near = dimensions_ > 0 ? inner().local : 0;
    const std::ptrdiff_t far = dimensions_ > 0 ? inner().remote : 0;
    for_each_row([&](std::ptrdiff_t l, std::ptrdiff_t r) {
      if (put) {
        copy_row(remote + r, far, local + l, near, count, element_);
      } else {
        copy_row(local + l, near, remote + r, far, count, element_);
      }
    });
  }

  // The elements one by one.
  [[nodiscard]] Sender::Pieces pieces(std::byte* local, uint64_t offset) const {
    return [this, local, offset, at = std::array<std::size_t, OMPL_MAX_DIMENSIONS>{},
            more = true](Sender::Piece* piece) mutable {
      if (!more) return false;
      std::ptrdiff_t l = 0;
      std::ptrdiff_t r = 0;
      for (std::size_t d = 0; d < dimensions_; ++d) {
        l += static_cast<std::ptrdiff_t>(at[d]) * axes_[d].local;
        r += static_cast<std::ptrdiff_t>(at[d]) * axes_[d].remote;
      }
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
  [[nodiscard]] const Axis& inner() const { return axes_[0]; }

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

  template <class Row>
  void for_each_row(Row row) const {
    std::array<std::size_t, OMPL_MAX_DIMENSIONS> at{};
    do {
      std::ptrdiff_t l = 0;
      std::ptrdiff_t r = 0;
      for (std::size_t d = 1; d < dimensions_; ++d) {
        l += static_cast<std::ptrdiff_t>(at[d]) * axes_[d].local;
        r += static_cast<std::ptrdiff_t>(at[d]) * axes_[d].remote;
      }
      row(l, r);
    } while (advance(at, 1));
  }

  std::size_t element_ = 0;
  std::size_t dimensions_ = 0;
  std::array<Axis, OMPL_MAX_DIMENSIONS> axes_{};  // innermost first
  bool empty_ = false;
  std::ptrdiff_t lowest_ = 0;
  std::size_t span_ = 0;
  std::size_t bytes_ = 0;
};

// An ompl_indexed, checked.
class Indexed {
 public:
  int read(const ompl_indexed& list, const char* what) {
    if (list.element == 0)
      return fail(OMPL_ERR_ARG, "{}: a list needs elements of at least a byte", what);
    if (__builtin_mul_overflow(list.element, list.count, &bytes_))
      return fail(OMPL_ERR_LENGTH, "{}: the list is larger than memory", what);
    list_ = list;
    return OMPL_OK;
  }

  [[nodiscard]] bool empty() const { return list_.count == 0; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  int check(const auto& check_range, uint64_t offset) const {
    if (list_.remote == nullptr) return check_range(offset, bytes_);
    for (std::size_t i = 0; i < list_.count; ++i) {
      if (const int code = check_range(offset + list_.remote[i], list_.element); code != OMPL_OK)
        return code;
    }
    return OMPL_OK;
  }

  void copy(std::byte* local, std::byte* remote, bool put) const {
    for (std::size_t i = 0; i < list_.count; ++i) {
      std::byte* const near = local + place(list_.local, i);
      std::byte* const far = remote + place(list_.remote, i);
      arch::copy(put ? far : near, put ? near : far, list_.element);
    }
  }

  [[nodiscard]] Sender::Pieces pieces(std::byte* local, uint64_t offset) const {
    return [this, local, offset, i = std::size_t{0}](Sender::Piece* piece) mutable {
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
  std::size_t bytes_ = 0;
};

// What both have in common. `given` is what the user says of the shape.
template <class Shape, class Given>
int move(Context& c, Call call, std::byte* local, uint32_t rank, uint64_t offset, const Given& given,
         const Signal* record, Deadline deadline, const char* what) {
  const bool put = call == Call::put;
  Shape shape;
  if (const int code = shape.read(given, what); code != OMPL_OK) return code;
  const int where = check_local(c, local, what);
  if (where != OMPL_OK && where != kOnDevice) return where;
  if (const int code = check_data(c, rank, offset, 0, what); code != OMPL_OK) return code;
  if (!shape.empty()) {
    const auto check_range = [&](uint64_t begin, std::size_t length) {
      return check_data(c, rank, begin, length, what);
    };
    if (const int code = shape.check(check_range, offset); code != OMPL_OK) return code;
  }
  if (const int code = check_record(c, rank, record, what); code != OMPL_OK) return code;
  if (where == kOnDevice && !shape.empty())
    return c.runtime->staging.transfer(c, call, local, rank, shape.pieces(local, offset), shape.bytes(),
                                       record, deadline);
  Caller caller(c);
  int code = OMPL_OK;
  if (!shape.empty()) {
    if (std::byte* base = c.bases[rank]; base != nullptr) {
      shape.copy(local, base + offset, put);
    } else {
      code = c.runtime->network->sender.transfer(c, call, rank, shape.pieces(local, offset), deadline,
                                                 record != nullptr);
    }
  }
  if (code != OMPL_OK && code != OMPL_PENDING) return code;
  Context& now = caller.now();
  put ? now.count_put(shape.bytes(), record != nullptr) : now.count_get(shape.bytes());
  if (record == nullptr) return code;
  if (shape.empty() || c.bases[rank] != nullptr) return signal_any(now, rank, *record, deadline);
  return c.runtime->network->sender.signal_after(caller, rank, *record, code);
}

}  // namespace

int put_strided(Context& c, const void* source, uint32_t rank, uint64_t offset,
                const ompl_strided& block, const Signal* record, Deadline deadline) {
  auto* from = static_cast<std::byte*>(const_cast<void*>(source));  // only read
  return move<Strided>(c, Call::put, from, rank, offset, block, record, deadline,
                       "ompl_ctx_put_strided");
}

int get_strided(Context& c, void* target, uint32_t rank, uint64_t offset, const ompl_strided& block,
                Deadline deadline) {
  auto* into = static_cast<std::byte*>(target);
  return move<Strided>(c, Call::get, into, rank, offset, block, nullptr, deadline,
                       "ompl_ctx_get_strided");
}

int put_indexed(Context& c, const void* source, uint32_t rank, uint64_t offset,
                const ompl_indexed& list, const Signal* record, Deadline deadline) {
  auto* from = static_cast<std::byte*>(const_cast<void*>(source));  // only read
  return move<Indexed>(c, Call::put, from, rank, offset, list, record, deadline,
                       "ompl_ctx_put_indexed");
}

int get_indexed(Context& c, void* target, uint32_t rank, uint64_t offset, const ompl_indexed& list,
                Deadline deadline) {
  auto* into = static_cast<std::byte*>(target);
  return move<Indexed>(c, Call::get, into, rank, offset, list, nullptr, deadline,
                       "ompl_ctx_get_indexed");
}

}  // namespace ompl
