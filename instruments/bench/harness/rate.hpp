// SPDX-License-Identifier: BSD-3-Clause
// The rate of small messages to a passive target: the threads of rank 0 put, rank 1 sleeps in read()
// outside the library. Afterwards the driver lets rank 1 take the signals and verify the data.
#pragma once

#include <algorithm>

#include "control.hpp"
#include "payload.hpp"
#include "report.hpp"

namespace bench {

// One thread's messages: consecutive pieces of `size` bytes of a region, again and again.
template <class A>
class Stream {
 public:
  Stream(A& library, int channel, const Command& command)
      : library_(library), channel_(channel), command_(command), with_flag_(command.op == "put") {}

  ThreadReport send() {
    payload::fill(library_.source(channel_), region(), seed(), 0);
    ThreadReport report;
    chunk();
    const auto start = Clock::now();
    do {
      chunk();
      report.iterations += kChunk;
    } while (report.iterations < command_.iterations && seconds_since(start) < command_.seconds);
    library_.flush(channel_);
    report.seconds = seconds_since(start);
    report.sent = report.iterations + kChunk;
    return report;
  }

  // Rank 1: takes `count` signals and looks at the data.
  void drain(uint64_t count, const OnCorrupt& on_corrupt) {
    if (with_flag_) {
      for (uint64_t i = 0; i < count; ++i) library_.wait(channel_);
    }
    library_.look(channel_);
    const std::size_t bytes = std::min<uint64_t>(region(), count * command_.size);
    if (const auto wrong = payload::mismatch(library_.target(channel_), bytes, seed())) {
      on_corrupt("thread " + std::to_string(channel_) + ", after " + std::to_string(count) +
                 " messages: " + *wrong);
    }
  }

 private:
  static constexpr uint64_t kChunk = 256;  // messages between two looks at the clock

  void chunk() { with_flag_ ? messages<true>() : messages<false>(); }

  template <bool WithFlag>
  void messages() {
    const std::size_t size = command_.size;
    const std::size_t end = region();
    std::size_t offset = offset_;
    for (uint64_t i = 0; i < kChunk; ++i) {
      if constexpr (!WithFlag && Checking<A>) {
        library_.put_alone(channel_, offset, size);
      } else {
        library_.put(channel_, offset, size);
        if constexpr (WithFlag) library_.signal(channel_);
      }
      offset = offset + size < end ? offset + size : 0;
    }
    offset_ = offset;
  }

  [[nodiscard]] std::size_t region() const {
    return std::max(command_.size, kPage / command_.size * command_.size);
  }
  [[nodiscard]] uint64_t seed() const { return payload::seed(channel_, 0, command_.sequence << 20); }

  A& library_;
  int channel_;
  const Command& command_;
  bool with_flag_;
  std::size_t offset_ = 0;
};

}  // namespace bench
