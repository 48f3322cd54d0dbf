// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace ompl::model::otf2 {

// Numbers things from 0 in the order in which they come.
template <class Key>
class Numbers {
 public:
  uint32_t of(const Key& key) {
    const auto [at, is_new] = numbers_.emplace(key, static_cast<uint32_t>(numbers_.size()));
    if (is_new) order_.push_back(&at->first);
    return at->second;
  }
  [[nodiscard]] const std::vector<const Key*>& all() const { return order_; }

 private:
  std::map<Key, uint32_t> numbers_;
  std::vector<const Key*> order_;
};

}  // namespace ompl::model::otf2
