/* SPDX-License-Identifier: BSD-3-Clause */
/* The twins of the network conduits: put and flag between one thread of two processes each, by hand on bare
 * libfabric (fabric.c) or bare UCX (ucx.c). A channel has endpoint, queue and memory of its own and is used by one
 * thread at a time, so nothing is shared and nothing is locked. Whatever fails ends the process with a line. */
#ifndef BENCH_RAW_NETWORK_H
#define BENCH_RAW_NETWORK_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct twin_channel twin_channel;

/* Collective with the other process, to which `meeting` is a stream socket. `bytes`, a multiple of a page, is the
 * size of the target and of the source buffer. `crowded`: a waiting thread gives up its core at once. */
twin_channel* channel_open(int meeting, int rank, size_t bytes, int crowded);
void channel_close(twin_channel* at);

/* What was opened, in words. */
const char* channel_transport(const twin_channel* at);
char* channel_target(const twin_channel* at);
char* channel_source(const twin_channel* at);

/* Copies [offset, offset + bytes) of the own source to the same place of the other's target. The source may be used again
 * once the other side has answered. */
void channel_put(twin_channel* at, size_t offset, size_t bytes);
/* Adds one to the other's flag, after all puts before. */
void channel_signal(twin_channel* at);
/* Both at once. */
void channel_put_signal(twin_channel* at, size_t offset, size_t bytes);
/* Takes one from the own flag. */
void channel_wait(twin_channel* at);
/* Takes in what has come, once. */
void channel_progress(twin_channel* at);

#ifdef __cplusplus
}
#endif

#endif
