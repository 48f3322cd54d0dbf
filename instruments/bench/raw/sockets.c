/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The baseline of the tcp conduit: put and flag, written by hand on bare sockets for the highest speed. A head of 16
 * bytes, the data and the flag's number go in one sendmsg(); the receiver reads a head and what follows it at once, and the
 * rest of long data to its place. It adds to the flag, fences, looks for sleepers, and takes one, as the library does.
 * While nothing comes it spins, then yields.
 *
 * OMPL_NET_INTERFACE is the network interface; the loopback if not set.
 */
#include "socket_stream.h"

#include <sched.h>

struct baseline_channel {
  struct stream stream; /* the first member: segment_of() */
  char* segment;        /* a page with the flag, the target, the source */
  size_t bytes;
  size_t held_offset, held; /* a put that goes out with its signal */
  int spins;
};

static char* segment_of(struct stream* at, const struct head* head) {
  (void)head;
  return ((baseline_channel*)at)->segment;
}

baseline_channel* channel_open(int meeting, int rank, size_t bytes, int crowded) {
  baseline_channel* at = calloc(1, sizeof *at);
  if (!at) abort();
  at->bytes = bytes;
  at->spins = crowded ? 1 : 1000;
  at->segment = new_segment(bytes);
  connect_stream(&at->stream, meeting, rank);
  return at;
}

void channel_close(baseline_channel* at) {
  close(at->stream.fd);
  free(at->segment);
  free(at);
}

const char* channel_transport(const baseline_channel* at) {
  (void)at;
  return "sockets";
}

void channel_progress(baseline_channel* at) { read_stream(&at->stream); }

static void send_out(baseline_channel* at, size_t offset, size_t bytes, uint16_t flag) {
  write_stream(&at->stream, (struct head){offset, (uint32_t)bytes, flag, 0}, channel_source(at));
}

#define SENDS_BOTH
#include "channel.h"
