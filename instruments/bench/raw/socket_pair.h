/* SPDX-License-Identifier: BSD-3-Clause */
/* How the baselines on bare sockets meet: rank 0 listens on the interface that OMPL_NET_INTERFACE names, the loopback if it is not
 * set, and says where; rank 1 connects. */
#ifndef BENCH_RAW_SOCKET_PAIR_H
#define BENCH_RAW_SOCKET_PAIR_H

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

#endif
