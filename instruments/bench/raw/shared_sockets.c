/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The baseline of threads that share connections: that of sockets.c on OMNI_ENDPOINTS sockets, each under a plain lock.
 * Thread i uses socket i mod their number. Who waits takes the lock and reads what has come, for whichever thread it is.
 */
#include "socket_stream.h"

#include <pthread.h>
#include <sched.h>

enum { most = 64 };

struct line {
  struct stream stream;
  pthread_mutex_t lock; /* of the stream */
};

struct baseline_channel {
  struct line* line;
  uint16_t thread;
  char* segment; /* a page with the flag, the target, the source */
  size_t bytes;
  size_t held_offset, held; /* a put that goes out with its signal */
  int spins;
};

static struct line lines[most];
static baseline_channel* channels[most];
static int opened, count;

static char* segment_of(struct stream* at, const struct head* head) {
  (void)at;
  return channels[head->thread]->segment;
}

baseline_channel* channel_open(int meeting, int rank, size_t bytes, int crowded) {
  const char* wanted = getenv("OMNI_ENDPOINTS");
  if (opened == 0) count = wanted ? atoi(wanted) : 1;
  check(count > 0 && count <= most && opened < most, "OMNI_ENDPOINTS");
  struct line* line = &lines[opened % count];
  if (opened < count) {
    connect_stream(&line->stream, meeting, rank);
    check(pthread_mutex_init(&line->lock, NULL) == 0, "a lock");
  }
  baseline_channel* at = calloc(1, sizeof *at);
  if (!at) abort();
  at->line = line;
  at->thread = (uint16_t)opened;
  at->bytes = bytes;
  at->spins = crowded ? 1 : 1000;
  at->segment = new_segment(bytes);
  channels[opened++] = at;
  return at;
}

void channel_close(baseline_channel* at) {
  if (at->thread < count) close(at->line->stream.fd);
  free(at->segment);
  free(at);
}

const char* channel_transport(const baseline_channel* at) {
  (void)at;
  return "sockets under a lock";
}

void channel_progress(baseline_channel* at) {
  pthread_mutex_lock(&at->line->lock);
  read_stream(&at->line->stream);
  pthread_mutex_unlock(&at->line->lock);
}

static void send_out(baseline_channel* at, size_t offset, size_t bytes, uint16_t flag) {
  const struct head head = {offset, (uint32_t)bytes, flag, at->thread};
  pthread_mutex_lock(&at->line->lock);
  write_stream(&at->line->stream, head, channel_source(at));
  pthread_mutex_unlock(&at->line->lock);
}

#define SENDS_BOTH
#include "channel.h"
