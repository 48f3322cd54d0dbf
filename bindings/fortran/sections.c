/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Put and get of any Fortran scalar, array or section: module omnipgas passes a descriptor of it. What is contiguous
 * goes as the bytes it is, other sections as a block with strides; at the other side both are packed.
 */
#include <ISO_Fortran_binding.h>
#include <omnipgas/ompl_ext.h>

/* What a descriptor says. A Fortran array may have more dimensions than a block: those that lie in one piece are one. */
struct section {
  uint64_t address;
  size_t bytes;
  int contiguous;
  size_t extents[CFI_MAX_RANK];
  ptrdiff_t strides[CFI_MAX_RANK];
  ompl_strided block; /* without its pointers */
};

static void read_section(const CFI_cdesc_t* from, struct section* to) {
  size_t bytes = from->elem_len;
  int last =
      from->rank; /* the block's dimensions are filled from the end: its first is the outermost */
  int first = from->rank;
  for (int i = 0; i < from->rank; ++i) {
    const size_t extent = (size_t)from->dim[i].extent;
    const ptrdiff_t stride = from->dim[i].sm;
    bytes *= extent;
    if (first < last && stride == to->strides[first] * (ptrdiff_t)to->extents[first]) {
      to->extents[first] *= extent;
    } else {
      --first;
      to->extents[first] = extent;
      to->strides[first] = stride;
    }
  }
  to->address = (uint64_t)(uintptr_t)from->base_addr;
  to->bytes = bytes;
  to->contiguous = bytes == 0 || first == last ||
                   (first == last - 1 && to->strides[first] == (ptrdiff_t)from->elem_len);
  to->block.element = from->elem_len;
  to->block.dimensions = last - first;
  to->block.extents = to->extents + first;
  to->block.local_strides = to->strides + first;
  to->block.remote_strides = NULL;
}

int ompl_fortran_ctx_put(ompl_ctx* ctx, const CFI_cdesc_t* source, uint32_t target_rank,
                         uint64_t dest_addr) {
  struct section s;
  read_section(source, &s);
  if (s.contiguous) return ompl_ctx_put(ctx, s.address, target_rank, dest_addr, s.bytes, OMPL_FOREVER);
  return ompl_ctx_put_strided(ctx, s.address, target_rank, dest_addr, &s.block, NULL, OMPL_FOREVER);
}

int ompl_fortran_ctx_get(ompl_ctx* ctx, const CFI_cdesc_t* target, uint32_t target_rank,
                         uint64_t dest_addr) {
  struct section s;
  read_section(target, &s);
  if (s.contiguous) return ompl_ctx_get(ctx, s.address, target_rank, dest_addr, s.bytes, OMPL_FOREVER);
  return ompl_ctx_get_strided(ctx, s.address, target_rank, dest_addr, &s.block, OMPL_FOREVER);
}

int ompl_fortran_ctx_put_signal(ompl_ctx* ctx, const CFI_cdesc_t* source, uint32_t target_rank,
                                uint64_t dest_addr, uint64_t flag_addr) {
  const ompl_signal signal = {flag_addr, 1, OMPL_ADD32};
  struct section s;
  read_section(source, &s);
  if (s.contiguous)
    return ompl_ctx_put_signal(ctx, s.address, target_rank, dest_addr, s.bytes, flag_addr,
                               OMPL_FOREVER);
  return ompl_ctx_put_strided(ctx, s.address, target_rank, dest_addr, &s.block, &signal, OMPL_FOREVER);
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
