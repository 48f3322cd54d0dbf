// SPDX-License-Identifier: BSD-3-Clause
// Breaks of connections on which only the other side sends: pools of different sizes bring them in [12]. An endpoint's
// failure() does not know of them, for its own posts are not concerned, but what was on the way here is lost.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "omnipgas/ompl.h"
#include "util/mutex.hpp"
#include "util/status.hpp"

namespace ompl::conduit {

// Any thread. Few, and mostly none.
class Losses {
 public:
  // So that so many need no memory, but for words that there may be none for.
  void make_room(std::size_t count) {
    const Lock lock(mutex_);
    if (all_.capacity() < count) all_.reserve(2 * count);
  }
  // There must be room.
  void add(uint32_t rank, int code, std::string_view why) noexcept {
    const Lock lock(mutex_);
    all_.push_back({rank, code, in_words([why] { return std::string(why); })});
    count_.store(all_.size(), std::memory_order_release);
  }
  // OMPL_OK, or the error of the first one.
  [[nodiscard]] int of(uint32_t rank) const {
    return count_.load(std::memory_order_acquire) == 0 ? OMPL_OK : first(rank).code;
  }
  [[nodiscard]] std::string why(uint32_t rank) const { return first(rank).why; }

 private:
  struct Loss {
    uint32_t rank = 0;
    int code = OMPL_OK;
    std::string why;
  };
  [[nodiscard]] Loss first(uint32_t rank) const {
    const Lock lock(mutex_);
    const auto found = std::ranges::find(all_, rank, &Loss::rank);
    return found != all_.end() ? *found : Loss{};
  }

  mutable Mutex mutex_;
  std::vector<Loss> all_ OMPL_GUARDED_BY(mutex_);
  std::atomic<std::size_t> count_{0};
};

}  // namespace ompl::conduit
