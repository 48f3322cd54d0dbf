/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What OmniPGAS adds to OpenSHMEM: its symmetric addresses as offsets of the layer below, so that a program may use both
 * (<omnipgas/ompl.h>).
 */
#ifndef OMNIPGAS_SHMEMX_H
#define OMNIPGAS_SHMEMX_H

#include <shmem.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The offset of a symmetric address, the same on every PE; 0 if `address` is not symmetric. Any thread. */
SHMEM_API uint64_t shmemx_offset(const void* address);

/* The symmetric address at an offset: that of the executable's static data if it lies there; NULL if nothing is allocated
 * there. Any thread. */
SHMEM_API void* shmemx_address(uint64_t offset);

#ifdef __cplusplus
}
#endif

#endif
