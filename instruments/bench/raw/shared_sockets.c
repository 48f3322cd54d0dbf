/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The baseline of threads that share connections: that of sockets.c on OMNI_ENDPOINTS sockets, each under a plain lock. Thread i
 * uses socket i mod their number. Who waits takes the lock and reads what has come, for whichever thread it is.
 */
#include "network.h"
#include "socket_pair.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/uio.h>

enum { flag_index = 64, page = 4096, at_once = 16 << 10, most = 64 };

struct head {
  uint64_t offset; /* in the thread's target */
  uint32_t bytes;  /* that follow */
  uint16_t flag;   /* raised after them; 0: none */
  uint16_t thread;
};

struct line {
  pthread_mutex_t lock;
  int fd;
  struct head coming; /* whose data are not all there */
  char* to;
  size_t left;
  char buffer[sizeof(struct head) + at_once]; /* the beginning of a head, and what was read last */
  size_t have;
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
static atomic_int sleepers;

baseline_channel* channel_open(int meeting, int rank, size_t bytes, int crowded) {
  const int yes = 1;
  const char* wanted = getenv("OMNI_ENDPOINTS");
  if (opened == 0) count = wanted ? atoi(wanted) : 1;
  check(count > 0 && count <= most && opened < most, "OMNI_ENDPOINTS");
  struct line* line = &lines[opened % count];
  if (opened < count) {
    line->fd = joined(meeting, rank);
    check(setsockopt(line->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) == 0, "TCP_NODELAY");
    check(pthread_mutex_init(&line->lock, NULL) == 0, "a lock");
  }
  baseline_channel* at = calloc(1, sizeof *at);
  if (!at) abort();
  at->line = line;
  at->thread = (uint16_t)opened;
  at->bytes = bytes;
  at->spins = crowded ? 1 : 1000;
  at->segment = aligned_alloc(page, page + 2 * bytes);
  if (!at->segment) abort();
  memset(at->segment, 0, page + 2 * bytes);
  channels[opened++] = at;
  return at;
}

void channel_close(baseline_channel* at) {
  if (at->thread < count) close(at->line->fd);
  free(at->segment);
  free(at);
}

const char* channel_transport(const baseline_channel* at) {
  (void)at;
  return "sockets under a lock";
}

static void arrived(const struct head* head) {
  if (!head->flag) return;
  char* segment = channels[head->thread]->segment;
  atomic_fetch_add_explicit((_Atomic uint32_t*)(void*)(segment + (size_t)4 * head->flag), 1,
                            memory_order_release);
  atomic_thread_fence(memory_order_seq_cst);
  if (atomic_load_explicit(&sleepers, memory_order_relaxed)) abort();
}

static void take_in(struct line* at, size_t end) {
  size_t begin = 0;
  while (begin < end) {
    if (at->left) {
      const size_t part = at->left < end - begin ? at->left : end - begin;
      memcpy(at->to, at->buffer + begin, part);
      at->to += part;
      at->left -= part;
      begin += part;
      if (!at->left) arrived(&at->coming);
      continue;
    }
    if (end - begin < sizeof at->coming) break;
    memcpy(&at->coming, at->buffer + begin, sizeof at->coming);
    begin += sizeof at->coming;
    at->to = channel_target(channels[at->coming.thread]) + at->coming.offset;
    at->left = at->coming.bytes;
    if (!at->left) arrived(&at->coming);
  }
  at->have = end - begin;
  memmove(at->buffer, at->buffer + begin, at->have);
}

/* Under the lock. */
static void read_line(struct line* at) {
  struct iovec parts[2] = {{at->to, at->left}, {at->buffer + at->have, at_once}};
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
  const ssize_t got = at->left ? recvmsg(at->fd, &message, MSG_DONTWAIT)
                               : recv(at->fd, parts[1].iov_base, at_once, MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN) return;
  check(got > 0, "recv");
  const size_t placed = (size_t)got < at->left ? (size_t)got : at->left;
  at->to += placed;
  at->left -= placed;
  if (placed && !at->left) arrived(&at->coming);
  take_in(at, at->have + (size_t)got - placed);
}

void channel_progress(baseline_channel* at) {
  pthread_mutex_lock(&at->line->lock);
  read_line(at->line);
  pthread_mutex_unlock(&at->line->lock);
}

static void send_out(baseline_channel* at, size_t offset, size_t bytes, uint16_t flag) {
  struct line* line = at->line;
  struct head head = {offset, (uint32_t)bytes, flag, at->thread};
  struct iovec parts[2] = {{&head, sizeof head}, {channel_source(at) + offset, bytes}};
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
  pthread_mutex_lock(&line->lock);
  while (message.msg_iovlen > 0) {
    ssize_t sent = sendmsg(line->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      check(errno == EAGAIN, "sendmsg");
      read_line(line);
      sent = 0;
    }
    while (message.msg_iovlen > 0 && (size_t)sent >= message.msg_iov->iov_len) {
      sent -= (ssize_t)message.msg_iov->iov_len;
      ++message.msg_iov;
      --message.msg_iovlen;
    }
    if (message.msg_iovlen > 0) {
      message.msg_iov->iov_base = (char*)message.msg_iov->iov_base + sent;
      message.msg_iov->iov_len -= (size_t)sent;
    }
  }
  pthread_mutex_unlock(&line->lock);
}

#define SENDS_BOTH
#include "channel.h"
