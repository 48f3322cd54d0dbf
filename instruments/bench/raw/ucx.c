/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The baseline of the ucx conduit: put and flag, written by hand on bare UCX for the highest speed. Data of up to
 * 8 KiB are an active message, which the target copies, and a second one sets the flag: on one endpoint UCX keeps
 * messages of one fragment in order. Longer data are ucp_put_nbx, and a flush before the flag. TWIN_PUTS=1 takes
 * ucp_put_nbx and ucp_worker_fence at every size; this is correct over one ordered lane only, such as TCP with one
 * interface, and never was faster. The receiver adds to the flag, fences, looks for sleepers, and takes one, as the
 * library does. While nothing comes it spins, then yields. UCX_TLS and UCX_NET_DEVICES choose the transport.
 */
#include "network.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <ucp/api/ucp.h>

enum {
  page = 4096,
  flag_index = 0,
  copied = 8000,
  message_id = 1,
  in_place = 64 /* puts under way at most */
};

struct record {
  uint64_t offset; /* of the data, in the target's segment */
  uint64_t value;  /* for the flag */
};
struct bytes {
  uint32_t size;
  char data[4092];
};

struct baseline_channel {
  ucp_context_h context;
  ucp_worker_h worker;
  ucp_ep_h endpoint;
  ucp_rkey_h key;
  uint64_t base; /* of the other's segment */
  char* segment; /* a page with the flag, the target, the source */
  size_t bytes;
  int spins, fence, long_put;
  long posted, completed;
};

static atomic_int sleepers;

static void check(ucs_status_t status, const char* what) {
  if (status == UCS_OK) return;
  fprintf(stderr, "ucx baseline: %s: %s\n", what, ucs_status_string(status));
  exit(1);
}

static ucs_status_t on_message(void* argument, const void* header, size_t header_length, void* data,
                               size_t length, const ucp_am_recv_param_t* param) {
  (void)header_length, (void)param;
  baseline_channel* at = argument;
  const struct record* record = header;
  if (length) {
    if (record->offset > at->bytes || length > at->bytes - record->offset) abort();
    memcpy(channel_target(at) + record->offset, data, length);
  }
  if (record->value == 0) return UCS_OK;
  atomic_fetch_add_explicit((_Atomic uint32_t*)(void*)at->segment, (uint32_t)record->value,
                            memory_order_release);
  atomic_thread_fence(memory_order_seq_cst);
  if (atomic_load_explicit(&sleepers, memory_order_relaxed)) abort();
  return UCS_OK;
}

static void on_sent(void* request, ucs_status_t status, void* argument) {
  baseline_channel* at = argument;
  check(status, "a request");
  ucp_request_free(request);
  ++at->completed;
}

static struct bytes swap(int meeting, const void* data, size_t size) {
  struct bytes mine = {.size = (uint32_t)size}, theirs;
  if (size > sizeof mine.data) abort();
  memcpy(mine.data, data, size);
  if (send(meeting, &mine, sizeof mine, MSG_NOSIGNAL) != sizeof mine ||
      recv(meeting, &theirs, sizeof theirs, MSG_WAITALL) != sizeof theirs) {
    fprintf(stderr, "ucx baseline: the other process is gone\n");
    exit(1);
  }
  return theirs;
}

static void open_worker(baseline_channel* at) {
  ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                         .features = UCP_FEATURE_RMA | UCP_FEATURE_AM};
  check(ucp_init(&params, NULL, &at->context), "ucp_init");
  ucp_worker_params_t worker = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                .thread_mode = UCS_THREAD_MODE_SERIALIZED};
  check(ucp_worker_create(at->context, &worker, &at->worker), "ucp_worker_create");
  ucp_am_handler_param_t handler = {.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                                                  UCP_AM_HANDLER_PARAM_FIELD_CB |
                                                  UCP_AM_HANDLER_PARAM_FIELD_ARG,
                                    .id = message_id,
                                    .cb = on_message,
                                    .arg = at};
  check(ucp_worker_set_am_recv_handler(at->worker, &handler), "ucp_worker_set_am_recv_handler");
}

baseline_channel* channel_open(int meeting, int rank, size_t bytes, int crowded) {
  (void)rank;
  baseline_channel* at = calloc(1, sizeof *at);
  if (!at) abort();
  at->bytes = bytes;
  at->spins = crowded ? 1 : 1000;
  at->fence = getenv("TWIN_PUTS") != NULL;
  at->segment = aligned_alloc(page, page + 2 * bytes);
  if (!at->segment) abort();
  memset(at->segment, 0, page + 2 * bytes);
  open_worker(at);
  ucp_mem_h registration;
  ucp_mem_map_params_t map = {
      .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
      .address = at->segment,
      .length = page + 2 * bytes};
  check(ucp_mem_map(at->context, &map, &registration), "ucp_mem_map");
  void* packed;
  ucp_address_t* address;
  size_t size, address_size;
  check(ucp_rkey_pack(at->context, registration, &packed, &size), "ucp_rkey_pack");
  check(ucp_worker_get_address(at->worker, &address, &address_size), "ucp_worker_get_address");
  const struct bytes theirs = swap(meeting, address, address_size),
                     their_key = swap(meeting, packed, size);
  const uint64_t base = (uint64_t)(uintptr_t)at->segment;
  const struct bytes their_base = swap(meeting, &base, sizeof base);
  memcpy(&at->base, their_base.data, sizeof at->base);
  ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
                            .address = (const ucp_address_t*)(const void*)theirs.data};
  check(ucp_ep_create(at->worker, &params, &at->endpoint), "ucp_ep_create");
  check(ucp_ep_rkey_unpack(at->endpoint, their_key.data, &at->key), "ucp_ep_rkey_unpack");
  return at;
}

/* The process is about to end, and UCX's orderly way out would have to be agreed on with the other side. */
void channel_close(baseline_channel* at) { free(at); }

const char* channel_transport(const baseline_channel* at) {
  (void)at;
  const char* chosen = getenv("UCX_TLS");
  return chosen ? chosen : "chosen by UCX";
}
void channel_progress(baseline_channel* at) { ucp_worker_progress(at->worker); }

/* What UCX did not do at once it reports later; such requests are not let pile up. */
static void posted(baseline_channel* at, ucs_status_ptr_t request, const char* what) {
  if (UCS_PTR_IS_ERR(request)) check(UCS_PTR_STATUS(request), what);
  if (request == NULL) return;
  ++at->posted;
  while (at->posted - at->completed > in_place) ucp_worker_progress(at->worker);
}

static ucp_request_param_t reported(baseline_channel* at) {
  return (ucp_request_param_t){.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                               UCP_OP_ATTR_FIELD_USER_DATA |
                                               UCP_OP_ATTR_FIELD_MEMORY_TYPE,
                               .cb.send = on_sent,
                               .user_data = at,
                               .memory_type = UCS_MEMORY_TYPE_HOST};
}

/* `record` must live until UCX has taken it: a header is copied only when it is sent at once. */
static void send_message(baseline_channel* at, const struct record* record, const void* data,
                         size_t bytes) {
  static _Thread_local struct record records[4 * in_place];
  static _Thread_local unsigned next;
  struct record* mine = &records[next++ % (4 * in_place)];
  *mine = *record;
  ucp_request_param_t params = reported(at);
  params.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = UCP_AM_SEND_FLAG_EAGER;
  posted(at, ucp_am_send_nbx(at->endpoint, message_id, mine, sizeof *mine, data, bytes, &params),
         "ucp_am_send_nbx");
}

void channel_put(baseline_channel* at, size_t offset, size_t bytes) {
  const char* from = channel_source(at) + offset;
  if (bytes <= copied && !at->fence) {
    send_message(at, &(struct record){offset, 0}, from, bytes);
    return;
  }
  const ucp_request_param_t params = reported(at);
  posted(at, ucp_put_nbx(at->endpoint, from, bytes, at->base + page + offset, at->key, &params),
         "ucp_put_nbx");
  at->long_put = 1;
}

void channel_signal(baseline_channel* at) {
  if (at->fence) {
    check(ucp_worker_fence(at->worker), "ucp_worker_fence");
  } else if (at->long_put) {
    const ucp_request_param_t params = reported(at);
    posted(at, ucp_ep_flush_nbx(at->endpoint, &params), "ucp_ep_flush_nbx");
    while (at->completed < at->posted) ucp_worker_progress(at->worker);
  }
  at->long_put = 0;
  send_message(at, &(struct record){0, 1}, NULL, 0);
}

void channel_put_signal(baseline_channel* at, size_t offset, size_t bytes) {
  if (bytes <= copied) {
    send_message(at, &(struct record){offset, 1}, channel_source(at) + offset, bytes);
  } else {
    channel_put(at, offset, bytes);
    channel_signal(at);
  }
}

#include "channel.h"
