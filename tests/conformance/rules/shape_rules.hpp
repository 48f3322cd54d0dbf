// SPDX-License-Identifier: BSD-3-Clause
// What the tests of strided and indexed data share: random blocks, and the plain loops that define what becomes of them.
#pragma once

#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "conformance/conformance.hpp"

namespace ompl::conformance {

inline constexpr std::size_t kBytes = 1 << 16;

// A block of random shape whose elements, on either side, do not overlap and lie inside kBytes.
struct Block {
  std::size_t element = 1;
  std::vector<std::size_t> extents;
  std::array<std::vector<std::ptrdiff_t>, 2> strides;  // local, remote
  std::array<std::size_t, 2> origin{};                 // of the element with all indices 0

  explicit Block(std::mt19937& dice) {
    constexpr auto kElements = std::to_array<std::size_t>({1, 2, 3, 4, 8, 16, 24});
    element = kElements.at(dice() % kElements.size());
    extents.resize(dice() % 5);
    for (std::size_t& extent : extents) extent = 1 + dice() % 5;
    for (const std::size_t side : {0U, 1U}) {
      std::vector<std::ptrdiff_t>& mine = strides.at(side);
      mine.resize(extents.size());
      std::size_t reach = element;
      for (std::size_t d = extents.size(); d-- > 0;) {
        const std::size_t gap = dice() % 2 == 0 ? 0 : dice() % 9;
        const auto stride = static_cast<std::ptrdiff_t>(reach + gap);
        const bool backwards = dice() % 4 == 0;
        mine.at(d) = backwards ? -stride : stride;
        const std::size_t span = (extents.at(d) - 1) * static_cast<std::size_t>(stride);
        if (backwards) origin.at(side) += span;
        reach += span;
      }
    }
  }

  [[nodiscard]] ompl_strided shape() const {
    return {.element = element,
            .dimensions = static_cast<int32_t>(extents.size()),
            .extents = extents.data(),
            .local_strides = strides[0].data(),
            .remote_strides = strides[1].data()};
  }

  // Calls move(local offset, remote offset) for each element.
  template <class Move>
  void for_each(Move move) const {
    std::vector<std::size_t> at(extents.size());
    for (bool more = true; more;) {
      std::array<std::ptrdiff_t, 2> place{static_cast<std::ptrdiff_t>(origin[0]),
                                          static_cast<std::ptrdiff_t>(origin[1])};
      for (const std::size_t side : {0U, 1U})
        for (std::size_t d = 0; d < at.size(); ++d)
          place.at(side) += static_cast<std::ptrdiff_t>(at[d]) * strides.at(side)[d];
      move(place[0], place[1]);
      more = false;
      for (std::size_t d = at.size(); d-- > 0 && !more;) {
        more = ++at[d] < extents[d];
        if (!more) at[d] = 0;
      }
    }
  }

  // What a put of `source` leaves in the target's kBytes; with `back`, what a get of that then brings to its own places.
  [[nodiscard]] std::vector<std::byte> moved(const std::vector<std::byte>& source,
                                             bool back = false) const {
    std::vector<std::byte> out(kBytes);
    for_each([&](std::ptrdiff_t from, std::ptrdiff_t to) {
      std::memcpy(&out[static_cast<std::size_t>(back ? from : to)],
                  &source[static_cast<std::size_t>(from)], element);
    });
    return out;
  }
};

}  // namespace ompl::conformance
