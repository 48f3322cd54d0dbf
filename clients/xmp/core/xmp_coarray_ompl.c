/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Coarrays: their memory, puts and gets of sections.
 *
 * A coarray is memory that each of its images takes alone in its segment; the images tell each other the offsets. So coarrays
 * of some images only, and deallocation in any order, need nothing of the others. _XMP_coarray_t.addr[rank] is the offset.
 * For a distributed array that was attached it is the address in that rank's memory, and .win is the window of MPI.
 */
#include <stdlib.h>

#include "xmp_ompl.h"
#include "xmp_section_ompl.h"

static uint64_t as_number(const void* address) { return (uint64_t)(uintptr_t)address; }

/* Stores `mine` of every member of the executing nodes at its world rank. */
static char** tell_all(_XMP_nodes_t* nodes, uint64_t mine) {
  const MPI_Comm comm = *(MPI_Comm*)nodes->comm;
  int size = 0;
  MPI_Comm_size(comm, &size);
  uint64_t* const values = _XMP_alloc((size_t)size * sizeof *values);
  int* const ranks = _XMP_alloc((size_t)size * 2 * sizeof *ranks);
  char** const all = _XMP_alloc((size_t)_XMP_world_size * sizeof *all);
  MPI_Group members, world;
  for (int i = 0; i < size; ++i) ranks[i] = i;
  MPI_Comm_group(comm, &members);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_translate_ranks(members, size, ranks, world, ranks + size);
  MPI_Group_free(&members);
  MPI_Group_free(&world);
  MPI_Allgather(&mine, 8, MPI_BYTE, values, 8, MPI_BYTE, comm);
  memset(all, 0, (size_t)_XMP_world_size * sizeof *all);
  for (int i = 0; i < size; ++i) all[ranks[size + i]] = (char*)(uintptr_t)values[i];
  _XMP_free(ranks);
  _XMP_free(values);
  return all;
}

static void describe(_XMP_coarray_t* coarray, void* address, uint64_t place, MPI_Win win) {
  _XMP_nodes_t* const nodes = _XMP_get_execution_nodes();
  coarray->addr = tell_all(nodes, place);
  coarray->real_addr = address;
  coarray->win = win;
  coarray->win_acc = MPI_WIN_NULL;
  coarray->nodes = nodes;
}

static void refuse_accelerator(bool is) {
  if (is) ompl_xmp_fatal("coarray", "memory of an accelerator is not supported");
}

OMPL_XMP_API void _XMP_mpi_coarray_malloc(_XMP_coarray_t* coarray, void** address, const size_t size,
                                          bool on_accelerator) {
  uint64_t offset = 0;
  refuse_accelerator(on_accelerator);
  if (size == 0) ompl_xmp_fatal("coarray", "a coarray of no bytes is not allowed");
  ompl_xmp_check(ompl_alloc_local(size, &offset), "no memory for a coarray");
  *address = ompl_ptr((uint32_t)_XMP_world_rank, offset);
  describe(coarray, *address, offset, MPI_WIN_NULL);
}

/* libxmp has freed .addr by now. */
OMPL_XMP_API void _XMP_mpi_coarray_deallocate(_XMP_coarray_t* coarray, bool on_accelerator) {
  refuse_accelerator(on_accelerator);
  if (coarray->real_addr == NULL || coarray->win != MPI_WIN_NULL) return;
  ompl_xmp_complete();
  _XMP_barrier_EXEC(); /* nobody uses it any more */
  ompl_xmp_check(ompl_free_local(ompl_xmp_offset_of(coarray->real_addr)), "deallocation of a coarray");
}

OMPL_XMP_API void _XMP_mpi_coarray_lastly_deallocate(bool on_accelerator) {
  refuse_accelerator(on_accelerator);
}

OMPL_XMP_API void _XMP_mpi_coarray_attach(_XMP_coarray_t* coarray, void* address, const size_t size,
                                          const bool on_accelerator) {
  MPI_Aint place = 0;
  refuse_accelerator(on_accelerator);
  MPI_Win_attach(ompl_xmp_window(), address, (MPI_Aint)size);
  MPI_Get_address(address, &place);
  describe(coarray, address, (uint64_t)place, ompl_xmp_window());
}

OMPL_XMP_API void _XMP_mpi_coarray_detach(_XMP_coarray_t* coarray, const bool on_accelerator) {
  refuse_accelerator(on_accelerator);
  MPI_Win_detach(ompl_xmp_window(), coarray->real_addr);
  _XMP_free(coarray->addr);
  coarray->addr = NULL;
  coarray->real_addr = NULL;
  coarray->win = MPI_WIN_NULL;
  coarray->nodes = NULL;
}

/* Memory of the program becomes a coarray; it stays where it is, and so with MPI. */
OMPL_XMP_API void _XMP_mpi_coarray_regmem(_XMP_coarray_t* coarray, void* address, const size_t size,
                                          bool on_accelerator) {
  _XMP_mpi_coarray_attach(coarray, address, size, on_accelerator);
}

OMPL_XMP_API void _XMP_mpi_coarray_deregmem(_XMP_coarray_t* coarray) {
  _XMP_mpi_coarray_detach(coarray, false);
}

/* ------------------------------------------------------------------------------------------------
 * Puts and gets. `near` lies here, `far` in the memory of `rank`.
 */

typedef struct {
  bool put;
  int rank;
  const _XMP_coarray_t* coarray;
} Way;

static void move(const Way* way, char* near, const ptrdiff_t* near_strides, uint64_t far,
                 const ptrdiff_t* far_strides, const Section* shape) {
  const uint32_t rank = (uint32_t)way->rank;
  const ompl_strided block = {shape->element, OMPL_MAX_DIMENSIONS - shape->first,
                              shape->extents + shape->first, near_strides, far_strides};
  int code;
  ompl_xmp_in_order(rank, !way->put);
  if (block.dimensions == 0)
    code = way->put ? ompl_put(as_number(near), rank, far, shape->element)
                    : ompl_get(as_number(near), rank, far, shape->element);
  else
    code = way->put ? ompl_ctx_put_strided(OMPL_CTX_DEFAULT, as_number(near), rank, far, &block, NULL,
                                           OMPL_FOREVER)
                    : ompl_ctx_get_strided(OMPL_CTX_DEFAULT, as_number(near), rank, far, &block,
                                           OMPL_FOREVER);
  ompl_xmp_check(code, way->put ? "put to a coarray" : "get from a coarray");
  if (way->put) ompl_xmp_has_put(rank);
}

static void move_packed(const Way* way, char* near, uint64_t far, const Section* there) {
  if (way->coarray->win == MPI_WIN_NULL) {
    move(way, near, NULL, far, there->strides + there->first, there);
    return;
  }
  Cursor cursor = {{0}, 0};
  do {
    if (way->put)
      ompl_xmp_window_put(near, way->rank, (MPI_Aint)far + cursor.at, there->element);
    else
      ompl_xmp_window_get(near, way->rank, (MPI_Aint)far + cursor.at, there->element);
    near += there->element;
  } while (ompl_xmp_next(there, &cursor));
  MPI_Win_flush(way->rank, way->coarray->win);
}

static void transfer(const Way* way, char* near, const Section* here, uint64_t far,
                     const Section* there, size_t bytes) {
  const bool by_layer = way->coarray->win == MPI_WIN_NULL;
  if (here->first == OMPL_MAX_DIMENSIONS) {
    move_packed(way, near, far, there);
  } else if (by_layer && there->first == OMPL_MAX_DIMENSIONS) {
    move(way, near, here->strides + here->first, far, NULL, here);
  } else if (by_layer && ompl_xmp_same_shape(here, there)) {
    move(way, near, here->strides + here->first, far, there->strides + there->first, here);
  } else {
    char* const packed = _XMP_alloc(bytes);
    if (way->put) ompl_xmp_pack(packed, near, here);
    move_packed(way, packed, far, there);
    if (!way->put) ompl_xmp_unpack(near, packed, here);
    _XMP_free(packed);
  }
}

/* One element at `near` for all of the far ones, or the other way round. */
static void spread(const Way* way, char* near, const Section* here, uint64_t far, const Section* there,
                   size_t size, size_t count) {
  char* const packed = _XMP_alloc(size * count);
  const Section one = {.element = size, .first = OMPL_MAX_DIMENSIONS};
  if (way->put) {
    ompl_xmp_fill(packed, near, size, count);
    move_packed(way, packed, far, there);
  } else {
    move_packed(way, packed, far, &one);
    for (size_t i = 1; i < count; ++i) memcpy(packed + i * size, packed, size);
    ompl_xmp_unpack(near, packed, here);
  }
  _XMP_free(packed);
}

/* The same number of elements on both sides, or one on the side that is read, for all of the other. */
static void exchange(const Way* way, char* near, const Section* here, size_t near_elements,
                     uint64_t far, const Section* there, size_t far_elements, size_t size) {
  if (near_elements == far_elements)
    transfer(way, near, here, far, there, size * near_elements);
  else if ((way->put ? near_elements : far_elements) == 1)
    spread(way, near, here, far, there, size, way->put ? far_elements : near_elements);
  else
    ompl_xmp_fatal(way->put ? "put to a coarray" : "get from a coarray",
                   "the sections have different numbers of elements");
}

static void exchange_sections(const Way* way, char* near, const _XMP_array_section_t* near_info,
                              int near_dimensions, int near_elements,
                              const _XMP_array_section_t* far_info, int far_dimensions,
                              int far_elements) {
  const size_t size = way->coarray->elmt_size;
  const Section there = ompl_xmp_section(far_info, far_dimensions, size);
  const Section here = ompl_xmp_section(near_info, near_dimensions, size);
  exchange(way, near + _XMP_get_offset(near_info, near_dimensions), &here, (size_t)near_elements,
           as_number(way->coarray->addr[way->rank]) + _XMP_get_offset(far_info, far_dimensions), &there,
           (size_t)far_elements, size);
}

OMPL_XMP_API void _XMP_mpi_put(const int far_contiguous, const int near_contiguous, const int rank,
                               const int far_dimensions, const int near_dimensions,
                               const _XMP_array_section_t* far_info,
                               const _XMP_array_section_t* near_info, const _XMP_coarray_t* coarray,
                               const void* near, const int far_elements, const int near_elements,
                               const int on_accelerator) {
  const Way way = {true, rank, coarray};
  (void)far_contiguous; /* the sections tell */
  (void)near_contiguous;
  refuse_accelerator(on_accelerator == _XMP_N_INT_TRUE);
  exchange_sections(&way, (char*)(uintptr_t)near, near_info, near_dimensions, near_elements, far_info,
                    far_dimensions, far_elements);
}

OMPL_XMP_API void _XMP_mpi_get(const int far_contiguous, const int near_contiguous, const int rank,
                               const int far_dimensions, const int near_dimensions,
                               const _XMP_array_section_t* far_info,
                               const _XMP_array_section_t* near_info, const _XMP_coarray_t* coarray,
                               void* near, const int far_elements, const int near_elements,
                               const int on_accelerator) {
  const Way way = {false, rank, coarray};
  (void)far_contiguous;
  (void)near_contiguous;
  refuse_accelerator(on_accelerator == _XMP_N_INT_TRUE);
  exchange_sections(&way, near, near_info, near_dimensions, near_elements, far_info, far_dimensions,
                    far_elements);
}

static void exchange_contiguous(const Way* way, char* near, size_t near_elements, size_t far_offset,
                                size_t far_elements, size_t size) {
  const Section here = {.element = size * near_elements, .first = OMPL_MAX_DIMENSIONS};
  const Section there = {.element = size * far_elements, .first = OMPL_MAX_DIMENSIONS};
  if (near_elements == 0 || far_elements == 0) return;
  exchange(way, near, &here, near_elements, as_number(way->coarray->addr[way->rank]) + far_offset,
           &there, far_elements, size);
}

OMPL_XMP_API void _XMP_mpi_contiguous_put(const int rank, const _XMP_coarray_t* far,
                                          const _XMP_coarray_t* near, const size_t far_offset,
                                          const size_t near_offset, const size_t far_elements,
                                          const size_t near_elements, const size_t size,
                                          const bool far_on_accelerator,
                                          const bool near_on_accelerator) {
  const Way way = {true, rank, far};
  refuse_accelerator(far_on_accelerator || near_on_accelerator);
  exchange_contiguous(&way, near->real_addr + near_offset, near_elements, far_offset, far_elements,
                      size);
}

OMPL_XMP_API void _XMP_mpi_contiguous_get(const int rank, const _XMP_coarray_t* near,
                                          const _XMP_coarray_t* far, const size_t near_offset,
                                          const size_t far_offset, const size_t near_elements,
                                          const size_t far_elements, const size_t size,
                                          const bool near_on_accelerator,
                                          const bool far_on_accelerator) {
  const Way way = {false, rank, far};
  refuse_accelerator(far_on_accelerator || near_on_accelerator);
  exchange_contiguous(&way, near->real_addr + near_offset, near_elements, far_offset, far_elements,
                      size);
}
