// SPDX-License-Identifier: BSD-3-Clause
// The bandwidth of one receiver. p messages that use it at once go on at 1/p of their speed each, and p changes
// whenever one begins or ends (section 3.2: the effective bandwidth varies with the progress of the replay). A
// virtual time that passes at 1/p of real time tells when each ends, with O(log p) work for each change.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "model/clock.hpp"

namespace ompl::model {

template <class Clock>
class Port {
 public:
  // A message whose use would take `work` alone begins at `now`, not before any earlier change.
  void begin(uint32_t message, const Clock& now, const Clock& work) {
    advance(now);
    using_.push_back({virtual_ + work, message});
    std::ranges::push_heap(using_, Later{});
  }

  [[nodiscard]] bool idle() const { return using_.empty(); }

  // When the first ends, if no other begins before.
  [[nodiscard]] Clock next_end() const {
    Clock left = using_.front().finish - virtual_;
    return changed_ + left * static_cast<double>(using_.size());
  }

  // That message, which ends now.
  uint32_t end() {
    const Clock now = next_end();
    virtual_ = using_.front().finish;
    changed_ = now;
    const uint32_t message = using_.front().message;
    std::ranges::pop_heap(using_, Later{});
    using_.pop_back();
    if (using_.empty()) virtual_ = Clock{};  // small numbers are exact
    return message;
  }

  // Of the one pending `end` event that counts; infinity if there is none.
  double scheduled_ns = std::numeric_limits<double>::infinity();

 private:
  struct Use {
    Clock finish;  // in virtual time
    uint32_t message;
  };
  struct Later {
    bool operator()(const Use& a, const Use& b) const {
      return ns(a.finish) > ns(b.finish) || (ns(a.finish) == ns(b.finish) && a.message > b.message);
    }
  };

  void advance(const Clock& now) {
    if (!using_.empty()) {
      Clock passed = now - changed_;
      virtual_ += passed * (1.0 / static_cast<double>(using_.size()));
    }
    changed_ = now;
  }

  std::vector<Use> using_;  // heap, the first to end in front
  Clock virtual_{};
  Clock changed_{};  // when virtual_ was true
};

}  // namespace ompl::model
