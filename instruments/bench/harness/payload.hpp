// SPDX-License-Identifier: BSD-3-Clause
// Test patterns. The first four bytes of a payload carry a small number (the leader's plan) beside
// bits of the seed, so that even a four-byte message can be verified; the rest depends on the seed
// and the position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace bench::payload {

inline constexpr unsigned kPlanBits = 11;

// A different seed for every channel, direction and exchange.
uint64_t seed(int channel, int from_rank, uint64_t exchange);

void fill(std::byte* buffer, std::size_t bytes, uint64_t seed, uint32_t plan);

// Nothing if the buffer holds what fill() wrote, whatever the plan; else what is wrong and where.
std::optional<std::string> mismatch(const std::byte* buffer, std::size_t bytes, uint64_t seed);

uint32_t plan(const std::byte* buffer);

}  // namespace bench::payload
