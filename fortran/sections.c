/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Put and get of any Fortran scalar, array or section: module omnipgas passes a descriptor of it. What is contiguous
 * goes in one operation, and other sections run by run, in array element order.
 */
#include <ISO_Fortran_binding.h>
#include <omnipgas/ompl.h>

/* ompl_ctx_put or ompl_ctx_get. */
typedef int (*transfer_fn)(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                           size_t length, int64_t timeout_ns);

static size_t bytes_of(const CFI_cdesc_t* section) {
  size_t bytes = section->elem_len;
  for (int i = 0; i < section->rank; ++i) bytes *= (size_t)section->dim[i].extent;
  return bytes;
}

/* The number of leading dimensions that lie in one piece, whose bytes it stores in *run. */
static int contiguous_dimensions(const CFI_cdesc_t* section, size_t* run) {
  int dimension = 0;
  *run = section->elem_len;
  for (; dimension < section->rank && section->dim[dimension].sm == (CFI_index_t)*run; ++dimension)
    *run *= (size_t)section->dim[dimension].extent;
  return dimension;
}

/* Steps to the next index of dimensions first and up; 0 after the last. */
static int advance(const CFI_cdesc_t* section, int first, CFI_index_t* index, const char** at) {
  for (int i = first; i < section->rank; ++i) {
    *at += section->dim[i].sm;
    if (++index[i] < section->dim[i].extent) return 1;
    *at -= section->dim[i].sm * section->dim[i].extent;
    index[i] = 0;
  }
  return 0;
}

static int transfer(transfer_fn move, ompl_ctx* ctx, const CFI_cdesc_t* section, uint32_t target_rank,
                    uint64_t dest_addr) {
  size_t run = 0;
  const int first = contiguous_dimensions(section, &run);
  CFI_index_t index[CFI_MAX_RANK] = {0};
  const char* at = section->base_addr;
  const size_t bytes = bytes_of(section);

  if (bytes == 0) return move(ctx, 0, target_rank, dest_addr, 0, OMPL_FOREVER);
  do {
    const int result = move(ctx, (uint64_t)(uintptr_t)at, target_rank, dest_addr, run, OMPL_FOREVER);
    if (result < 0) return result;
    dest_addr += run;
  } while (advance(section, first, index, &at));
  return OMPL_OK;
}

int ompl_fortran_ctx_put(ompl_ctx* ctx, const CFI_cdesc_t* source, uint32_t target_rank,
                         uint64_t dest_addr) {
  return transfer(ompl_ctx_put, ctx, source, target_rank, dest_addr);
}

int ompl_fortran_ctx_get(ompl_ctx* ctx, const CFI_cdesc_t* target, uint32_t target_rank,
                         uint64_t dest_addr) {
  return transfer(ompl_ctx_get, ctx, target, target_rank, dest_addr);
}

int ompl_fortran_ctx_put_signal(ompl_ctx* ctx, const CFI_cdesc_t* source, uint32_t target_rank,
                                uint64_t dest_addr, uint64_t flag_addr) {
  size_t run = 0;
  if (contiguous_dimensions(source, &run) == source->rank)
    return ompl_ctx_put_signal(ctx, (uint64_t)(uintptr_t)source->base_addr, target_rank, dest_addr, run,
                               flag_addr, OMPL_FOREVER);
  const int result = transfer(ompl_ctx_put, ctx, source, target_rank, dest_addr);
  return result < 0 ? result : ompl_ctx_put_word(ctx, target_rank, flag_addr, OMPL_FOREVER);
}

int ompl_fortran_put(const CFI_cdesc_t* source, uint32_t target_rank, uint64_t dest_addr) {
  return ompl_fortran_ctx_put(OMPL_CTX_DEFAULT, source, target_rank, dest_addr);
}

int ompl_fortran_get(const CFI_cdesc_t* target, uint32_t target_rank, uint64_t dest_addr) {
  return ompl_fortran_ctx_get(OMPL_CTX_DEFAULT, target, target_rank, dest_addr);
}

int ompl_fortran_put_signal(const CFI_cdesc_t* source, uint32_t target_rank, uint64_t dest_addr,
                            uint64_t flag_addr) {
  return ompl_fortran_ctx_put_signal(OMPL_CTX_DEFAULT, source, target_rank, dest_addr, flag_addr);
}
