/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The twin of the ofi conduit: put + flag written by hand on bare libfabric, as fast as we can write it.
 * Ping-pong between two processes: fi_write of the data, then fi_writedata of nothing, whose CQ data names
 * the flag; the receiver adds to the flag, fences, looks for sleepers, and takes one, as the library does.
 * While nothing comes it spins, then yields; between rounds both sleep.
 *
 *   ofi_twin server ADDRESS PORT SIZE ITERATIONS [PROVIDER]
 *   ofi_twin client ADDRESS PORT SIZE ITERATIONS [PROVIDER]
 *
 * ADDRESS is the server's, for both. PROVIDER is the conduit's choice unless given: tcp, else net.
 * The client runs one round for each line it reads and answers with one line of JSON: the mean one-way
 * time of ITERATIONS round trips, after a tenth as many for warming up.
 */
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { flag_index = 64, flag_offset = 4 * flag_index, data_offset = 4096, segment_size = 8 << 20 };

struct keys {
  uint64_t base, key;
};

static struct fid_fabric* fabric;
static struct fid_domain* domain;
static struct fid_eq* events;
static struct fid_cq* queue;
static struct fid_ep* endpoint;
static struct fid_mr* registration;
static struct keys peer;
static const char* provider; /* NULL: our choice */
static size_t inject_size;
static char* segment;
static atomic_int sleepers;
static long written, completed; /* writes with a completion of their own */

static void check(long result, const char* what) {
  if (result >= 0) return;
  fprintf(stderr, "ofi_twin: %s: %s\n", what, fi_strerror((int)-result));
  exit(1);
}

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static struct fi_info* find(const char* node, const char* port, uint64_t flags) {
  struct fi_info *hints = fi_allocinfo(), *info = NULL;
  hints->caps = FI_MSG | FI_RMA;
  hints->ep_attr->type = FI_EP_MSG;
  hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_WAW;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->data_progress = hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_PROV_KEY;
  hints->fabric_attr->prov_name = strdup(provider ? provider : "tcp");
  int result = fi_getinfo(FI_VERSION(1, 11), node, port, flags, hints, &info);
  if (result && !provider) {
    strcpy(hints->fabric_attr->prov_name, "net");
    result = fi_getinfo(FI_VERSION(1, 11), node, port, flags, hints, &info);
  }
  check(result, "fi_getinfo");
  provider = info->fabric_attr->prov_name;
  fi_freeinfo(hints);
  inject_size = info->tx_attr->inject_size;
  return info;
}

static void open_domain(struct fi_info* info) {
  check(fi_domain(fabric, info, &domain, NULL), "fi_domain");
  struct fi_cq_attr attributes = {.size = 1024, .format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_NONE};
  check(fi_cq_open(domain, &attributes, &queue, NULL), "fi_cq_open");
  segment = aligned_alloc(4096, segment_size);
  memset(segment, 0, segment_size);
  check(fi_mr_reg(domain, segment, segment_size, FI_REMOTE_WRITE, 0, 42, 0, &registration, NULL),
        "fi_mr_reg");
}

static struct keys own_keys(const struct fi_info* info) {
  struct keys keys = {0, fi_mr_key(registration)};
  if (info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) keys.base = (uint64_t)(uintptr_t)segment;
  return keys;
}

static void open_endpoint(struct fi_info* info) {
  check(fi_endpoint(domain, info, &endpoint, NULL), "fi_endpoint");
  check(fi_ep_bind(endpoint, &events->fid, 0), "fi_ep_bind");
  check(fi_ep_bind(endpoint, &queue->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
  check(fi_enable(endpoint), "fi_enable");
}

/* Waits for one connection event; the other side's keys come with it. */
static struct fi_info* expect(uint32_t wanted) {
  char buffer[sizeof(struct fi_eq_cm_entry) + 256];
  struct fi_eq_cm_entry* entry = (struct fi_eq_cm_entry*)buffer;
  uint32_t event;
  ssize_t length;
  struct fi_cq_data_entry ignored;
  while ((length = fi_eq_read(events, &event, buffer, sizeof buffer, 0)) == -FI_EAGAIN) {
    if (queue) (void)!fi_cq_read(queue, &ignored, 0);
    usleep(100);
  }
  check(length, "fi_eq_read");
  if (event != wanted) exit(1);
  if ((size_t)length >= sizeof *entry + sizeof peer) memcpy(&peer, entry->data, sizeof peer);
  return entry->info;
}

static void serve(const char* address, const char* port) {
  struct fi_info* info = find(address, port, FI_SOURCE);
  struct fi_eq_attr attributes = {.wait_obj = FI_WAIT_UNSPEC};
  struct fid_pep* listener;
  check(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
  check(fi_eq_open(fabric, &attributes, &events, NULL), "fi_eq_open");
  check(fi_passive_ep(fabric, info, &listener, NULL), "fi_passive_ep");
  check(fi_pep_bind(listener, &events->fid, 0), "fi_pep_bind");
  check(fi_listen(listener), "fi_listen");
  struct fi_info* request = expect(FI_CONNREQ);
  open_domain(request);
  open_endpoint(request);
  struct keys keys = own_keys(request);
  check(fi_accept(endpoint, &keys, sizeof keys), "fi_accept");
  expect(FI_CONNECTED);
}

static void join(const char* address, const char* port) {
  struct fi_info* info = find(address, port, 0);
  struct fi_eq_attr attributes = {.wait_obj = FI_WAIT_UNSPEC};
  check(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
  check(fi_eq_open(fabric, &attributes, &events, NULL), "fi_eq_open");
  open_domain(info);
  open_endpoint(info);
  struct keys keys = own_keys(info);
  check(fi_connect(endpoint, info->dest_addr, &keys, sizeof keys), "fi_connect");
  expect(FI_CONNECTED);
}

static void progress(void) {
  struct fi_cq_data_entry entries[16];
  ssize_t got = fi_cq_read(queue, entries, 16);
  if (got == -FI_EAGAIN) return;
  if (got < 0) exit(0); /* the other side is done */
  for (ssize_t i = 0; i < got; ++i) {
    if (!(entries[i].flags & FI_REMOTE_WRITE)) {
      ++completed;
      continue;
    }
    atomic_fetch_add_explicit((_Atomic uint32_t*)(segment + 4 * (entries[i].data & UINT32_MAX)), 1,
                              memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&sleepers, memory_order_relaxed)) exit(1);
  }
}

/* The server's polls without a message, a few milliseconds, after which it leaves the cores to whoever is
   measured next. The client then waits for input. */
enum { round_is_over = 3000 };
static int is_server;

static void wait_flag(void) {
  _Atomic uint32_t* flag = (_Atomic uint32_t*)(segment + flag_offset);
  for (long idle = 0; !atomic_load_explicit(flag, memory_order_acquire); ++idle) {
    progress();
    if (is_server && idle == round_is_over) {
      uint32_t event;
      struct fi_eq_cm_entry entry;
      if (fi_eq_read(events, &event, &entry, sizeof entry, 0) != -FI_EAGAIN) exit(0);
      usleep(20000);
      idle = round_is_over - 1;
    } else if (idle > 1000) {
      sched_yield();
    }
  }
  atomic_fetch_sub_explicit(flag, 1, memory_order_acquire);
}

static void put_and_signal(size_t size) {
  ssize_t result;
  if (size <= inject_size) {
    while ((result = fi_inject_write(endpoint, segment + data_offset, size, 0, peer.base + data_offset,
                                     peer.key)) == -FI_EAGAIN) {
      progress();
    }
  } else {
    while ((result = fi_write(endpoint, segment + data_offset, size, NULL, 0, peer.base + data_offset,
                              peer.key, NULL)) == -FI_EAGAIN) {
      progress();
    }
    ++written;
  }
  check(result, "fi_write");
  while ((result = fi_inject_writedata(endpoint, NULL, 0, flag_index, 0, peer.base + flag_offset,
                                       peer.key)) == -FI_EAGAIN) {
    progress();
  }
  check(result, "fi_writedata");
  while (completed < written) progress(); /* the source may be reused */
}

static void ping_pong(long iterations, size_t size) {
  for (long i = 0; i < iterations; ++i) {
    put_and_signal(size);
    wait_flag();
  }
}

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (argc < 6 || argc > 7) {
    fprintf(stderr, "usage: ofi_twin server|client ADDRESS PORT SIZE ITERATIONS [PROVIDER]\n");
    return 2;
  }
  const size_t size = strtoul(argv[4], NULL, 10);
  const long iterations = strtol(argv[5], NULL, 10);
  provider = argc > 6 ? argv[6] : NULL;
  if (size == 0 || size > segment_size - data_offset || iterations <= 0) return 2;
  is_server = strcmp(argv[1], "server") == 0;
  if (is_server) {
    serve(argv[2], argv[3]);
    for (;;) {
      wait_flag();
      put_and_signal(size);
    }
  }
  join(argv[2], argv[3]);
  char line[64];
  while (fgets(line, sizeof line, stdin)) {
    ping_pong(iterations / 10 + 1, size);
    const double start = now_us();
    ping_pong(iterations, size);
    const double one_way = (now_us() - start) / (double)iterations / 2;
    printf("{\"latency_us\": %.4f, \"size\": %zu, \"iterations\": %ld, \"provider\": \"%s\"}\n",
           one_way, size, iterations, provider);
    fflush(stdout);
  }
  return 0;
}
