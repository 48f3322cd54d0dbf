/* SPDX-License-Identifier: BSD-3-Clause */
/* Synchronisation of images: sync memory, sync all, sync images. A flag for each rank counts how often it came to meet this one. */
#include "xmp_ompl.h"

static uint64_t met;

OMPL_XMP_API void _XMP_mpi_build_sync_images_table(void) {
  met = ompl_xmp_symmetric(4 * (size_t)_XMP_world_size, "flags of sync images");
}

OMPL_XMP_API void _XMP_mpi_sync_memory(void) {
  ompl_xmp_complete();
  ompl_xmp_window_complete();
}

OMPL_XMP_API void _XMP_mpi_sync_all(void) {
  _XMP_mpi_sync_memory();
  if (_XMP_get_execution_nodes()->comm_size == _XMP_world_size)
    ompl_xmp_check(ompl_barrier(), "sync all");
  else
    _XMP_barrier_EXEC();
}

/* Versions of libxmp declare the list of images with const and without; this is _XMP_mpi_sync_images of both. */
OMPL_XMP_API void ompl_xmp_sync_images(int number, const int* images,
                                       int* status) __asm__("_XMP_mpi_sync_images");

void ompl_xmp_sync_images(int number, const int* images, int* status) {
  (void)status;
  _XMP_mpi_sync_memory();
  if (number < 0) ompl_xmp_fatal("sync images", "the number of images is negative");
  for (int i = 0; i < number; ++i)
    ompl_xmp_check(ompl_put_word((uint32_t)images[i], met + 4 * (uint64_t)_XMP_world_rank),
                   "sync images");
  for (int i = 0; i < number; ++i)
    ompl_xmp_check(ompl_wait(met + 4 * (uint64_t)images[i]), "sync images");
}

/* Ends a gmove by one-sided communication, of the executing nodes or of a communicator. */
OMPL_XMP_API void _XMP_sync_images_EXEC(int* status) {
  (void)status;
  _XMP_mpi_sync_all();
}

OMPL_XMP_API void _XMP_sync_images_COMM(MPI_Comm* comm, int* status) {
  (void)status;
  _XMP_mpi_sync_memory();
  MPI_Barrier(*comm);
}
