// SPDX-License-Identifier: BSD-3-Clause
// The collectives, the buffers that each needs, and what they hold, so that every byte of a result shows whether it is
// right. A size is what OSU's benchmarks call one: bytes of a rank's block, of a broadcast's or a reduction's vector.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "harness/message.hpp"

namespace bench::overlap {

enum class Collective { allgather, allreduce, broadcast, alltoall, reduce_scatter };
inline constexpr std::array kNames{"allgather", "allreduce", "broadcast", "alltoall", "reduce-scatter"};
inline constexpr uint32_t kRoot = 0;  // of broadcasts

// The collective of that name, if it is one.
inline std::optional<Collective> collective_of(const std::string& name) {
  const auto* const found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Collective>(found - kNames.begin());
}

// What is reduced: sums of doubles; of bytes where no double fits.
constexpr bool reduces_doubles(std::size_t bytes) { return bytes % sizeof(double) == 0; }

// A collective of one size as a rank sees it.
struct Shape {
  Collective collective = Collective::allgather;
  std::size_t bytes = 1;
  uint32_t rank = 0;
  uint32_t ranks = 1;

  // Bytes of the two buffers. A broadcast has only the incoming one, which is the root's outgoing too.
  [[nodiscard]] std::size_t outgoing() const {
    const bool one_each =
        collective == Collective::alltoall || collective == Collective::reduce_scatter;
    if (collective == Collective::broadcast) return 0;
    return one_each ? bytes * ranks : bytes;
  }
  [[nodiscard]] std::size_t incoming() const {
    const bool all = collective == Collective::allgather || collective == Collective::alltoall;
    return all ? bytes * ranks : bytes;
  }
};

namespace detail {

// Summand `index` of a rank: small whole numbers, whose sums are exact.
inline uint32_t summand(uint32_t rank, std::size_t index, uint64_t exchange) {
  return (rank + 1) * static_cast<uint32_t>((index + exchange) % 7 + 1);
}

template <class T>
void write_summands(std::byte* to, std::size_t bytes, uint32_t rank, uint64_t exchange) {
  for (std::size_t i = 0; i < bytes / sizeof(T); ++i) {
    const auto value = static_cast<T>(summand(rank, i, exchange));
    std::memcpy(to + i * sizeof value, &value, sizeof value);
  }
}

// `first`: index of the first sum.
template <class T>
std::optional<std::string> wrong_sum(const std::byte* from, std::size_t bytes, std::size_t first,
                                     uint32_t ranks, uint64_t exchange) {
  const uint32_t of_all = ranks * (ranks + 1) / 2;
  for (std::size_t i = 0; i < bytes / sizeof(T); ++i) {
    T found{};
    std::memcpy(&found, from + i * sizeof found, sizeof found);
    if (found != static_cast<T>(of_all * summand(0, first + i, exchange)))
      return "sum " + std::to_string(first + i) + " is wrong in exchange " + std::to_string(exchange);
  }
  return std::nullopt;
}

}  // namespace detail

// Writes what this rank gives, and makes what it will get wrong everywhere.
inline void write(const Shape& shape, std::byte* outgoing, std::byte* incoming, uint64_t exchange) {
  std::fill_n(incoming, shape.incoming(), std::byte{0xA5});
  switch (shape.collective) {
    case Collective::broadcast:
      if (shape.rank == kRoot) payload::write_message(incoming, shape.bytes, kRoot, 0, exchange);
      return;
    case Collective::allgather:
      payload::write_message(outgoing, shape.bytes, shape.rank, 0, exchange);
      return;
    case Collective::alltoall:
      for (uint32_t to = 0; to < shape.ranks; ++to)
        payload::write_message(outgoing + to * shape.bytes, shape.bytes, shape.rank, to, exchange);
      return;
    case Collective::allreduce:
    case Collective::reduce_scatter:
      if (reduces_doubles(shape.bytes))
        detail::write_summands<double>(outgoing, shape.outgoing(), shape.rank, exchange);
      else
        detail::write_summands<unsigned char>(outgoing, shape.outgoing(), shape.rank, exchange);
  }
}

// What differs in the result; nothing if it is right.
inline std::optional<std::string> wrong(const Shape& shape, const std::byte* incoming,
                                        uint64_t exchange) {
  switch (shape.collective) {
    case Collective::broadcast:
      return payload::wrong_message(incoming, shape.bytes, kRoot, 0, exchange);
    case Collective::allgather:
    case Collective::alltoall:
      for (uint32_t from = 0; from < shape.ranks; ++from) {
        const uint32_t to = shape.collective == Collective::alltoall ? shape.rank : 0;
        const auto* const block = incoming + from * shape.bytes;
        if (auto found = payload::wrong_message(block, shape.bytes, from, to, exchange)) return found;
      }
      return std::nullopt;
    case Collective::allreduce:
    case Collective::reduce_scatter:
      break;
  }
  const bool doubles = reduces_doubles(shape.bytes);
  const std::size_t each = doubles ? sizeof(double) : 1;
  const std::size_t first =
      shape.collective == Collective::reduce_scatter ? shape.rank * (shape.bytes / each) : 0;
  return doubles
             ? detail::wrong_sum<double>(incoming, shape.bytes, first, shape.ranks, exchange)
             : detail::wrong_sum<unsigned char>(incoming, shape.bytes, first, shape.ranks, exchange);
}

}  // namespace bench::overlap
