/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The baseline of the psm2 conduit: put and flag, written by hand on bare active messages of PSM2 for the highest speed. A
 * message carries the offset, the flag's number and the data; its handler copies them and adds to the flag, fences, looks for
 * sleepers, and the waiter takes one, as the library does. An endpoint for each channel. While nothing comes it spins, then yields.
 *
 * Over PSM2's shared memory (PSM2_DEVICES=self,shm); never run on a card.
 */
#include "network.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { flag_index = 64, page = 4096, ok = 0, no_card = 8, arguments = 2 };

/* After psm2.h and psm2_am.h 2.2, which are no dependency. */
typedef struct psm2_ep* endpoint_t;
typedef struct psm2_epaddr* address_t;
struct open_options {
  int64_t timeout;
  int unit, affinity, shm_mbytes, sendbufs;
  uint64_t key;
  int port, level;
  uint64_t service;
  int path, descriptors, immediate;
};
struct limits {
  uint32_t handlers, arguments, request, reply;
};
typedef int (*handler_t)(void* token, uint64_t* args, int count, void* data, uint32_t bytes,
                         void* context);

static struct {
  int (*init)(int*, int*);
  int (*defaults)(struct open_options*);
  int (*open)(const unsigned char*, const struct open_options*, endpoint_t*, uint64_t*);
  int (*close)(endpoint_t, int, int64_t);
  int (*connect)(endpoint_t, int, const uint64_t*, const int*, int*, address_t*, int64_t);
  int (*poll)(endpoint_t);
  int (*limits)(endpoint_t, struct limits*, size_t, size_t*);
  int (*handlers)(endpoint_t, const handler_t*, int, void**, int*);
  int (*request)(address_t, uint32_t, const uint64_t*, int, const void*, size_t, int, void*, void*);
} psm2;

struct baseline_channel {
  endpoint_t endpoint;
  address_t other;
  char* segment; /* a page with the flag, the target, the source */
  size_t bytes, most;
  size_t held_offset, held; /* a put that goes out with its signal */
  int spins;
};

static atomic_int sleepers;

static void check(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "psm2 baseline: %s failed\n", what);
  exit(1);
}

static void load(void) {
  static int loaded;
  int major = 2, minor = 0;
  if (loaded++) return;
  setenv("HFI_NO_BACKTRACE", "1", 0);
  setenv("IPATH_NO_BACKTRACE", "1", 0);
  setenv("PSM2_DEVICES", "self,shm", 0);
  setenv("PSM2_MULTI_EP", "1", 0);
  setenv("PSM2_RCVTHREAD", "0", 0);
  setenv("PSM2_ADDR_FMT", "1",
         0); /* without a card an endpoint's number holds 16 bits of its key by this format alone */
  void* library = dlopen("libpsm2.so.2", RTLD_NOW | RTLD_LOCAL);
  check(library != NULL, "loading libpsm2.so.2");
  const struct {
    const char* name;
    void* to;
  } all[] = {{"psm2_init", &psm2.init},
             {"psm2_ep_open_opts_get_defaults", &psm2.defaults},
             {"psm2_ep_open", &psm2.open},
             {"psm2_ep_close", &psm2.close},
             {"psm2_ep_connect", &psm2.connect},
             {"psm2_poll", &psm2.poll},
             {"psm2_am_get_parameters", &psm2.limits},
             {"psm2_am_register_handlers_2", &psm2.handlers},
             {"psm2_am_request_short", &psm2.request}};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    void* found = dlsym(library, all[i].name);
    check(found != NULL, all[i].name);
    memcpy(all[i].to, &found, sizeof found);
  }
  const int error = psm2.init(&major, &minor);
  check(error == ok || error == no_card,
        "psm2_init"); /* of the latter it says an internal error, after all else is done */
}

static int arrived(void* token, uint64_t* args, int count, void* data, uint32_t bytes, void* context) {
  baseline_channel* at = context;
  (void)token;
  (void)count;
  if (bytes) memcpy(channel_target(at) + args[0], data, bytes);
  if (!args[1]) return 0;
  atomic_fetch_add_explicit((_Atomic uint32_t*)(void*)(at->segment + (size_t)4 * args[1]), 1,
                            memory_order_release);
  atomic_thread_fence(memory_order_seq_cst);
  if (atomic_load_explicit(&sleepers, memory_order_relaxed)) abort();
  return 0;
}

static void open_endpoint(baseline_channel* at, uint64_t* number) {
  static unsigned char opened;
  const unsigned char key[16] = {++opened, 1};
  struct open_options options;
  struct limits limits;
  size_t length = 0;
  const handler_t handler = arrived;
  void* context = at;
  int index = -1;
  check(psm2.defaults(&options) == ok, "psm2_ep_open_opts_get_defaults");
  options.affinity = 0;
  check(psm2.open(key, &options, &at->endpoint, number) == ok, "psm2_ep_open");
  check(psm2.handlers(at->endpoint, &handler, 1, &context, &index) == ok && index == 0,
        "psm2_am_register_handlers_2");
  check(psm2.limits(at->endpoint, &limits, sizeof limits, &length) == ok, "psm2_am_get_parameters");
  at->most = limits.request;
}

baseline_channel* channel_open(int meeting, int rank, size_t bytes, int crowded) {
  const int64_t patience = 30000000000;
  uint64_t own = 0, other = 0;
  int error = ok;
  baseline_channel* at = calloc(1, sizeof *at);
  (void)rank;
  if (!at) abort();
  load();
  at->bytes = bytes;
  at->spins = crowded ? 1 : 1000;
  at->segment = aligned_alloc(page, page + 2 * bytes);
  if (!at->segment) abort();
  memset(at->segment, 0, page + 2 * bytes);
  open_endpoint(at, &own);
  check(send(meeting, &own, sizeof own, MSG_NOSIGNAL) == sizeof own &&
            recv(meeting, &other, sizeof other, MSG_WAITALL) == sizeof other,
        "meeting");
  check(psm2.connect(at->endpoint, 1, &other, NULL, &error, &at->other, patience) == ok,
        "psm2_ep_connect");
  return at;
}

void channel_close(baseline_channel* at) {
  const int graceful = 0;
  psm2.close(at->endpoint, graceful, 1000000000);
  free(at->segment);
  free(at);
}

const char* channel_transport(const baseline_channel* at) {
  (void)at;
  return "psm2";
}

void channel_progress(baseline_channel* at) { psm2.poll(at->endpoint); }

/* In pieces of what a message holds; PSM2 keeps them in order. */
static void send_out(baseline_channel* at, size_t offset, size_t bytes, uint32_t flag) {
  do {
    const size_t part = bytes < at->most ? bytes : at->most;
    const uint64_t args[arguments] = {offset, part == bytes ? flag : 0};
    check(psm2.request(at->other, 0, args, arguments, channel_source(at) + offset, part, 0, NULL,
                       NULL) == ok,
          "psm2_am_request_short");
    offset += part;
    bytes -= part;
  } while (bytes > 0);
}

#define SENDS_BOTH
#include "channel.h"
