// SPDX-License-Identifier: BSD-3-Clause
// What a rank exchanges with whom, and where that lies in a region: memory of one size on every rank, one for each way
// in which the exchange may travel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ompl::halo {

// Which elements of a vector: a list of numbers, or consecutive ones.
struct Elements {
  std::size_t count = 0;
  std::size_t first = 0;
  std::vector<uint32_t> list;  // empty: first, first + 1, ...

  // Consecutive numbers are found out and not kept as a list.
  static Elements read(const uint32_t* list, std::size_t count, std::size_t first);

  [[nodiscard]] bool consecutive() const { return list.empty(); }
  // One more than the largest number; SIZE_MAX if it does not fit.
  [[nodiscard]] std::size_t end() const;

  // Copies the elements of a vector, `size` bytes each, one behind the other to `packed`, and back.
  void gather(std::byte* packed, const std::byte* vector, std::size_t size) const;
  void scatter(std::byte* vector, const std::byte* packed, std::size_t size) const;
};

// What a rank tells a neighbour: where in a region its data go there, and what is expected of it.
struct Target {
  uint64_t landing = 0;        // offset of slot 0
  uint64_t stride = 0;         // bytes from slot to slot
  uint64_t flags = 0;          // offset of Flags (strategy.hpp)
  uint64_t receive_count = 0;  // elements
  uint64_t element = 0;        // bytes
  uint32_t vectors = 0;
  uint32_t is_told = 0;  // 0 where nothing was told
};

struct Neighbor {
  uint32_t rank = 0;
  Elements send, receive;
  Target here;   // for what comes from it
  Target there;  // for what this rank sends
  std::size_t gathered =
      0;  // offset in this rank's region of room for what is gathered before it is sent
};

struct Pattern {
  std::size_t element = 0;  // bytes
  std::size_t vectors = 0;
  std::vector<Neighbor> neighbors;

  // Bytes of all vectors together.
  [[nodiscard]] std::size_t to_send(const Neighbor& n) const {
    return n.send.count * element * vectors;
  }
  [[nodiscard]] std::size_t to_receive(const Neighbor& n) const {
    return n.receive.count * element * vectors;
  }
  [[nodiscard]] bool sends() const {
    return std::ranges::any_of(neighbors, [](const Neighbor& n) { return n.send.count > 0; });
  }
  // What goes to a neighbour as it lies in the vectors; a vector's number of bytes is `to_send() / vectors`.
  [[nodiscard]] const std::byte* consecutive(const Neighbor& n, const void* vector) const {
    return static_cast<const std::byte*>(vector) + n.send.first * element;
  }
  void gather(const Neighbor& n, const void* const* from, std::byte* to) const {
    for (std::size_t v = 0; v < vectors; ++v)
      n.send.gather(to + v * n.send.count * element, static_cast<const std::byte*>(from[v]), element);
  }
};

}  // namespace ompl::halo
