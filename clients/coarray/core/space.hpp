// SPDX-License-Identifier: BSD-3-Clause
// First-fit allocation of places, which are numbers: the same calls give the same places on every image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace caf {

class Space {
 public:
  static constexpr std::size_t kUnit = 64;  // places are multiples of it

  void add(uint64_t begin, std::size_t length) { free_[begin] = length; }
  // Takes back what add() gave, of which nothing is in use.
  void remove(uint64_t begin) { free_.erase(begin); }
  // A place of at least `bytes`, or 0.
  uint64_t take(std::size_t bytes);
  // False if nothing was taken there.
  bool give(uint64_t place);
  [[nodiscard]] std::size_t total() const { return total_; }  // in use
  [[nodiscard]] std::size_t largest() const;                  // bytes that take() can give at once
  [[nodiscard]] bool empty() const { return used_.empty(); }
  void clear() { *this = Space{}; }

 private:
  std::map<uint64_t, std::size_t> free_, used_;
  std::size_t total_ = 0;
};

}  // namespace caf
