// SPDX-License-Identifier: BSD-3-Clause
// The rate of messages to a target that takes every one as it comes: what a network needs whose target must enter the
// library. Thread i of rank 0 sends a fixed number to thread i of rank 1, which answers once, after the last.
#pragma once

#include "control.hpp"
#include "payload.hpp"
#include "report.hpp"

namespace bench {

template <class Link>
class Flow {
 public:
  Flow(Link link, const Command& command, OnCorrupt on_corrupt)
      : link_(link), command_(command), on_corrupt_(std::move(on_corrupt)) {}

  ThreadReport lead() {
    payload::fill(link_.library.source(link_.channel), link_.size, seed(), 0);
    ThreadReport report;
    const auto start = Clock::now();
    for (uint64_t i = 0; i < command_.iterations; ++i) link_.post();
    link_.take();
    report.seconds = seconds_since(start);
    report.sent = report.iterations = command_.iterations;
    return report;
  }

  ThreadReport follow() {
    for (uint64_t i = 0; i < command_.iterations; ++i) link_.take();
    if (const auto wrong = payload::mismatch(link_.library.target(link_.channel), link_.size, seed())) {
      on_corrupt_("thread " + std::to_string(link_.channel) + ", after " +
                  std::to_string(command_.iterations) + " messages: " + *wrong);
    }
    link_.post();
    return {};
  }

 private:
  [[nodiscard]] uint64_t seed() const {
    return payload::seed(link_.channel, 0, command_.sequence << 20);
  }

  Link link_;
  const Command& command_;
  OnCorrupt on_corrupt_;
};

}  // namespace bench
