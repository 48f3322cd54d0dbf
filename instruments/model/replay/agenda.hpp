// SPDX-License-Identifier: BSD-3-Clause
// Which receiver is looked at next, and how far. Whatever an event at one receiver causes at another comes at least an
// overhead later, so within a window a little shorter than that the receivers do not depend on each other: no heap of
// all events is needed, only for each window a list of the receivers where something happens.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <queue>
#include <vector>

namespace ompl::model {

class Agenda {
 public:
  // `lookahead_ns` 0: there is no such least overhead, and the receivers are taken in the order of time.
  Agenda(uint32_t receivers, double lookahead_ns)
      : per_ns_(lookahead_ns > 0 ? 1 / (kMargin * lookahead_ns) : 0), due_(receivers, kNever) {
    if (per_ns_ > 0) windows_.resize(kWindows);
  }

  // Something will happen at this receiver at this time, not before the present window.
  void at(uint32_t receiver, double ns) {
    if (per_ns_ == 0) {
      moments_.push({ns, receiver});
      return;
    }
    const uint64_t window = std::max(now_, window_of(ns));
    if (window >= due_[receiver]) return;
    due_[receiver] = window;
    insert({window, receiver});
  }

  // Windows are numbered.
  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
  [[nodiscard]] uint64_t window_of(double ns) const {
    return static_cast<uint64_t>(std::min(ns * per_ns_, kMostWindows));
  }
  // The first in which something may happen; kNever: none.
  [[nodiscard]] uint64_t earliest() const {
    if (per_ns_ == 0) return moments_.empty() ? kNever : 0;
    return std::min(next_occupied(), far_.empty() ? kNever : far_.top().first);
  }

  // The next receiver in a window up to `last`, and until when (that time included) its events may be taken; false if
  // nothing will happen there. The caller then tells at() what is left at the receiver.
  bool next(uint32_t& receiver, double& until_ns, uint64_t last) {
    if (per_ns_ == 0) {
      if (moments_.empty()) return false;
      until_ns = moments_.top().first;
      receiver = moments_.top().second;
      moments_.pop();
      return true;
    }
    while (true) {
      std::vector<uint32_t>& window = windows_[now_ % kWindows];
      while (!window.empty()) {
        receiver = window.back();
        window.pop_back();
        if (due_[receiver] != now_) continue;  // something came before, and the rest was told again
        due_[receiver] = kNever;
        until_ns = static_cast<double>(now_ + 1) / per_ns_;
        return true;
      }
      occupied_[now_ % kWindows / 64] &= ~(uint64_t{1} << now_ % 64);
      if (!advance(last)) return false;
    }
  }

 private:
  static constexpr double kMargin = 0.99;  // so that rounding does no harm
  static constexpr double kMostWindows = 1e18;
  static constexpr uint64_t kWindows = 4096;
  using Entry = std::pair<uint64_t, uint32_t>;
  template <class Item>
  using Earliest = std::priority_queue<Item, std::vector<Item>, std::greater<>>;

  void insert(const Entry& entry) {
    const auto [window, receiver] = entry;
    if (window - now_ >= kWindows) {
      far_.push(entry);
      return;
    }
    windows_[window % kWindows].push_back(receiver);
    occupied_[window % kWindows / 64] |= uint64_t{1} << window % 64;
  }

  // To the next window that holds something, unless it is behind the last.
  bool advance(uint64_t last) {
    const uint64_t next = earliest();
    if (next == kNever || next > last) return false;
    now_ = next;
    while (!far_.empty() && far_.top().first - now_ < kWindows) {
      const Entry entry = far_.top();
      far_.pop();
      if (due_[entry.second] == entry.first) insert(entry);
    }
    return true;
  }

  [[nodiscard]] uint64_t next_occupied() const {
    const uint64_t start = now_ % kWindows;
    for (uint64_t i = 0; i <= kWindows / 64; ++i) {
      uint64_t word = occupied_[(start / 64 + i) % (kWindows / 64)];
      const uint64_t below = (uint64_t{1} << start % 64) - 1;
      if (i == 0) word &= ~below;
      if (i == kWindows / 64) word &= below;
      if (word == 0) continue;
      const uint64_t found = (start / 64 + i) * 64 + static_cast<uint64_t>(std::countr_zero(word));
      return now_ + (found - start);
    }
    return kNever;
  }

  double per_ns_;              // windows
  uint64_t now_ = 0;           // the present window
  std::vector<uint64_t> due_;  // the first window in which something happens at a receiver
  std::vector<std::vector<uint32_t>> windows_;  // the next kWindows, in a ring
  std::array<uint64_t, kWindows / 64> occupied_{};
  Earliest<Entry> far_;                            // behind them
  Earliest<std::pair<double, uint32_t>> moments_;  // without windows
};

}  // namespace ompl::model
