// SPDX-License-Identifier: BSD-3-Clause
// What the stand-in for libibverbs (stub.cpp) offers to tests, which find these functions by dlsym().
#pragma once

#include <stdint.h>

extern "C" {

struct verbs_stub_counters {
  uint64_t doorbells;  // calls of ibv_post_send
  uint64_t requests;   // in them
};
void verbs_stub_counts(verbs_stub_counters* out);

// So many datagrams, from now on, are lost.
void verbs_stub_drop_datagrams(uint64_t count);
// Delivers a datagram of nobody's, up to 256 bytes, to every connection end.
void verbs_stub_inject_datagram(const void* bytes, uint32_t size);
// Delivers every datagram sent since the last call once more, to every connection end; returns their number.
unsigned verbs_stub_replay_datagrams(void);
// Whether ibv_fork_init() was called, and before the first registration of memory.
int verbs_stub_forks_are_safe(void);
// So many registrations of memory, from now on, fail with ENOMEM.
void verbs_stub_refuse_registrations(uint64_t count);
// So many requests that the calling thread makes over connections or DC, from now on, fail at the other side. Those of
// other threads, which look now and then whether their peers live, do not.
void verbs_stub_refuse_accesses(uint64_t count);
// The request of that number, from 1, that the calling thread posts to connections from now on is refused.
void verbs_stub_refuse_request(uint64_t number);
// While on: reads over connections wait, and what was posted behind them.
void verbs_stub_hold_reads(int on);
// Connections whose next request is a read that waits.
unsigned verbs_stub_held_reads(void);
// Whether the device has XRC and DC, from now on; it has at first.
void verbs_stub_have_all(int on);
// While on: what is sent over connections is complete at once and reaches nobody, and threads on queue pairs of their
// own share nothing, not even the counters above. Reads are done: a thread that moves to another endpoint may have to
// learn its key first. For rates.
void verbs_stub_discard(int on);
// Every connected queue pair and every DC initiator goes to the error state; returns their number.
unsigned verbs_stub_break_connections(void);
}
