// SPDX-License-Identifier: BSD-3-Clause
// A stand-in for libibverbs and a device behind it, for tests without either: no hardware, no kernel, no time.
// Requests are executed by whoever posts them, between queue pairs of one process. It keeps the rules that a conduit
// may break by mistake: keys, access rights, ranges, states of queue pairs, depths of queues, overflow of completion
// queues; a receiver that is not ready stalls the sender. stub.hpp says how tests make it hostile, and what it counts.
#pragma once

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "stub.hpp"

#define EXPORT [[gnu::visibility("default")]]

namespace stub {

inline constexpr uint32_t kMaxInline = 256;
inline constexpr uint32_t kMaxMessage = 1U << 30;

struct Counts {
  std::atomic<uint64_t> doorbells{0}, requests{0}, datagrams_to_drop{0}, registrations_to_refuse{0};
  std::atomic<bool> have_all{true}, holds_reads{false};
  alignas(64) std::atomic<bool> discard{false};
};
inline Counts counts;
inline thread_local uint64_t accesses_to_refuse = 0;
inline thread_local uint64_t request_to_refuse = 0;

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

// An XRC domain is whose file it is.
using File = std::pair<dev_t, ino_t>;
struct Domain : ibv_xrcd {
  File file;
};

struct SharedReceives : ibv_srq {
  std::mutex mutex;
  std::deque<Receive> posted;
  uint32_t depth = 0;
  uint32_t number = 0;  // of XRC, as the rest
  ibv_cq* completions = nullptr;
  File domain;
};

struct Send {
  ibv_send_wr work;
  std::vector<ibv_sge> data;
  std::vector<std::byte> inlined;
  uint32_t target = 0;  // DC: where it goes, and the key for it
  uint64_t key = 0;
};

// What a queue pair of DC has besides (stub_dc.cpp).
struct Requests : ibv_qp_ex {
  void* owner = nullptr;  // Pair
};
struct Addresses : mlx5dv_qp_ex {
  void* owner = nullptr;
};
struct Dynamic {
  bool target = false;
  uint32_t number = 0;
  uint64_t key = 0;         // of a target
  uint64_t operations = 0;  // that an initiator was made for
  bool started = false;
  std::vector<Send> list;  // being built
  unsigned setters = 0;    // called for the last of it
  Requests requests{};
  Addresses addresses{};
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
  std::unique_ptr<Dynamic> dynamic;  // DC only
  File domain;                       // of an XRC target,
  unsigned users = 1;                // and who has made or opened it

  // Sends to one other, as initiators of DC do not.
  [[nodiscard]] bool connected() const { return qp_type == IBV_QPT_RC || qp_type == IBV_QPT_XRC_SEND; }
  [[nodiscard]] bool is_xrc() const {
    return qp_type == IBV_QPT_XRC_SEND || qp_type == IBV_QPT_XRC_RECV;
  }
  [[nodiscard]] bool initiates() const { return dynamic && !dynamic->target; }
};

struct Memory : ibv_mr {
  uint32_t access = 0;
};

// Everything by its number. Looked up by senders, so that a queue pair that is gone is nobody.
struct Fabric {
  std::mutex mutex;
  std::map<uint32_t, std::shared_ptr<Pair>> pairs;
  std::map<uint32_t, Memory*> memory;
  std::map<uint32_t, std::shared_ptr<SharedReceives>> queues;  // of XRC
  std::set<const ibv_ah*> paths;
  std::vector<std::vector<std::byte>> datagrams;  // sent, whether or not they arrived
  uint32_t next_pair = 17, next_key = 1000;
};
Fabric& fabric();
std::vector<std::shared_ptr<Pair>> pairs_that(bool (*hold)(const Pair&));

// A rule of the specification was broken: nothing that a test should survive.
[[noreturn]] void violation(const char* what);
// Takes one from a number that has not come to 0.
bool count_down(std::atomic<uint64_t>& number);
// What the pair has not sent is flushed, and nothing is delivered to it any more.
void to_error(Pair& pair);
void set_receiving(Pair& pair, bool on);
// Whether a queue pair of DC may be changed so.
bool allows_change(const Pair& pair, ibv_qp_state to, int mask);
bool allows_xrc_change(const Pair& pair, ibv_qp_state to, int mask);
void offer_xrc(verbs_context* context);
// Everything posted to a queue pair goes here; 0 or an errno. DC's are whole already.
int enqueue(Pair& pair, Send send);
// Executes what can be.
void advance(Pair& pair);
void advance_all();
// A datagram from outside, to every queue pair of datagrams.
void deliver_everywhere(const std::vector<std::byte>& bytes);

// The device's operations.
int post_send(ibv_qp* qp, ibv_send_wr* list, ibv_send_wr** bad);
int poll_cq(ibv_cq* cq, int most, ibv_wc* out);
int req_notify_cq(ibv_cq* cq, int solicited);
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* list, ibv_recv_wr** bad);
int post_recv(ibv_qp* qp, ibv_recv_wr* work, ibv_recv_wr** bad);

}  // namespace stub
