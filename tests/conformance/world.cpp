// SPDX-License-Identifier: BSD-3-Clause
#include "world.hpp"

#include <gtest/gtest.h>

#include "util/status.hpp"

namespace ompl::conformance {

uint64_t Rank::allocate(std::size_t bytes) {
  uint64_t offset = 0;
  ok(alloc(bytes, &offset));
  return offset;
}

uint32_t Rank::count(uint64_t flag) {
  return std::atomic_ref(*static_cast<uint32_t*>(pointer(rank, flag))).load(std::memory_order_acquire);
}

uint32_t Rank::drain(uint64_t flag) {
  uint32_t taken = 0;
  while (wait(flag, 0) == OMPL_OK) ++taken;
  return taken;
}

std::vector<std::byte> pattern(std::size_t length, uint64_t seed) {
  std::vector<std::byte> bytes(length);
  uint64_t value = seed * 0x9e3779b97f4a7c15U + 1;
  for (std::byte& byte : bytes) {
    value = value * 6364136223846793005U + 1442695040888963407U;
    byte = static_cast<std::byte>(value >> 56);
  }
  return bytes;
}

std::size_t mismatch(const void* memory, std::size_t length, uint64_t seed) {
  const std::vector<std::byte> expected = pattern(length, seed);
  const auto* const found = static_cast<const std::byte*>(memory);
  std::size_t same = 0;
  while (same < length && found[same] == expected[same]) ++same;
  return same;
}

void ok(int code, std::source_location where) {
  if (code == OMPL_OK) return;
  ADD_FAILURE_AT(where.file_name(), static_cast<int>(where.line()))
      << ompl_strerror(code) << ": " << error_detail();
}

}  // namespace ompl::conformance
