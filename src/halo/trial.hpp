// SPDX-License-Identifier: BSD-3-Clause
// Which of several ways of exchanging is the fastest: each carries some exchanges in turn, several times over, and what
// counts is the time from start to start, with all that the program does between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ompl::halo {

class Trial {
 public:
  explicit Trial(std::size_t candidates) : times_(candidates) {}

  // Whether all have had their turns; then next() is not called any more.
  [[nodiscard]] bool over() const { return exchanges_ == times_.size() * kRounds * kRun; }
  // An exchange starts now. Who carries it.
  std::size_t next(int64_t now_ns);
  // The one after the last starts now. Nanoseconds per exchange of each, the median.
  std::vector<uint64_t> end(int64_t now_ns);

 private:
  static constexpr std::size_t kRounds = 3;
  static constexpr std::size_t kRun = 4;  // exchanges; the first is not counted

  [[nodiscard]] std::size_t carrier_of(std::size_t exchange) const {
    return exchange / kRun % times_.size();
  }
  void note(int64_t now_ns);

  std::vector<std::vector<int64_t>> times_;  // by candidate
  std::size_t exchanges_ = 0;                // started
  int64_t last_ = 0;                         // when
};

}  // namespace ompl::halo
