// SPDX-License-Identifier: BSD-3-Clause
#include "core/space.hpp"

#include <algorithm>
#include <iterator>

namespace caf {

uint64_t Space::take(std::size_t bytes) {
  if (bytes > SIZE_MAX - kUnit) return 0;
  const std::size_t length = std::max(bytes + kUnit - 1, kUnit) / kUnit * kUnit;
  const auto found =
      std::ranges::find_if(free_, [&](const auto& range) { return range.second >= length; });
  if (found == free_.end()) return 0;
  const auto [begin, room] = *found;
  free_.erase(found);
  if (room > length) free_[begin + length] = room - length;
  used_[begin] = length;
  total_ += length;
  return begin;
}

bool Space::give(uint64_t place) {
  const auto found = used_.find(place);
  if (found == used_.end()) return false;
  std::size_t length = found->second;
  total_ -= length;
  used_.erase(found);
  auto next = free_.lower_bound(place);
  if (next != free_.end() && place + length == next->first) {
    length += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == place) {
      before->second += length;
      return true;
    }
  }
  free_[place] = length;
  return true;
}

std::size_t Space::largest() const {
  std::size_t most = 0;
  for (const auto& [begin, length] : free_) most = std::max(most, length / kUnit * kUnit);
  return most;
}

}  // namespace caf
