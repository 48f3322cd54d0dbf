/* SPDX-License-Identifier: BSD-3-Clause */
/* How the baselines on bare sockets meet, send and take in. Each includes this file, so that it is compiled into it and
 * costs no call, and gives segment_of(): the segment that a head is for. */
#ifndef BENCH_RAW_SOCKET_STREAM_H
#define BENCH_RAW_SOCKET_STREAM_H

#include "network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { flag_index = 64, page = 4096, at_once = 16 << 10 };

struct head {
  uint64_t offset; /* in the target */
  uint32_t bytes;  /* that follow */
  uint16_t flag;   /* raised after them; 0: none */
  uint16_t thread; /* whose target it is, where threads share the connection */
};

struct stream {
  int fd;
  struct head coming; /* whose data are not all there */
  char* to;
  size_t left;
  char buffer[sizeof(struct head) + at_once]; /* the beginning of a head, and what was read last */
  size_t have;
};

static atomic_int sleepers;

/* A page with the flag, the target, the source. */
static char* segment_of(struct stream* at, const struct head* head);

static char* new_segment(size_t bytes) {
  char* segment = aligned_alloc(page, page + 2 * bytes);
  if (!segment) abort();
  memset(segment, 0, page + 2 * bytes);
  return segment;
}

static void check(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "socket baseline: %s: %s\n", what, strerror(errno));
  exit(1);
}

static struct sockaddr_in own_address(void) {
  const char* wanted = getenv("OMPL_NET_INTERFACE");
  struct ifaddrs *all = NULL, *each;
  check(getifaddrs(&all) == 0, "getifaddrs");
  for (each = all; each; each = each->ifa_next) {
    if (!each->ifa_addr || each->ifa_addr->sa_family != AF_INET) continue;
    if (strcmp(each->ifa_name, wanted && *wanted ? wanted : "lo") == 0) break;
  }
  check(each != NULL, "no such interface with an address of IPv4");
  struct sockaddr_in own = *(struct sockaddr_in*)(void*)each->ifa_addr;
  freeifaddrs(all);
  own.sin_port = 0;
  return own;
}

static int listening_socket(struct sockaddr_in* card) {
  socklen_t size = sizeof *card;
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  *card = own_address();
  check(fd >= 0 && bind(fd, (struct sockaddr*)card, size) == 0 && listen(fd, 1) == 0 &&
            getsockname(fd, (struct sockaddr*)card, &size) == 0,
        "listen");
  return fd;
}

/* Rank 0 listens on the interface that OMPL_NET_INTERFACE names, the loopback if it is not set, and says where; rank 1
 * connects. */
static int joined(int meeting, int rank) {
  struct sockaddr_in card;
  if (rank == 0) {
    const int listener = listening_socket(&card);
    check(send(meeting, &card, sizeof card, MSG_NOSIGNAL) == sizeof card, "meeting");
    const int fd = accept(listener, NULL, NULL);
    check(fd >= 0, "accept");
    close(listener);
    return fd;
  }
  check(recv(meeting, &card, sizeof card, MSG_WAITALL) == sizeof card, "meeting");
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  check(fd >= 0 && connect(fd, (struct sockaddr*)&card, sizeof card) == 0, "connect");
  return fd;
}

static void connect_stream(struct stream* at, int meeting, int rank) {
  const int yes = 1;
  at->fd = joined(meeting, rank);
  check(setsockopt(at->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) == 0, "TCP_NODELAY");
}

static void arrived(struct stream* at) {
  if (!at->coming.flag) return;
  char* segment = segment_of(at, &at->coming);
  atomic_fetch_add_explicit((_Atomic uint32_t*)(void*)(segment + (size_t)4 * at->coming.flag), 1,
                            memory_order_release);
  atomic_thread_fence(memory_order_seq_cst);
  if (atomic_load_explicit(&sleepers, memory_order_relaxed)) abort();
}

static void take_in(struct stream* at, size_t end) {
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
    at->to = segment_of(at, &at->coming) + page + at->coming.offset;
    at->left = at->coming.bytes;
    if (!at->left) arrived(at);
  }
  at->have = end - begin;
  memmove(at->buffer, at->buffer + begin, at->have);
}

static void read_stream(struct stream* at) {
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

/* Reads while there is no room. */
static void write_stream(struct stream* at, struct head head, char* source) {
  struct iovec parts[2] = {{&head, sizeof head}, {source + head.offset, head.bytes}};
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
  while (message.msg_iovlen > 0) {
    ssize_t sent = sendmsg(at->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      check(errno == EAGAIN, "sendmsg");
      read_stream(at);
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

#endif
