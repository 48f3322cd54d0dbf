/* SPDX-License-Identifier: BSD-3-Clause */
/* Atomic define and reference of one int of a coarray; both are complete when they return. */
#include "xmp_ompl.h"

static void check_size(size_t size) {
  if (size != sizeof(uint32_t))
    ompl_xmp_fatal("atomic subroutine", "the variable has not 4 bytes; use an int");
}

OMPL_XMP_API void _XMP_mpi_atomic_define(int rank, _XMP_coarray_t* coarray, size_t element, int value,
                                         size_t size) {
  const uintptr_t place = (uintptr_t)coarray->addr[rank] + element * size;
  check_size(size);
  if (coarray->win == MPI_WIN_NULL) {
    uint32_t before = 0;
    ompl_xmp_in_order((uint32_t)rank, true);
    ompl_xmp_check(ompl_swap32((uint32_t)rank, place, (uint32_t)value, &before), "atomic define");
    return;
  }
  MPI_Accumulate(&value, 1, MPI_INT, rank, (MPI_Aint)place, 1, MPI_INT, MPI_REPLACE, coarray->win);
  MPI_Win_flush(rank, coarray->win);
}

OMPL_XMP_API void _XMP_mpi_atomic_ref(int rank, _XMP_coarray_t* coarray, size_t element, int* value,
                                      size_t size) {
  const uintptr_t place = (uintptr_t)coarray->addr[rank] + element * size;
  check_size(size);
  if (coarray->win == MPI_WIN_NULL) {
    uint32_t found = 0;
    ompl_xmp_in_order((uint32_t)rank, true);
    ompl_xmp_check(ompl_fetch32((uint32_t)rank, place, &found), "atomic reference");
    *value = (int)found;
    return;
  }
  MPI_Fetch_and_op(NULL, value, MPI_INT, rank, (MPI_Aint)place, MPI_NO_OP, coarray->win);
  MPI_Win_flush(rank, coarray->win);
}
