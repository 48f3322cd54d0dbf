// SPDX-License-Identifier: BSD-3-Clause
// A table by number, of a rank say, of which only the used parts take memory: what is not there costs 8 bytes for each 64.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace ompl {

// Entries are made by any thread, two perhaps at once, of which one wins; they stay until the table ends.
template <class Entry>
class SparseTable {
 public:
  explicit SparseTable(uint32_t size)
      : count_((size + kGroup - 1) / kGroup),
        groups_(std::make_unique<std::atomic<Group*>[]>(count_)) {}
  ~SparseTable() {
    for (uint32_t i = 0; i < count_; ++i) {
      const std::unique_ptr<Group> group(groups_[i].load());
      if (group == nullptr) continue;
      for (std::atomic<Entry*>& entry : *group) delete entry.load();
    }
  }
  SparseTable(const SparseTable&) = delete;
  SparseTable& operator=(const SparseTable&) = delete;

  // Null: nothing was ever made there. Any thread.
  [[nodiscard]] Entry* find(uint32_t number) const {
    Group* const group = groups_[number / kGroup].load(std::memory_order_acquire);
    return group != nullptr ? (*group)[number % kGroup].load(std::memory_order_acquire) : nullptr;
  }
  // Made by `make() -> std::unique_ptr<Entry>` if it is not there. Any thread.
  template <class Make>
  Entry& at(uint32_t number, Make make) {
    Group& group = keep(groups_[number / kGroup], [] { return std::make_unique<Group>(); });
    return keep(group[number % kGroup], make);
  }

 private:
  static constexpr uint32_t kGroup = 64;
  using Group = std::array<std::atomic<Entry*>, kGroup>;

  template <class T, class Make>
  static T& keep(std::atomic<T*>& place, Make make) {
    T* existing = place.load(std::memory_order_acquire);
    if (existing != nullptr) return *existing;
    auto made = make();
    if (place.compare_exchange_strong(existing, made.get(), std::memory_order_acq_rel))
      return *made.release();
    return *existing;
  }

  const uint32_t count_;
  std::unique_ptr<std::atomic<Group*>[]> groups_;
};

}  // namespace ompl
