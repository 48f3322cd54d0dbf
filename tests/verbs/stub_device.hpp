// SPDX-License-Identifier: BSD-3-Clause
// A stand-in for libibverbs and a device behind it, for tests without either: no hardware, no kernel, no time.
// Requests are executed by whoever posts them, between queue pairs of one process. It keeps the rules that a conduit
// may break by mistake: keys, access rights, ranges, states of queue pairs, depths of queues, overflow of completion
// queues; a receiver that is not ready stalls the sender. stub.hpp says how tests make it hostile, and what it counts.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "stub.hpp"

namespace stub {

inline constexpr uint32_t kMaxInline = 256;
inline constexpr uint32_t kMaxMessage = 1U << 30;

struct Counts {
  std::atomic<uint64_t> doorbells{0}, requests{0}, datagrams_to_drop{0}, registrations_to_refuse{0};
  alignas(64) std::atomic<bool> discard{false};
};
inline Counts counts;

struct Queue : ibv_cq {
  std::mutex mutex;
  std::deque<ibv_wc> completions;
  bool notify = false;
};

struct Channel : ibv_comp_channel {
  int write_end = -1;
  std::mutex mutex;
  std::deque<ibv_cq*> events;
};

struct Receive {
  uint64_t number;
  ibv_sge data;
};

struct SharedReceives : ibv_srq {
  std::mutex mutex;
  std::deque<Receive> posted;
  uint32_t depth = 0;
};

struct Send {
  ibv_send_wr work;
  std::vector<ibv_sge> data;
  std::vector<std::byte> inlined;
};

struct Pair : ibv_qp {
  std::recursive_mutex mutex;
  ibv_qp_cap cap{};
  bool signal_all = false;
  uint32_t partner = 0;
  uint32_t qkey_set = 0;
  std::deque<Send> stalled;  // the first waits for the receiver
  std::deque<Receive> own_receives;
  uint32_t in_flight = 0;
  uint32_t unreported = 0;
  std::mutex receiving;  // senders deliver under it
  bool receives = false;
};

struct Memory : ibv_mr {
  uint32_t access = 0;
};

// Everything by its number. Looked up by senders, so that a queue pair that is gone is nobody.
struct Fabric {
  std::mutex mutex;
  std::map<uint32_t, std::shared_ptr<Pair>> pairs;
  std::map<uint32_t, Memory*> memory;
  std::vector<std::vector<std::byte>> datagrams;  // sent, whether or not they arrived
  uint32_t next_pair = 17, next_key = 1000;
};
Fabric& fabric();

// Takes one from a number that has not come to 0.
bool count_down(std::atomic<uint64_t>& number);
// What the pair has not sent is flushed, and nothing is delivered to it any more.
void to_error(Pair& pair);
void set_receiving(Pair& pair, bool on);
// A datagram from outside, to every queue pair of datagrams.
void deliver_everywhere(const std::vector<std::byte>& bytes);

// The device's operations.
int post_send(ibv_qp* qp, ibv_send_wr* list, ibv_send_wr** bad);
int poll_cq(ibv_cq* cq, int most, ibv_wc* out);
int req_notify_cq(ibv_cq* cq, int solicited);
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* list, ibv_recv_wr** bad);
int post_recv(ibv_qp* qp, ibv_recv_wr* work, ibv_recv_wr** bad);

}  // namespace stub
