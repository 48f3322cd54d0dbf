// SPDX-License-Identifier: BSD-3-Clause
// Ping-pong between thread i of rank 0 (the leader) and thread i of rank 1 (the follower).
//
// Each batch is: an exchange whose payload both sides verify and which carries the leader's plan, one
// iteration that brings both sides back to speed, and then the timed iterations. Timed iterations
// send the payload of the exchange again and touch no data, as in the papers. The batch is timed as a whole;
// of a long one only every 64th round trip is also timed alone, for reading the clock twice takes as long as a
// fast library's round trip.
#pragma once

#include <array>

#include "control.hpp"
#include "payload.hpp"
#include "report.hpp"
#include "schedule.hpp"

namespace bench {

// The ways to move a payload through channel `channel`.
template <class A>
struct PutFlag {
  A& library;
  int channel;
  std::size_t size;
  void post() { library.put(channel, 0, size), library.signal(channel); }
  void take() { library.wait(channel); }
};

template <class A>
struct PutSignal {
  A& library;
  int channel;
  std::size_t size;
  void post() { library.put_signal(channel, size); }
  void take() { library.wait(channel); }
};

template <class A>
struct SendReceive {
  A& library;
  int channel;
  std::size_t size;
  void post() { library.send(channel, size); }
  void take() { library.receive(channel, size); }
};

// One side of a thread pair.
template <class Link>
class Pair {
 public:
  Pair(Link link, const Command& command, OnCorrupt on_corrupt)
      : link_(link),
        command_(command),
        on_corrupt_(std::move(on_corrupt)),
        exchange_(command.sequence << 20) {}

  ThreadReport lead() {
    const auto begin = Clock::now();
    Schedule schedule(command_.iterations, command_.seconds);
    while (true) {
      const auto batch = schedule.next(seconds_since(begin));
      fill(0, batch.iterations | (batch.counts ? kCounts : 0));
      link_.post();
      link_.take();
      verify(1);
      ++exchange_;
      if (batch.iterations == 0) return report_;
      schedule.finished(lead_batch(batch));
    }
  }

  ThreadReport follow() {
    while (true) {
      link_.take();
      verify(0);
      const uint32_t plan = payload::plan(target());
      fill(1, 0);
      link_.post();
      ++exchange_;
      const uint32_t iterations = plan % kCounts;
      if (iterations == 0) return report_;
      follow_batch({iterations, plan >= kCounts});
    }
  }

 private:
  static constexpr uint32_t kCounts = 1U << (payload::kPlanBits - 1);
  static_assert(Schedule::kMaxBatch < kCounts);
  static constexpr uint32_t kStride = 64;  // of the round trips that are timed alone
  static_assert(Schedule::kMaxBatch <= kStride * kStride);

  double lead_batch(Schedule::Batch batch) {
    link_.post();
    link_.take();
    report_.sent += batch.iterations + 2;  // and the exchange before
    const uint32_t stride = batch.iterations < kStride ? 1 : kStride;
    std::size_t samples = 0;
    const auto start = Clock::now();
    for (uint32_t i = 0; i < batch.iterations; ++i) {
      if (i % stride == 0) {
        const auto alone = Clock::now();
        link_.post();
        link_.take();
        samples_[samples++] = Clock::now() - alone;
      } else {
        link_.post();
        link_.take();
      }
    }
    const double seconds = seconds_since(start);
    if (batch.counts) {
      count(batch.iterations, seconds);
      for (std::size_t i = 0; i < samples; ++i) report_.sample(samples_[i]);
    }
    return seconds;
  }

  void follow_batch(Schedule::Batch batch) {
    link_.take();
    link_.post();
    report_.sent += batch.iterations + 2;
    const auto start = Clock::now();
    for (uint32_t i = 0; i < batch.iterations; ++i) {
      link_.take();
      link_.post();
    }
    if (batch.counts) count(batch.iterations, seconds_since(start));
  }

  void count(uint64_t iterations, double seconds) {
    report_.iterations += iterations;
    report_.seconds += seconds;
  }

  [[nodiscard]] std::byte* target() const { return link_.library.target(link_.channel); }

  void fill(int from_rank, uint32_t plan) {
    payload::fill(link_.library.source(link_.channel), link_.size,
                  payload::seed(link_.channel, from_rank, exchange_), plan);
  }

  void verify(int from_rank) {
    const auto seed = payload::seed(link_.channel, from_rank, exchange_);
    if (const auto wrong = payload::mismatch(target(), link_.size, seed)) {
      on_corrupt_("thread " + std::to_string(link_.channel) + ", exchange " +
                  std::to_string(exchange_) + ": " + *wrong);
    }
  }

  Link link_;
  const Command& command_;
  OnCorrupt on_corrupt_;
  ThreadReport report_;
  uint64_t exchange_;  // never the same in two measurements: old data cannot pass for new
  std::array<Clock::duration, kStride> samples_;
};

}  // namespace bench
