/* SPDX-License-Identifier: BSD-3-Clause */
/* The header's name in programs of before OpenSHMEM 1.2. */
#include <shmem.h>
