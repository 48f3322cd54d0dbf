// SPDX-License-Identifier: BSD-3-Clause
// This process's side of the emulated interconnect: its VCQs with their transmit queues, and what carries commands out.
// Whoever polls a VCQ carries a little of what it has under way, and a thread of the emulator's does every 300 us, since
// hardware waits for nobody. Pieces move in an order that chance decides, but for what strong order promises.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <random>

#include "emulator.h"
#include "fabric.hpp"

namespace emulator {

enum class Kind : uint8_t { put, get, atomic };

struct Command {
  Kind kind = Kind::put;
  SharedVcq* to = nullptr;
  Steering local{};  // of put() and get()
  Steering remote{};
  bool inlined = false;  // piggyback: the data are in `data`
  std::array<std::byte, kMaxPiggyback> data{};
  std::size_t length = 0;
  int op = 0;  // of an atomic: UTOFU_ARMW_OP_*, or 0: compare and swap
  uint64_t value = 0, compare = 0;
  uint64_t edata = 0;
  unsigned long flags = 0;
  void* cbdata = nullptr;
  utofu_stadd_t local_stadd = 0, remote_stadd = 0;

  std::size_t moved = 0;     // bytes
  uint64_t old_value = 0;    // of an atomic
  int code = UTOFU_SUCCESS;  // how it ends
  bool sent = false;         // all data have moved; the notice of the other side is under way

  [[nodiscard]] bool is(unsigned long flag) const { return (flags & flag) != 0; }
};

class Vcq {
 public:
  Vcq(SharedVcq& shared, unsigned long flags, uint64_t seed);
  ~Vcq();
  Vcq(const Vcq&) = delete;
  Vcq& operator=(const Vcq&) = delete;

  [[nodiscard]] SharedVcq& shared() { return shared_; }
  // UTOFU_SUCCESS, _BUSY, or what was injected.
  int post(const Command& command);
  // UTOFU_SUCCESS, _NOT_FOUND, or the error of a command; gives back the room of all that was sent.
  int poll_tcq(void** cbdata);
  int poll_mrq(utofu_mrq_notice* notice);
  // Moves some of what is under way.
  void carry();

  // While one lives a thread is inside; two at a time is a violation, unless the VCQ is thread-safe.
  class Inside;

 private:
  struct Sent {
    void* cbdata;
    int code;
  };

  bool one_in(unsigned n) { return n > 1 && dice_() % n == 0; }
  bool move(Command& command);
  bool move_data(Command& command, std::size_t at, std::size_t length);
  void execute(Command& command);
  void finish(std::list<Command>::iterator command);
  void step();

  SharedVcq& shared_;
  const bool thread_safe_;
  std::mutex mutex_;  // of all below
  std::mt19937_64 dice_;
  std::list<Command> commands_;  // in the order of their posts
  std::deque<Sent> sent_;
  unsigned used_ = 0;   // of the transmit queue
  unsigned ended_ = 0;  // of those, by commands of which all has left
};

class Vcq::Inside {
 public:
  explicit Inside(Vcq& vcq);
  ~Inside();
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  std::atomic<int>* threads_;
};

// Null: there is no such handle.
std::shared_ptr<Vcq> vcq_of(utofu_vcq_hdl_t handle);
// UTOFU_SUCCESS, _FULL, or _FATAL without a machine.
int make_vcq(utofu_tni_id_t tni, int component, unsigned long flags, utofu_vcq_hdl_t* handle);
void drop_vcq(utofu_vcq_hdl_t handle);

struct Counts {
  std::atomic<uint64_t> posts{0}, busy{0}, overtaken{0}, torn{0}, vcqs{0};
  std::array<std::atomic<uint64_t>, kTnis> puts{}, bytes{};
};
Counts& counts();
utofu_emulator_settings settings();
// The error of the next command, if one is due now.
int injected();

}  // namespace emulator
