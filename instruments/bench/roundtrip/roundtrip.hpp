// SPDX-License-Identifier: BSD-3-Clause
// The round trip of the LogGPS paper (figure 3): rank 0 sends, computes for a while, and receives; rank 1 receives and
// sends. And messages sent one after the other, for g. Blocking operations of the main thread, so that a library is
// measured as a program without threads has it.
//
// A block is timed as a whole. With a computation of no length no clock is read inside it; else the clock is read at the
// ends of the computation and of the receive, which is how the computation knows its length. What a reading costs is
// reported, to be subtracted.
#pragma once

#include <sched.h>

#include <algorithm>
#include <concepts>
#include <cstring>

#include "harness/control.hpp"
#include "harness/payload.hpp"
#include "harness/report.hpp"
#include "harness/team.hpp"

namespace bench::roundtrip {

// One way to move a message between the two ranks. send() and receive() are blocking; attend() lets the library go on
// with what it may still owe the other rank.
template <class L>
concept Link = requires(L link, std::size_t bytes) {
  { link.rank() } -> std::convertible_to<int>;
  { link.source() } -> std::same_as<std::byte*>;
  { link.target() } -> std::same_as<std::byte*>;
  link.send(bytes);
  link.receive(bytes);
  link.attend();
};

inline constexpr uint64_t kWarmUp = 3;      // round trips
inline constexpr std::size_t kPattern = 4;  // bytes that payload::fill() writes at least

// What reading the clock once costs, in seconds: the fastest of several tries.
inline double clock_cost() {
  constexpr int kTries = 32, kReads = 64;
  double best = 1;
  for (int i = 0; i < kTries; ++i) {
    const auto start = Clock::now();
    for (int j = 1; j < kReads; ++j) static_cast<void>(Clock::now());
    best = std::min(best, seconds_since(start) / kReads);
  }
  return best;
}

template <Link L>
class Block {
 public:
  Block(L& link, const Command& command, OnCorrupt on_corrupt)
      : link_(link), command_(command), on_corrupt_(std::move(on_corrupt)), size_(command.size) {}

  Report run() {
    exchange();
    const bool leads = link_.rank() == 0;
    const bool burst = command_.what == "burst";
    for (uint64_t i = 0; i < kWarmUp; ++i) leads ? there_and_back() : back();
    start_ = Clock::now();
    if (burst)
      leads ? send_bursts() : take_bursts();
    else if (command_.work > 0)
      leads ? lead_computing() : follow_timed();
    else
      for (uint64_t i = 0; i < command_.iterations; ++i) leads ? there_and_back() : back();
    return {{"iterations", command_.iterations},
            {"seconds", seconds_since(start_)},
            {"send", sum(send_)},
            {"later", sum(later_)},
            {"work", sum(work_)},
            {"receive", sum(receive_)},
            {"clock", clock_cost()},
            {"waited", waited_}};
  }

 private:
  using Time = Clock::time_point;

  static double sum(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

  void there_and_back() {
    link_.send(size_);
    link_.receive(size_);
  }
  void back() {
    link_.receive(size_);
    link_.send(size_);
  }

  void lead_computing() {
    const auto work =
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(command_.work));
    Time begin = start_;
    for (uint64_t i = 0; i < command_.iterations; ++i) {
      link_.send(size_);
      const Time sent = Clock::now();
      Time now = sent;
      while (now - sent < work) {
        if (command_.polls) link_.attend();
        now = Clock::now();
      }
      link_.receive(size_);
      const Time end = Clock::now();
      send_ += sent - begin;
      work_ += now - sent;
      receive_ += end - now;
      begin = end;
    }
  }

  void follow_timed() {
    for (uint64_t i = 0; i < command_.iterations; ++i) {
      link_.receive(size_);
      if (!command_.timed) {
        link_.send(size_);
        continue;
      }
      const Time begin = Clock::now();
      link_.send(size_);
      waited_ += sum(Clock::now() - begin) > command_.work / 2 ? 1 : 0;
    }
  }

  void send_bursts() {
    for (uint64_t i = 0; i < command_.iterations; ++i) {
      const Time begin = Clock::now();
      link_.send(size_);
      const Time sent = Clock::now();
      for (uint64_t j = 1; j < command_.messages; ++j) link_.send(size_);
      later_ += Clock::now() - sent;
      send_ += sent - begin;
      link_.receive(size_);
    }
  }
  void take_bursts() {
    for (uint64_t i = 0; i < command_.iterations; ++i) {
      for (uint64_t j = 0; j < command_.messages; ++j) link_.receive(size_);
      link_.send(size_);
    }
  }

  // One round trip whose content both ranks verify; the timed ones send it again.
  void exchange() {
    const std::size_t bytes = std::max(size_, kPattern);
    payload::fill(link_.source(), bytes, seed(link_.rank()), 0);
    if (link_.rank() == 0) {
      there_and_back();
      verify(1);
    } else {
      link_.receive(size_);
      verify(0);
      link_.send(size_);
    }
  }
  [[nodiscard]] uint64_t seed(int from_rank) const {
    return payload::seed(0, from_rank, command_.sequence);
  }
  void verify(int from_rank) {
    if (size_ >= kPattern) {
      if (const auto wrong = payload::mismatch(link_.target(), size_, seed(from_rank)))
        on_corrupt_(*wrong);
      return;
    }
    std::byte expected[kPattern];
    payload::fill(expected, kPattern, seed(from_rank), 0);
    if (std::memcmp(link_.target(), expected, size_) != 0)
      on_corrupt_("a message of " + std::to_string(size_) + " bytes differs");
  }

  L& link_;
  const Command& command_;
  OnCorrupt on_corrupt_;
  std::size_t size_;
  Time start_;
  Clock::duration send_{}, later_{}, work_{}, receive_{};
  uint64_t waited_ = 0;
};

template <Link L>
void answer(L& link, const Command& command, Control& control) {
  Block<L> block(link, command, [&control](const std::string& what) { control.corrupt(what); });
  control.report(block.run());
  if (command.attend)
    while (!control.pending()) link.attend(), sched_yield();
}

// main() of these workers; `library.serve(command, control)` answers one command.
template <class Library>
int worker_main(int argc, char** argv) {
  return run_worker<Library>(argc, argv, [](Library& library, const Setup&, Control& control) {
    bind_to({cores_of(library.rank()).front()});  // two ranks on one core would take turns
    while (const auto command = control.next()) library.serve(*command, control);
  });
}

}  // namespace bench::roundtrip
