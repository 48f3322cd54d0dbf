// SPDX-License-Identifier: BSD-3-Clause
#include "payload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace bench::payload {
namespace {

constexpr uint32_t kPlanMask = (1U << kPlanBits) - 1;
constexpr uint64_t kStep = 0x9E3779B97F4A7C15;  // odd: every word of a payload differs

uint64_t word(uint64_t seed, std::size_t index) { return seed + kStep * (index + 1); }

// The number of bytes of word `index` that lie inside the payload.
std::size_t width(std::size_t bytes, std::size_t index) {
  return std::min(sizeof(uint64_t), bytes - index * sizeof(uint64_t));
}

std::size_t words(std::size_t bytes) { return (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t); }

// The bits of the first word that hold the plan, and so no pattern.
uint64_t pattern_mask(std::size_t index) { return index == 0 ? ~uint64_t{kPlanMask} : ~uint64_t{0}; }

uint64_t load(const std::byte* from, std::size_t bytes) {
  uint64_t value = 0;
  std::memcpy(&value, from, bytes);
  return value;
}

}  // namespace

uint64_t seed(int channel, int from_rank, uint64_t exchange) {
  uint64_t mixed =
      (exchange * 2 + static_cast<uint64_t>(from_rank)) * 4096 + static_cast<uint64_t>(channel);
  mixed = (mixed ^ (mixed >> 31)) * 0xBF58476D1CE4E5B9;
  return mixed ^ (mixed >> 29);
}

void fill(std::byte* buffer, std::size_t bytes, uint64_t seed, uint32_t plan) {
  for (std::size_t i = 0; i < words(bytes); ++i) {
    const uint64_t value = (word(seed, i) & pattern_mask(i)) | (i == 0 ? plan & kPlanMask : 0);
    std::memcpy(buffer + i * sizeof value, &value, width(bytes, i));
  }
}

std::optional<std::string> mismatch(const std::byte* buffer, std::size_t bytes, uint64_t seed) {
  for (std::size_t i = 0; i < words(bytes); ++i) {
    const std::size_t n = width(bytes, i);
    const uint64_t wanted = word(seed, i) & pattern_mask(i);
    const uint64_t wrong = (load(buffer + i * sizeof(uint64_t), n) ^ wanted) & pattern_mask(i);
    if (load(reinterpret_cast<const std::byte*>(&wrong), n) != 0) {
      return fmt::format("byte {} of {} differs (bits {:#x})", i * sizeof(uint64_t), bytes, wrong);
    }
  }
  return std::nullopt;
}

uint32_t plan(const std::byte* buffer) {
  return static_cast<uint32_t>(load(buffer, sizeof(uint32_t))) & kPlanMask;
}

}  // namespace bench::payload
