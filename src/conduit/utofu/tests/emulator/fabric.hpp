// SPDX-License-Identifier: BSD-3-Clause
// What all processes of an emulated machine see: its nodes, one a process; their VCQs, with registered memory and message
// receive queue. It lies in the file that UTOFU_EMULATOR_FABRIC names, which whoever comes first makes, or without that
// variable in memory of this process alone.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "emulator.h"
#include "utofu.h"

namespace emulator {

inline constexpr unsigned kTnis = UTOFU_EMULATOR_TNIS;
inline constexpr unsigned kCqs = 12;  // of a TNI; an exclusive VCQ takes one, others share one
inline constexpr unsigned kComponents = 8;
inline constexpr unsigned kNodes = 16;
inline constexpr unsigned kVcqs = 128;  // of a node
inline constexpr unsigned kReservedStags = 256;
inline constexpr unsigned kStags = 4096;
inline constexpr unsigned kMrq = 2048;
inline constexpr std::size_t kAlignment = 256;
inline constexpr std::size_t kMaxPut = 16'777'215;
inline constexpr std::size_t kMaxPiggyback = 32;
inline constexpr uint64_t kMaxEdata = 255;

// Between processes; whoever dies inside leaves it usable.
class Mutex {
 public:
  void make();
  void lock();
  void unlock() { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_;
};

struct Registration {
  uint64_t address = 0;
  uint64_t size = 0;  // 0: none
  bool read_only = false;
};

struct Waiting {
  utofu_mrq_notice notice;
  int code;
};

struct SharedVcq {
  Mutex mutex;  // of all of it
  bool live, exclusive;
  std::atomic<uint32_t> generation;  // another one each time it is made; 0: never
  uint16_t tni, cq, component;
  uint16_t node, index;
  Registration registrations[kStags];
  uint64_t taken, arrived;  // notices
  Waiting notices[kMrq];

  [[nodiscard]] utofu_vcq_id_t id() const {
    return uint64_t{generation} << 32 | uint64_t{node} << 16 | index;
  }
};

struct SharedNode {
  pid_t process;  // 0: there is none
  std::atomic<bool> cut;
  Mutex atomics;  // the node's atomics are so among themselves
  SharedVcq vcqs[kVcqs];
};

struct Shared {
  uint64_t made;
  Mutex mutex;  // of nodes and of which VCQs live
  SharedNode nodes[kNodes];
};

// A steering address: the VCQ it is of, its STag, and the offset in that memory.
struct Steering {
  uint16_t node, index;
  unsigned stag;
  uint64_t offset;
  uint32_t generation;  // of the VCQ; not packed

  static constexpr uint64_t kOffsetBits = 40;
  [[nodiscard]] uint64_t pack() const {
    return (uint64_t{node} * kVcqs + index + 1) << 52 | uint64_t{stag} << kOffsetBits | offset;
  }
  // False: never made by pack().
  bool parse(uint64_t stadd);
  [[nodiscard]] bool is_of(const SharedVcq& vcq) const {
    return node == vcq.node && index == vcq.index;
  }
};

// The machine; attached to at the first call. Null, and a message, if that fails.
Shared* shared();
// This process's node there.
SharedNode* own_node();
// The VCQ of that id, or null.
SharedVcq* find(utofu_vcq_id_t id);

// Adds a notice. Ends the process if more than `depth` then wait.
void notify(SharedVcq& vcq, const utofu_mrq_notice& notice, int code, unsigned depth);

// Copies between this process and registered memory. UTOFU_SUCCESS, or why not: UTOFU_ERR_MRQ_RMT_*, _PEER.
int write_to(SharedVcq& vcq, const Steering& at, const void* from, std::size_t length,
             bool last_word_at_once);
int read_from(SharedVcq& vcq, const Steering& at, void* to, std::size_t length);

// Whoever uses the interconnect has broken a rule for which it has no code: says so and aborts.
[[noreturn]] void violation(const char* what);

}  // namespace emulator
