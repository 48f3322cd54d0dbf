// SPDX-License-Identifier: BSD-3-Clause
#include "world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "core/memory/segment_header.hpp"
#include "util/status.hpp"

namespace ompl::conformance {

// What has no time limit goes by the functions that have none, which differ from the others.
Rank::~Rank() {
  if (ctx_ != OMPL_CTX_DEFAULT) ok(ompl_ctx_destroy(ctx_));
}

std::unique_ptr<Rank> Rank::context() const {
  ompl_ctx* made = nullptr;
  ok(ompl_ctx_create(&made));
  return std::make_unique<Rank>(static_cast<const Place&>(*this), made);
}

int Rank::put(const void* source, uint32_t target, uint64_t offset, std::size_t length,
              int64_t timeout_ns) {
  if (ctx_ == OMPL_CTX_DEFAULT && timeout_ns == OMPL_FOREVER)
    return ompl_put(address(source), target, offset, length);
  return ompl_ctx_put(ctx_, address(source), target, offset, length, timeout_ns);
}

int Rank::get(void* into, uint32_t target, uint64_t offset, std::size_t length, int64_t timeout_ns) {
  if (ctx_ == OMPL_CTX_DEFAULT && timeout_ns == OMPL_FOREVER)
    return ompl_get(address(into), target, offset, length);
  return ompl_ctx_get(ctx_, address(into), target, offset, length, timeout_ns);
}

int Rank::signal(uint32_t target, uint64_t flag, int64_t timeout_ns) {
  if (ctx_ == OMPL_CTX_DEFAULT && timeout_ns == OMPL_FOREVER) return ompl_put_word(target, flag);
  return ompl_ctx_put_word(ctx_, target, flag, timeout_ns);
}

int Rank::put_signal(const void* source, uint32_t target, uint64_t offset, std::size_t length,
                     uint64_t flag, int64_t timeout_ns) {
  if (ctx_ == OMPL_CTX_DEFAULT && timeout_ns == OMPL_FOREVER)
    return ompl_put_signal(address(source), target, offset, length, flag);
  return ompl_ctx_put_signal(ctx_, address(source), target, offset, length, flag, timeout_ns);
}

int Rank::wait(uint64_t flag, int64_t timeout_ns) {
  if (ctx_ == OMPL_CTX_DEFAULT && timeout_ns == OMPL_FOREVER) return ompl_wait(flag);
  return ompl_ctx_wait(ctx_, flag, timeout_ns);
}

int Rank::flush(int64_t timeout_ns) {
  if (ctx_ == OMPL_CTX_DEFAULT && timeout_ns == OMPL_FOREVER) return ompl_flush();
  return ompl_ctx_flush(ctx_, timeout_ns);
}

int Rank::quiet(int64_t timeout_ns) {
  if (ctx_ == OMPL_CTX_DEFAULT && timeout_ns == OMPL_FOREVER) return ompl_quiet();
  return ompl_ctx_quiet(ctx_, timeout_ns);
}

int Rank::barrier(int64_t timeout_ns) {
  return timeout_ns == OMPL_FOREVER ? ompl_barrier() : ompl_barrier_timed(timeout_ns);
}

uint32_t Rank::sleepers() const {
  // The world's first allocation stands at kFirstOffset, the segment's header before it.
  auto* const first = static_cast<std::byte*>(ompl_ptr(rank, kFirstOffset));
  const SegmentHeader& header = header_of(first - kFirstOffset);
  uint32_t count = header.any.sleepers.load();
  for (const Bucket& bucket : header.buckets) count += bucket.sleepers.load();
  return count;
}

uint64_t World::allocate(std::size_t bytes) {
  std::atomic<uint64_t> offset{0};
  run([&](Rank& r) { offset = r.allocate(bytes); });
  return offset;
}

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
  for (std::size_t done = 0; done < length; done += sizeof value) {
    value = value * 6364136223846793005U + 1442695040888963407U;
    const uint64_t word = value ^ value >> 32;  // the low bits alone repeat soon
    std::memcpy(bytes.data() + done, &word, std::min(sizeof word, length - done));
  }
  return bytes;
}

std::size_t mismatch(const void* memory, std::size_t length, uint64_t seed) {
  const std::vector<std::byte> expected = pattern(length, seed);
  if (std::memcmp(memory, expected.data(), length) == 0) return length;
  const auto* const found = static_cast<const std::byte*>(memory);
  return static_cast<std::size_t>(std::mismatch(found, found + length, expected.data()).first - found);
}

void ok(int code, std::source_location where) {
  if (code == OMPL_OK) return;
  ADD_FAILURE_AT(where.file_name(), static_cast<int>(where.line()))
      << ompl_strerror(code) << ": " << error_detail();
}

}  // namespace ompl::conformance
