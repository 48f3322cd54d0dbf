/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The twin of the ucx conduit: put + flag written by hand on bare UCX. Ping-pong between two processes:
 * ucp_put_nbx of the data, a flush, then an active message that names the flag; the receiver adds to the
 * flag, fences, looks for sleepers, and takes one, as the library does. While nothing comes it spins, then
 * yields; between rounds both sleep. With `fence` the flush is a ucp_worker_fence: right only where put and
 * message share one ordered lane, as over TCP with one interface.
 *
 *   ucx_twin server ADDRESS PORT SIZE ITERATIONS [flush|fence]
 *   ucx_twin client ADDRESS PORT SIZE ITERATIONS [flush|fence]
 *
 * ADDRESS is the server's, for both; over it they exchange UCX's own. UCX_TLS and UCX_NET_DEVICES choose the
 * transport. The client runs one round for each line it reads and answers with one line of JSON: the mean
 * one-way time of ITERATIONS round trips, after a tenth as many for warming up.
 */
#include <arpa/inet.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

enum { flag_offset = 256, data_offset = 4096, segment_size = 8 << 20, message_id = 1 };

struct record {
  uint64_t offset, value;
};
struct bytes {
  uint32_t size;
  char data[4092];
};

static ucp_context_h context;
static ucp_worker_h worker;
static ucp_ep_h endpoint;
static ucp_rkey_h key;
static uint64_t peer_base;
static char* segment;
static atomic_int sleepers;
static int channel, fence, is_server;

static void check(ucs_status_t status, const char* what) {
  if (status == UCS_OK) return;
  fprintf(stderr, "ucx_twin: %s: %s\n", what, ucs_status_string(status));
  exit(1);
}

static void need(int good, const char* what) {
  if (good) return;
  perror(what);
  exit(1);
}

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static ucs_status_t on_message(void* argument, const void* header, size_t header_length, void* data,
                               size_t length, const ucp_am_recv_param_t* param) {
  (void)argument, (void)header_length, (void)data, (void)length, (void)param;
  const struct record* record = header;
  atomic_fetch_add_explicit((_Atomic uint32_t*)(segment + record->offset), (uint32_t)record->value,
                            memory_order_release);
  atomic_thread_fence(memory_order_seq_cst);
  if (atomic_load_explicit(&sleepers, memory_order_relaxed)) exit(1);
  return UCS_OK;
}

static void meet(const char* address, const char* port) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
  const int one = 1, made = socket(AF_INET, SOCK_STREAM, 0);
  need(made >= 0 && inet_pton(AF_INET, address, &at.sin_addr) == 1, "address");
  if (is_server) {
    setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    need(bind(made, (struct sockaddr*)&at, sizeof at) == 0 && listen(made, 1) == 0, "bind");
    channel = accept(made, NULL, NULL);
    need(channel >= 0, "accept");
    return;
  }
  channel = made;
  need(connect(made, (struct sockaddr*)&at, sizeof at) == 0, "connect");
}

static struct bytes swap(const void* data, size_t size) {
  struct bytes mine = {.size = (uint32_t)size}, theirs;
  need(size <= sizeof mine.data, "size");
  memcpy(mine.data, data, size);
  need(send(channel, &mine, sizeof mine, 0) == sizeof mine, "send");
  need(recv(channel, &theirs, sizeof theirs, MSG_WAITALL) == sizeof theirs, "recv");
  return theirs;
}

static void open_worker(void) {
  ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                         .features = UCP_FEATURE_RMA | UCP_FEATURE_AM | UCP_FEATURE_WAKEUP};
  check(ucp_init(&params, NULL, &context), "ucp_init");
  ucp_worker_params_t worker_params = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                       .thread_mode = UCS_THREAD_MODE_SINGLE};
  check(ucp_worker_create(context, &worker_params, &worker), "ucp_worker_create");
  ucp_am_handler_param_t handler = {
      .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB,
      .id = message_id,
      .cb = on_message};
  check(ucp_worker_set_am_recv_handler(worker, &handler), "ucp_worker_set_am_recv_handler");
}

static void join(void) {
  segment = aligned_alloc(4096, segment_size);
  memset(segment, 0, segment_size);
  ucp_mem_h registration;
  ucp_mem_map_params_t map = {
      .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
      .address = segment,
      .length = segment_size};
  check(ucp_mem_map(context, &map, &registration), "ucp_mem_map");
  void* packed;
  size_t size;
  check(ucp_rkey_pack(context, registration, &packed, &size), "ucp_rkey_pack");
  ucp_address_t* address;
  size_t address_size;
  check(ucp_worker_get_address(worker, &address, &address_size), "ucp_worker_get_address");
  const struct bytes theirs = swap(address, address_size), their_key = swap(packed, size);
  const uint64_t base = (uint64_t)(uintptr_t)segment;
  const struct bytes their_base = swap(&base, sizeof base);
  memcpy(&peer_base, their_base.data, sizeof peer_base);
  ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
                            .address = (const ucp_address_t*)theirs.data};
  check(ucp_ep_create(worker, &params, &endpoint), "ucp_ep_create");
  check(ucp_ep_rkey_unpack(endpoint, their_key.data, &key), "ucp_ep_rkey_unpack");
}

static void complete(ucs_status_ptr_t request, const char* what) {
  if (request == NULL) return;
  if (UCS_PTR_IS_ERR(request)) check(UCS_PTR_STATUS(request), what);
  ucs_status_t status;
  while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS) ucp_worker_progress(worker);
  check(status, what);
  ucp_request_free(request);
}

static void put_and_signal(size_t size) {
  const ucp_request_param_t none = {0}, eager = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                                 .flags = UCP_AM_SEND_FLAG_EAGER};
  const struct record record = {flag_offset, 1};
  ucs_status_ptr_t put =
      ucp_put_nbx(endpoint, segment + data_offset, size, peer_base + data_offset, key, &none);
  if (fence) {
    check(ucp_worker_fence(worker), "ucp_worker_fence");
  } else {
    complete(ucp_ep_flush_nbx(endpoint, &none), "ucp_ep_flush_nbx");
  }
  complete(ucp_am_send_nbx(endpoint, message_id, &record, sizeof record, NULL, 0, &eager),
           "ucp_am_send_nbx");
  complete(put, "ucp_put_nbx"); /* the source may be reused */
}

/* The server's polls without a message, a few milliseconds, after which it leaves the cores to whoever is
   measured next. The client then waits for input. */
enum { round_is_over = 3000 };

static void wait_flag(void) {
  _Atomic uint32_t* flag = (_Atomic uint32_t*)(segment + flag_offset);
  for (long idle = 0; !atomic_load_explicit(flag, memory_order_acquire); ++idle) {
    ucp_worker_progress(worker);
    if (is_server && idle == round_is_over) {
      char byte;
      if (recv(channel, &byte, 1, MSG_DONTWAIT) == 0) exit(0); /* the other side is done */
      usleep(20000);
      idle = round_is_over - 1;
    } else if (idle > 1000) {
      sched_yield();
    }
  }
  atomic_fetch_sub_explicit(flag, 1, memory_order_acquire);
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
    fprintf(stderr, "usage: ucx_twin server|client ADDRESS PORT SIZE ITERATIONS [flush|fence]\n");
    return 2;
  }
  const size_t size = strtoul(argv[4], NULL, 10);
  const long iterations = strtol(argv[5], NULL, 10);
  fence = argc > 6 && strcmp(argv[6], "fence") == 0;
  if (size == 0 || size > segment_size - data_offset || iterations <= 0) return 2;
  is_server = strcmp(argv[1], "server") == 0;
  open_worker();
  meet(argv[2], argv[3]);
  join();
  if (is_server) {
    for (;;) {
      wait_flag();
      put_and_signal(size);
    }
  }
  char line[64];
  while (fgets(line, sizeof line, stdin)) {
    ping_pong(iterations / 10 + 1, size);
    const double start = now_us();
    ping_pong(iterations, size);
    const double one_way = (now_us() - start) / (double)iterations / 2;
    printf("{\"latency_us\": %.4f, \"size\": %zu, \"iterations\": %ld, \"order\": \"%s\"}\n", one_way,
           size, iterations, fence ? "fence" : "flush");
    fflush(stdout);
  }
  return 0;
}
