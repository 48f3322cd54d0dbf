// SPDX-License-Identifier: BSD-3-Clause
// A table by rank of which only the used parts take memory: what is not there costs 8 bytes for each 64 ranks.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace ompl {

// Entries are made by any thread, two perhaps at once, of which one wins; they stay until the table ends.
template <class Entry>
class PeerTable {
 public:
  explicit PeerTable(uint32_t ranks)
      : count_((ranks + kGroup - 1) / kGroup),
        groups_(std::make_unique<std::atomic<Group*>[]>(count_)) {}
  ~PeerTable() {
    for (uint32_t i = 0; i < count_; ++i) {
      const std::unique_ptr<Group> group(groups_[i].load());
      if (group == nullptr) continue;
      for (std::atomic<Entry*>& entry : *group) delete entry.load();
    }
  }
  PeerTable(const PeerTable&) = delete;
  PeerTable& operator=(const PeerTable&) = delete;

  // Null: nothing was ever made there. Any thread.
  [[nodiscard]] Entry* find(uint32_t rank) const {
    Group* const group = groups_[rank / kGroup].load(std::memory_order_acquire);
    return group != nullptr ? (*group)[rank % kGroup].load(std::memory_order_acquire) : nullptr;
  }
  // Made by `make() -> std::unique_ptr<Entry>` if it is not there. Any thread.
  template <class Make>
  Entry& at(uint32_t rank, Make make) {
    Group& group = keep(groups_[rank / kGroup], [] { return std::make_unique<Group>(); });
    return keep(group[rank % kGroup], make);
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
