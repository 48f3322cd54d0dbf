// SPDX-License-Identifier: BSD-3-Clause
// What each rank has for each other one, in unequal parts. Collective; by one thread of each rank; throws LayerError, also
// for want of memory: then the job must be ended, as others may wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace ompl::solver {

using Bytes = std::span<const std::byte>;

// Sends out[r] to each rank r. room(sizes), told how many bytes come from each rank, gives memory for them all, in the
// order of the ranks. They travel in pieces through 1 MiB of the segment (4 KiB for each rank, if that is more).
void exchange_bytes(std::span<const Bytes> out,
                    const std::function<std::byte*(std::span<const uint64_t>)>& room);

// What came from all ranks, in their order.
template <class T>
struct Received {
  std::vector<T> all;
  std::vector<std::size_t> start;  // of each rank's in `all`, and its length

  [[nodiscard]] std::span<const T> from(uint32_t rank) const {
    return std::span(all).subspan(start[rank], start[rank + 1] - start[rank]);
  }
};

template <class T>
Received<T> exchange(std::span<const std::span<const T>> out) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<Bytes> bytes;
  for (const std::span<const T>& part : out) bytes.push_back(std::as_bytes(part));
  Received<T> in;
  exchange_bytes(bytes, [&](std::span<const uint64_t> sizes) {
    in.start.push_back(0);
    for (const uint64_t size : sizes) in.start.push_back(in.start.back() + size / sizeof(T));
    in.all.resize(in.start.back());
    return std::as_writable_bytes(std::span(in.all)).data();
  });
  return in;
}

template <class T>
Received<T> exchange(std::vector<std::vector<T>> out) {
  if (out.size() == 1) {  // nothing is copied
    const std::size_t size = out[0].size();
    return {std::move(out[0]), {0, size}};
  }
  return exchange<T>(std::vector<std::span<const T>>(out.begin(), out.end()));
}

// The same from each rank to all.
template <class T>
Received<T> gather_everywhere(std::span<const T> mine, uint32_t ranks) {
  return exchange<T>(std::vector<std::span<const T>>(ranks, mine));
}

}  // namespace ompl::solver
