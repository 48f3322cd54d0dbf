/* SPDX-License-Identifier: BSD-3-Clause */
/* What the baselines of networks have in common. Each includes it at its end, so that it is compiled into it and costs no call.
 * It wants `page`, `flag_index` (the flag's place in words) and these members of struct baseline_channel: `segment` (a page
 * with the flag, the target, the source), `bytes` of each of the two, `spins` before a waiting thread gives up its core. */
#ifndef BENCH_RAW_CHANNEL_H
#define BENCH_RAW_CHANNEL_H

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

char* channel_target(const baseline_channel* at) { return at->segment + page; }
char* channel_source(const baseline_channel* at) { return at->segment + page + at->bytes; }

void channel_wait(baseline_channel* at) {
  _Atomic uint32_t* flag = (_Atomic uint32_t*)(void*)(at->segment + (size_t)4 * flag_index);
  for (int polls = 1; !atomic_load_explicit(flag, memory_order_acquire); ++polls) {
    channel_progress(at);
    if (polls >= at->spins) sched_yield();
  }
  atomic_fetch_sub_explicit(flag, 1, memory_order_acquire);
}

/* Where a message carries a put and its signal: send_out() sends both, and a put waits for its signal in the members
 * `held_offset`, `held`. */
#ifdef SENDS_BOTH
void channel_put(baseline_channel* at, size_t offset, size_t bytes) {
  if (at->held) send_out(at, at->held_offset, at->held, 0);
  at->held_offset = offset;
  at->held = bytes;
}

void channel_signal(baseline_channel* at) {
  send_out(at, at->held_offset, at->held, flag_index);
  at->held = 0;
}

void channel_put_signal(baseline_channel* at, size_t offset, size_t bytes) {
  send_out(at, offset, bytes, flag_index);
}
#endif

#endif
