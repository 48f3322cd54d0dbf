/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The baseline of the ofi conduit: put and flag, written by hand on bare libfabric for the highest speed. fi_write
 * sends the data; fi_writedata, with no data, names the flag in its CQ data. The receiver adds to the flag, fences,
 * looks for sleepers, and takes one, as the library does. While nothing comes it spins, then yields.
 *
 * OMPL_OFI_PROVIDER chooses the provider as for the library: endpoints are connected (FI_EP_MSG) with `tcp` (the
 * default) and `net`, and use an address vector (FI_EP_RDM) with a layered name or the suffix /rdm.
 * OMPL_NET_INTERFACE is the network interface; the loopback if not set.
 */
#include "network.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
  flag_index = 64,
  page = 4096,
  in_place = 64 /* writes with a completion of their own at most */
};

struct card { /* what the other side must know */
  char name[128];
  size_t length;
  uint64_t base, key;
};

struct baseline_channel {
  struct fid_fabric* fabric;
  struct fid_domain* domain;
  struct fid_eq* events; /* connected endpoints only */
  struct fid_pep* listener;
  struct fid_av* addresses; /* the others only */
  struct fid_cq* queue;
  struct fid_ep* endpoint;
  struct fid_mr* registration;
  char* segment; /* a page with the flag, the target, the source */
  size_t bytes, inject_size;
  fi_addr_t to;
  uint64_t base, key; /* of the other's segment */
  long written, completed;
  int spins;
  char transport[64];
};

static atomic_int sleepers;

static void check(long result, const char* what) {
  if (result >= 0) return;
  fprintf(stderr, "libfabric baseline: %s: %s\n", what, fi_strerror((int)-result));
  exit(1);
}

/* The IPv4 address of the interface, in text. */
static void own_address(char* text, socklen_t size) {
  const char* wanted = getenv("OMPL_NET_INTERFACE");
  struct ifaddrs *all = NULL, *each;
  check(getifaddrs(&all), "getifaddrs");
  for (each = all; each; each = each->ifa_next) {
    if (!each->ifa_addr || each->ifa_addr->sa_family != AF_INET) continue;
    if (strcmp(each->ifa_name, wanted && *wanted ? wanted : "lo") == 0) break;
  }
  if (!each) {
    fprintf(stderr, "libfabric baseline: no address on %s\n", wanted ? wanted : "lo");
    exit(1);
  }
  inet_ntop(AF_INET, &((struct sockaddr_in*)(void*)each->ifa_addr)->sin_addr, text, size);
  freeifaddrs(all);
}

static struct fi_info* find(baseline_channel* at, const char* node, uint64_t flags) {
  const char* wanted = getenv("OMPL_OFI_PROVIDER");
  struct fi_info *hints = fi_allocinfo(), *info = NULL;
  char* name = hints->fabric_attr->prov_name = strdup(wanted && *wanted ? wanted : "tcp");
  char* suffix = strstr(name, "/rdm");
  snprintf(at->transport, sizeof at->transport, "%s", name);
  if (suffix) *suffix = 0;
  hints->ep_attr->type = suffix || strchr(name, ';') ? FI_EP_RDM : FI_EP_MSG;
  hints->caps = FI_MSG | FI_RMA;
  hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_WAW;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->data_progress = hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_PROV_KEY;
  check(fi_getinfo(FI_VERSION(1, 11), node, NULL, flags, hints, &info), "fi_getinfo");
  fi_freeinfo(hints);
  at->inject_size = info->tx_attr->inject_size;
  return info;
}

static void swap_cards(int meeting, const struct card* mine, struct card* theirs) {
  if (send(meeting, mine, sizeof *mine, MSG_NOSIGNAL) != sizeof *mine ||
      recv(meeting, theirs, sizeof *theirs, MSG_WAITALL) != sizeof *theirs) {
    fprintf(stderr, "libfabric baseline: the other process is gone\n");
    exit(1);
  }
}

static void open_domain(baseline_channel* at, struct fi_info* info, struct card* mine) {
  check(fi_domain(at->fabric, info, &at->domain, NULL), "fi_domain");
  struct fi_cq_attr attributes = {.size = 1024, .format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_NONE};
  check(fi_cq_open(at->domain, &attributes, &at->queue, NULL), "fi_cq_open");
  check(fi_mr_reg(at->domain, at->segment, page + 2 * at->bytes, FI_REMOTE_WRITE, 0, 42, 0,
                  &at->registration, NULL),
        "fi_mr_reg");
  mine->key = fi_mr_key(at->registration);
  mine->base = info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uint64_t)(uintptr_t)at->segment : 0;
  check(fi_endpoint(at->domain, info, &at->endpoint, NULL), "fi_endpoint");
  if (!at->events) {
    struct fi_av_attr table = {.type = FI_AV_TABLE};
    check(fi_av_open(at->domain, &table, &at->addresses, NULL), "fi_av_open");
  }
  check(fi_ep_bind(at->endpoint, at->events ? &at->events->fid : &at->addresses->fid, 0), "fi_ep_bind");
  check(fi_ep_bind(at->endpoint, &at->queue->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
  check(fi_enable(at->endpoint), "fi_enable");
}

/* Waits for one connection event. */
static struct fi_info* expect(baseline_channel* at, uint32_t wanted) {
  struct {
    struct fi_eq_cm_entry entry;
    char data[256];
  } got;
  uint32_t event;
  ssize_t length;
  while ((length = fi_eq_read(at->events, &event, &got, sizeof got, 0)) == -FI_EAGAIN) {
    if (at->queue) channel_progress(at);
    sched_yield();
  }
  check(length, "fi_eq_read");
  if (event != wanted) {
    fprintf(stderr, "libfabric baseline: connection event %u instead of %u\n", event, wanted);
    exit(1);
  }
  return got.entry.info;
}

static void connect_endpoints(baseline_channel* at, int meeting, int rank, const char* own) {
  struct fi_eq_attr attributes = {.wait_obj = FI_WAIT_UNSPEC};
  struct fi_info* info = find(at, own, FI_SOURCE);
  struct card mine = {.length = sizeof mine.name}, theirs;
  check(fi_fabric(info->fabric_attr, &at->fabric, NULL), "fi_fabric");
  check(fi_eq_open(at->fabric, &attributes, &at->events, NULL), "fi_eq_open");
  if (rank == 0) {
    check(fi_passive_ep(at->fabric, info, &at->listener, NULL), "fi_passive_ep");
    check(fi_pep_bind(at->listener, &at->events->fid, 0), "fi_pep_bind");
    check(fi_listen(at->listener), "fi_listen");
    check(fi_getname(&at->listener->fid, mine.name, &mine.length), "fi_getname");
  }
  swap_cards(meeting, &mine, &theirs);
  if (rank == 0) {
    struct fi_info* request = expect(at, FI_CONNREQ);
    open_domain(at, request, &mine);
    check(fi_accept(at->endpoint, NULL, 0), "fi_accept");
  } else {
    open_domain(at, info, &mine);
    check(fi_connect(at->endpoint, theirs.name, NULL, 0), "fi_connect");
  }
  expect(at, FI_CONNECTED);
  swap_cards(meeting, &mine, &theirs);
  at->base = theirs.base;
  at->key = theirs.key;
}

static void know_each_other(baseline_channel* at, int meeting, const char* own) {
  struct fi_info* info = find(at, own, FI_SOURCE);
  struct card mine = {.length = sizeof mine.name}, theirs;
  check(fi_fabric(info->fabric_attr, &at->fabric, NULL), "fi_fabric");
  open_domain(at, info, &mine);
  check(fi_getname(&at->endpoint->fid, mine.name, &mine.length), "fi_getname");
  swap_cards(meeting, &mine, &theirs);
  check(fi_av_insert(at->addresses, theirs.name, 1, &at->to, 0, NULL) == 1 ? 0 : -FI_EADDRNOTAVAIL,
        "fi_av_insert");
  at->base = theirs.base;
  at->key = theirs.key;
}

baseline_channel* channel_open(int meeting, int rank, size_t bytes, int crowded) {
  const char* wanted = getenv("OMPL_OFI_PROVIDER");
  char own[INET_ADDRSTRLEN];
  baseline_channel* at = calloc(1, sizeof *at);
  if (!at) abort();
  at->bytes = bytes;
  at->spins = crowded ? 1 : 1000;
  at->segment = aligned_alloc(page, page + 2 * bytes);
  if (!at->segment) abort();
  memset(at->segment, 0, page + 2 * bytes);
  own_address(own, sizeof own);
  if (wanted && (strchr(wanted, ';') || strstr(wanted, "/rdm"))) {
    know_each_other(at, meeting, own);
  } else {
    connect_endpoints(at, meeting, rank, own);
  }
  return at;
}

void channel_close(baseline_channel* at) {
  enum { handles = 8 };
  struct fid* all[handles] = {&at->endpoint->fid,     at->listener ? &at->listener->fid : NULL,
                              &at->registration->fid, at->addresses ? &at->addresses->fid : NULL,
                              &at->queue->fid,        at->events ? &at->events->fid : NULL,
                              &at->domain->fid,       &at->fabric->fid};
  for (size_t i = 0; i < handles; ++i)
    if (all[i]) fi_close(all[i]);
  free(at->segment);
  free(at);
}

const char* channel_transport(const baseline_channel* at) { return at->transport; }

void channel_progress(baseline_channel* at) {
  struct fi_cq_data_entry entries[16];
  struct fi_cq_err_entry error = {0};
  const ssize_t got = fi_cq_read(at->queue, entries, 16);
  if (got == -FI_EAGAIN) return;
  if (got == -FI_EAVAIL) fi_cq_readerr(at->queue, &error, 0);
  check(error.err ? -error.err : got, "fi_cq_read");
  for (ssize_t i = 0; i < got; ++i) {
    if (!(entries[i].flags & FI_REMOTE_WRITE)) {
      ++at->completed;
      continue;
    }
    atomic_fetch_add_explicit(
        (_Atomic uint32_t*)(void*)(at->segment + 4 * (entries[i].data & UINT32_MAX)), 1,
        memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&sleepers, memory_order_relaxed)) abort();
  }
}

/* Posts again, with progress in between, until there is room. */
#define POST(at, call)                                            \
  do {                                                            \
    ssize_t result;                                               \
    while ((result = (call)) == -FI_EAGAIN) channel_progress(at); \
    check(result, #call);                                         \
  } while (0)

/* A write with a completion was posted; they are not let pile up. */
static void wrote(baseline_channel* at) {
  ++at->written;
  while (at->written - at->completed > in_place) channel_progress(at);
}

void channel_put(baseline_channel* at, size_t offset, size_t bytes) {
  const char* from = channel_source(at) + offset;
  const uint64_t to = at->base + page + offset;
  if (bytes <= at->inject_size) {
    POST(at, fi_inject_write(at->endpoint, from, bytes, at->to, to, at->key));
  } else {
    POST(at, fi_write(at->endpoint, from, bytes, NULL, at->to, to, at->key, NULL));
    wrote(at);
  }
}

void channel_signal(baseline_channel* at) {
  POST(at, fi_inject_writedata(at->endpoint, NULL, 0, flag_index, at->to, at->base, at->key));
}

void channel_put_signal(baseline_channel* at, size_t offset, size_t bytes) {
  const char* from = channel_source(at) + offset;
  const uint64_t to = at->base + page + offset;
  if (bytes <= at->inject_size) {
    POST(at, fi_inject_writedata(at->endpoint, from, bytes, flag_index, at->to, to, at->key));
  } else {
    POST(at, fi_writedata(at->endpoint, from, bytes, NULL, flag_index, at->to, to, at->key, NULL));
    wrote(at);
  }
}

#include "channel.h"
