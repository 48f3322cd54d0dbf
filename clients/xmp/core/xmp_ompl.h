/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the four files of the back end share. They define the functions that libxmp, the runtime library of the Omni
 * compiler, calls when it is built for one-sided communication by MPI-3 (_XMP_MPI3_ONESIDED): so a program that is linked
 * with this library before libxmp takes these functions in place of libxmp's own, and neither the compiler nor libxmp
 * is changed. docs/how-to/xcalablemp.md says how to use it, clients/xmp/README.md how it fits.
 */
#ifndef OMPL_XMP_H
#define OMPL_XMP_H

#include <omnipgas/ompl_memory.h>
#include <stdbool.h>

#include "xmp_internal.h" /* of libxmp */
#include "xmp_tasks.h"

/* Ends the job with the reason of the calling thread's last error of the layer, unless `code` is OMPL_OK. */
void ompl_xmp_check(int code, const char* what);

/* Ends the job. */
void ompl_xmp_fatal(const char* what, const char* why);

/* Allocates `bytes` at the same offset on every rank, zero. Collective. */
uint64_t ompl_xmp_symmetric(size_t bytes, const char* what);

/* The offset of what lies at `address` in this rank's segment. */
uint64_t ompl_xmp_offset_of(const void* address);

/* Whether the memory of the rank is mapped here, so that a put is done when it returns. */
bool ompl_xmp_mapped(uint32_t rank);

/* Before a put (reads = false) or a get (true): what this rank has put to that one before comes first. */
void ompl_xmp_in_order(uint32_t rank, bool reads);

/* A put to the rank is under way. */
void ompl_xmp_has_put(uint32_t rank);

/* Before a signal to the rank: all puts are complete but those of this thread to that rank, which the signal follows anyway. */
void ompl_xmp_before_signal(uint32_t rank);

/* All puts of the process are visible at their targets. */
void ompl_xmp_complete(void);

/* Distributed arrays of the program (gmove in, gmove out) stay with MPI: a dynamic window over the memory that was attached. */
MPI_Win ompl_xmp_window(void);
void ompl_xmp_window_put(const void* from, int rank, MPI_Aint to, size_t bytes);
void ompl_xmp_window_get(void* to, int rank, MPI_Aint from, size_t bytes);
void ompl_xmp_window_complete(void);

#endif
