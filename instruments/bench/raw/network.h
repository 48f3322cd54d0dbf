/* SPDX-License-Identifier: BSD-3-Clause */
/* The baselines of the network conduits: put and flag between one thread of two processes each, by hand on bare
 * sockets (sockets.c), bare PSM2 (psm2.c), bare libfabric (fabric.c) or bare UCX (ucx.c). A channel has endpoint, queue and
 * memory of its own and is used by one thread at a time, so nothing is shared and nothing is locked. Whatever fails ends the process with a line. */
#ifndef BENCH_RAW_NETWORK_H
#define BENCH_RAW_NETWORK_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct baseline_channel baseline_channel;

/* Collective with the other process, to which `meeting` is a stream socket. `bytes`, a multiple of a page, is the
 * size of the target and of the source buffer. `crowded`: a waiting thread gives up its core at once. */
baseline_channel* channel_open(int meeting, int rank, size_t bytes, int crowded);
void channel_close(baseline_channel* at);

/* What was opened, in words. */
const char* channel_transport(const baseline_channel* at);
char* channel_target(const baseline_channel* at);
char* channel_source(const baseline_channel* at);

/* Copies [offset, offset + bytes) of the own source to the same place of the other's target. The source may be used
 * again once the other side has answered. */
void channel_put(baseline_channel* at, size_t offset, size_t bytes);
/* Adds one to the other's flag, after all puts before. */
void channel_signal(baseline_channel* at);
/* Both at once. */
void channel_put_signal(baseline_channel* at, size_t offset, size_t bytes);
/* Takes one from the own flag. */
void channel_wait(baseline_channel* at);
/* Takes in what has come, once. */
void channel_progress(baseline_channel* at);

#ifdef __cplusplus
}
#endif

#endif
