// SPDX-License-Identifier: BSD-3-Clause
// Where all ranks of a library without a start-up of its own meet, in jobs of any size: each with rank 0.
#pragma once

#include <cstring>
#include <list>

#include "adapter.hpp"
#include "meeting.hpp"

namespace bench {

inline int launched_ranks() { return launched("PMI_SIZE"); }

// Waits and throws as Meeting does. Every call is collective.
class Gathering {
 public:
  // Beside the socket of the driver; of so many ranks as the launcher started, unless told.
  explicit Gathering(const Setup& setup, int ranks = launched_ranks())
      : rank_(launched_rank()), ranks_(ranks) {
    for (int other = 1; other < ranks; ++other)
      if (rank_ == 0 || rank_ == other)
        meetings_.emplace_back(setup.control + ".meet." + std::to_string(other), rank_);
  }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }

  // What each rank gave, by rank; the lengths may differ.
  [[nodiscard]] std::vector<std::vector<char>> all(const void* bytes, std::size_t size) const {
    const auto* first = static_cast<const char*>(bytes);
    std::vector<std::vector<char>> given;
    if (rank_ == 0) given.emplace_back(first, first + size);
    for (const Meeting& meeting : meetings_) {
      std::vector<char> theirs = meeting.exchange(bytes, size);
      if (rank_ == 0) given.push_back(std::move(theirs));
    }
    if (rank_ == 0) {
      for (const auto& one : given) {
        for (const Meeting& meeting : meetings_) (void)meeting.exchange(one.data(), one.size());
      }
    } else {
      for (int other = 0; other < ranks_; ++other)
        given.push_back(meetings_.front().exchange(nullptr, 0));
    }
    return given;
  }
  template <class T>
  [[nodiscard]] std::vector<T> all(const T& mine) const {
    std::vector<T> values;
    for (const auto& bytes : all(&mine, sizeof mine))
      std::memcpy(&values.emplace_back(), bytes.data(), sizeof mine);
    return values;
  }

 private:
  int rank_, ranks_;
  std::list<Meeting> meetings_;
};

}  // namespace bench
