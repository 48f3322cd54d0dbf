// SPDX-License-Identifier: BSD-3-Clause
#include <omnipgas/ompl_inline.h>

#include <algorithm>

#include "core/checks.hpp"

namespace shmem_core {
namespace {

// What is pending, a quiet completes.
template <class Post>
int post(ompl_ctx* ctx, Post try_once) {
  const int code = until_accepted(ctx, try_once);
  return code == OMPL_PENDING ? OMPL_OK : code;
}

// The blocks as the layer has them.
struct Shape {
  Shape(const Blocks& shape, ptrdiff_t local_stride, ptrdiff_t remote_stride)
      : extent(shape.blocks),
        local(local_stride * static_cast<ptrdiff_t>(shape.element)),
        remote(remote_stride * static_cast<ptrdiff_t>(shape.element)),
        block{.element = shape.element * shape.block,
              .dimensions = 1,
              .extents = &extent,
              .local_strides = &local,
              .remote_strides = &remote} {}
  Shape(const Shape&) = delete;
  Shape& operator=(const Shape&) = delete;

  std::size_t extent;
  ptrdiff_t local;
  ptrdiff_t remote;
  ompl_strided block;
};

// Bytes from the first element to the end of the last.
std::size_t reach(const Blocks& shape, ptrdiff_t stride) {
  const std::size_t steps =
      stride > 0 ? bytes_of(shape.blocks - 1, static_cast<std::size_t>(stride)) : 0;
  return bytes_of(steps + std::min(shape.block, kMostBytes), shape.element);
}

// With SHMEM_DEBUG: source and dest of a copy within one PE.
int check_own(const void* dest, const void* source, std::size_t length, int pe) {
  if (!state().debug || pe != state().pe) return OMPL_OK;
  return check_overlap(dest, length, source, length, false);
}

// The layer keeps a short put back, to send it with the signal that may follow on the context. A PE that waits for it may wait for
// ever, unless this one calls something on the same context.
int release_put(ompl_ctx* ctx) {
  if (ctx == OMPL_CTX_DEFAULT) return OMPL_OK;  // the thread's next wait does it
  return ompl_ctx_flush(ctx, OMPL_FOREVER);
}

bool empty(const Blocks& shape) { return shape.block == 0 || shape.blocks == 0; }

int layer_signal(const Signal& signal, ompl_signal* result) {
  if (signal.op != SHMEM_SIGNAL_SET && signal.op != SHMEM_SIGNAL_ADD)
    return refuse(OMPL_ERR_ARG, "%d is no operation of a signal", signal.op);
  const uint64_t offset = offset_of(signal.address, sizeof *signal.address);
  if (offset == 0) return not_symmetric(signal.address);
  *result = {.flag_addr = offset,
             .value = signal.value,
             .op = signal.op == SHMEM_SIGNAL_SET ? OMPL_SET64 : OMPL_ADD64};
  return OMPL_OK;
}

// `last`: no signal follows.
int put(shmem_ctx_t ctx, void* dest, const void* source, std::size_t length, int pe, bool last) {
  const uint64_t offset = offset_of(dest, length);
  if (length == 0) return OMPL_OK;
  if (offset == 0) return not_symmetric(dest, length);
  if (const int code = check_own(dest, source, length, pe); code != OMPL_OK) return code;
  const Target to = target(ctx, pe, true);
  if (to.ctx == OMPL_CTX_DEFAULT) return ompl_put(local(source), to.rank, offset, length);
  const int code = ompl_ctx_put(to.ctx, local(source), to.rank, offset, length, OMPL_FOREVER);
  return code == OMPL_OK && last ? release_put(to.ctx) : code;
}

}  // namespace

int put(shmem_ctx_t ctx, void* dest, const void* source, std::size_t length, int pe) {
  return put(ctx, dest, source, length, pe, true);
}

int get(shmem_ctx_t ctx, void* dest, const void* source, std::size_t length, int pe) {
  const uint64_t offset = offset_of(source, length);
  if (length == 0) return OMPL_OK;
  if (offset == 0) return not_symmetric(source, length);
  if (const int code = check_own(dest, source, length, pe); code != OMPL_OK) return code;
  const Target from = target(ctx, pe, true);
  if (from.rank == own_rank()) progress_in_loops();
  if (from.ctx == OMPL_CTX_DEFAULT) return ompl_get(local(dest), from.rank, offset, length);
  return ompl_ctx_get(from.ctx, local(dest), from.rank, offset, length, OMPL_FOREVER);
}

int put_nbi(shmem_ctx_t ctx, void* dest, const void* source, std::size_t length, int pe) {
  const uint64_t offset = offset_of(dest, length);
  if (length == 0) return OMPL_OK;
  if (offset == 0) return not_symmetric(dest, length);
  if (const int code = check_own(dest, source, length, pe); code != OMPL_OK) return code;
  const Target to = target(ctx, pe);
  return post(to.ctx, [&] {
    return ompl_put_nb(to.ctx, local(source), to.rank, offset, length, nullptr, 0, nullptr);
  });
}

int get_nbi(shmem_ctx_t ctx, void* dest, const void* source, std::size_t length, int pe) {
  const uint64_t offset = offset_of(source, length);
  if (length == 0) return OMPL_OK;
  if (offset == 0) return not_symmetric(source, length);
  if (const int code = check_own(dest, source, length, pe); code != OMPL_OK) return code;
  const Target from = target(ctx, pe);
  return post(from.ctx,
              [&] { return ompl_get_nb(from.ctx, local(dest), from.rank, offset, length, nullptr); });
}

int iput(shmem_ctx_t ctx, void* dest, const void* source, const Blocks& blocks, int pe) {
  if (empty(blocks)) return OMPL_OK;
  const std::size_t length = reach(blocks, blocks.dest_stride);
  const uint64_t offset = offset_of(dest, length);
  if (offset == 0) return not_symmetric(dest, length);
  const Target to = target(ctx, pe);
  const Shape shape(blocks, blocks.source_stride, blocks.dest_stride);
  const int code =
      ompl_ctx_put_strided(to.ctx, local(source), to.rank, offset, &shape.block, nullptr, OMPL_FOREVER);
  return code == OMPL_OK ? release_put(to.ctx) : code;
}

int iget(shmem_ctx_t ctx, void* dest, const void* source, const Blocks& blocks, int pe) {
  if (empty(blocks)) return OMPL_OK;
  const std::size_t length = reach(blocks, blocks.source_stride);
  const uint64_t offset = offset_of(source, length);
  if (offset == 0) return not_symmetric(source, length);
  const Target from = target(ctx, pe);
  const Shape shape(blocks, blocks.dest_stride, blocks.source_stride);
  return ompl_ctx_get_strided(from.ctx, local(dest), from.rank, offset, &shape.block, OMPL_FOREVER);
}

int put_signal(shmem_ctx_t ctx, void* dest, const void* source, std::size_t length,
               const Signal& signal, int pe) {
  if (const int code = put(ctx, dest, source, length, pe, false); code != OMPL_OK) return code;
  return send_signal(ctx, signal, pe);
}

int put_signal_nbi(shmem_ctx_t ctx, void* dest, const void* source, std::size_t length,
                   const Signal& signal, int pe) {
  if (length == 0) return send_signal(ctx, signal, pe);
  ompl_signal after;
  if (const int code = layer_signal(signal, &after); code != OMPL_OK) return code;
  const uint64_t offset = offset_of(dest, length);
  if (offset == 0) return not_symmetric(dest, length);
  const Target to = target(ctx, pe);
  return post(to.ctx, [&] {
    return ompl_put_nb(to.ctx, local(source), to.rank, offset, length, &after, 0, nullptr);
  });
}

int send_signal(shmem_ctx_t ctx, const Signal& signal, int pe) {
  ompl_signal plain;
  if (const int code = layer_signal(signal, &plain); code != OMPL_OK) return code;
  const Target to = target(ctx, pe);
  return ompl_ctx_signal(to.ctx, to.rank, &plain, OMPL_FOREVER);
}

int signal_fetch(const uint64_t* address, uint64_t* result) {
  progress_in_loops();
  *result = __atomic_load_n(address, __ATOMIC_ACQUIRE);
  return OMPL_OK;
}

int signal_wait_until(uint64_t* address, int comparison, uint64_t value, uint64_t* result) {
  if (const int code = wait_until(word<uint64_t>(address, comparison, value)); code != OMPL_OK)
    return code;
  return signal_fetch(address, result);
}

}  // namespace shmem_core
