/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The baseline of the tcp conduit: put and flag, written by hand on bare sockets for the highest speed. A head of 16
 * bytes, the data and the flag's number go in one sendmsg(); the receiver reads a head and what follows it at once, and the
 * rest of long data to its place. It adds to the flag, fences, looks for sleepers, and takes one, as the library does.
 * While nothing comes it spins, then yields.
 *
 * OMPL_NET_INTERFACE is the network interface; the loopback if not set.
 */
#include "network.h"
#include "socket_pair.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/uio.h>

enum { flag_index = 64, page = 4096, at_once = 16 << 10 };

struct head {
  uint64_t offset; /* in the target */
  uint32_t bytes;  /* that follow */
  uint32_t flag;   /* raised after them; 0: none */
};

struct baseline_channel {
  int fd;
  char* segment; /* a page with the flag, the target, the source */
  size_t bytes;
  size_t held_offset, held; /* a put that goes out with its signal */
  struct head coming;       /* whose data are not all there */
  char* to;
  size_t left;
  char buffer[sizeof(struct head) + at_once]; /* the beginning of a head, and what was read last */
  size_t have;
  int spins;
};

static atomic_int sleepers;

baseline_channel* channel_open(int meeting, int rank, size_t bytes, int crowded) {
  const int yes = 1;
  baseline_channel* at = calloc(1, sizeof *at);
  if (!at) abort();
  at->bytes = bytes;
  at->spins = crowded ? 1 : 1000;
  at->segment = aligned_alloc(page, page + 2 * bytes);
  if (!at->segment) abort();
  memset(at->segment, 0, page + 2 * bytes);
  at->fd = joined(meeting, rank);
  check(setsockopt(at->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) == 0, "TCP_NODELAY");
  return at;
}

void channel_close(baseline_channel* at) {
  close(at->fd);
  free(at->segment);
  free(at);
}

const char* channel_transport(const baseline_channel* at) {
  (void)at;
  return "sockets";
}

static void arrived(baseline_channel* at) {
  if (!at->coming.flag) return;
  atomic_fetch_add_explicit((_Atomic uint32_t*)(void*)(at->segment + (size_t)4 * at->coming.flag), 1,
                            memory_order_release);
  atomic_thread_fence(memory_order_seq_cst);
  if (atomic_load_explicit(&sleepers, memory_order_relaxed)) abort();
}

static void take_in(baseline_channel* at, size_t end) {
  size_t begin = 0;
  while (begin < end) {
    if (at->left) {
      const size_t part = at->left < end - begin ? at->left : end - begin;
      memcpy(at->to, at->buffer + begin, part);
      at->to += part;
      at->left -= part;
      begin += part;
      if (!at->left) arrived(at);
      continue;
    }
    if (end - begin < sizeof at->coming) break;
    memcpy(&at->coming, at->buffer + begin, sizeof at->coming);
    begin += sizeof at->coming;
    at->to = channel_target(at) + at->coming.offset;
    at->left = at->coming.bytes;
    if (!at->left) arrived(at);
  }
  at->have = end - begin;
  memmove(at->buffer, at->buffer + begin, at->have);
}

void channel_progress(baseline_channel* at) {
  struct iovec parts[2] = {{at->to, at->left}, {at->buffer + at->have, at_once}};
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
  const ssize_t got = at->left ? recvmsg(at->fd, &message, MSG_DONTWAIT)
                               : recv(at->fd, parts[1].iov_base, at_once, MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN) return;
  check(got > 0, "recv");
  const size_t placed = (size_t)got < at->left ? (size_t)got : at->left;
  at->to += placed;
  at->left -= placed;
  if (placed && !at->left) arrived(at);
  take_in(at, at->have + (size_t)got - placed);
}

static void send_out(baseline_channel* at, size_t offset, size_t bytes, uint32_t flag) {
  struct head head = {offset, (uint32_t)bytes, flag};
  struct iovec parts[2] = {{&head, sizeof head}, {channel_source(at) + offset, bytes}};
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
  while (message.msg_iovlen > 0) {
    ssize_t sent = sendmsg(at->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      check(errno == EAGAIN, "sendmsg");
      channel_progress(at);
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
}

#define SENDS_BOTH
#include "channel.h"
