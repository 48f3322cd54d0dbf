// SPDX-License-Identifier: BSD-3-Clause
#include "requests.hpp"

#include <algorithm>

#include "handles.hpp"
#include "memory.hpp"

namespace ompl::trace {

bool SharedSends::push(uint64_t handle, const Posted& posted) {
  if (entries_ == nullptr) entries_ = map_zeroed<Entry>(kCapacity);
  if (entries_ == nullptr || last_ - first_ == kCapacity) return false;
  if (first_ == last_) first_ = last_ = 0;  // the same lines of the cache again
  entries_[last_++ % kCapacity] = {handle, posted};
  return true;
}

bool SharedSends::take(Entry& entry, Posted& posted) {
  posted = entry.posted;
  entry.posted.id = 0;
  while (first_ != last_ && entries_[first_ % kCapacity].posted.id == 0) ++first_;
  return true;
}

bool SharedSends::take_from(uint64_t handle, const void* where, Posted& posted) {
  for (std::size_t i = first_; i != std::min(last_, first_ + kLookAhead); ++i) {
    Entry& entry = entries_[i % kCapacity];
    if (entry.posted.id != 0 && entry.handle == handle && entry.posted.where == where)
      return take(entry, posted);
  }
  return false;
}

bool SharedSends::take_oldest(uint64_t handle, Posted& posted) {
  for (std::size_t i = first_; i != last_; ++i) {
    Entry& entry = entries_[i % kCapacity];
    if (entry.posted.id != 0 && entry.handle == handle) return take(entry, posted);
  }
  return false;
}

bool Requests::create(bool at_once) {
  at_once_ = at_once;
  return (entries_ = map_zeroed<Entry>(kCapacity)) != nullptr;
}

Requests::Entry* Requests::find(uint64_t handle) const {
  for (std::size_t i = 0; i < kCapacity; ++i) {
    Entry& entry = entries_[(place_of(handle) + i) % kCapacity];
    const uint64_t here = entry.handle.load(std::memory_order_acquire);
    if (here == handle) return &entry;
    if (here == kNoHandle) break;
  }
  return nullptr;
}

bool Requests::add(uint64_t handle, const Posted& posted, SharedSends& own) {
  if (Entry* const same = find(handle)) {
    const std::atomic_ref flags(same->posted.flags);
    if ((flags.load() & Posted::kShared) == 0) flags.fetch_or(Posted::kShared);
    return own.push(handle, posted);
  }
  constexpr uint64_t kBeingWritten = 2;
  for (std::size_t i = 0; i < kCapacity; ++i) {
    Entry& entry = entries_[(place_of(handle) + i) % kCapacity];
    uint64_t here = entry.handle.load(std::memory_order_relaxed);
    if (here > kErasedHandle) continue;
    if (at_once_ &&
        !entry.handle.compare_exchange_strong(here, kBeingWritten, std::memory_order_acquire))
      continue;
    entry.posted = posted;
    entry.handle.store(handle, std::memory_order_release);
    return true;
  }
  return false;
}

bool Requests::take(uint64_t handle, const void* where, SharedSends& own, Posted& posted) {
  Entry* const entry = find(handle);
  if (entry == nullptr) return false;
  const uint16_t flags = std::atomic_ref(entry->posted.flags).load();
  if ((flags & Posted::kPersistent) != 0) {
    posted = entry->posted;
    std::atomic_ref(entry->posted.flags).fetch_and(static_cast<uint16_t>(~Posted::kStarted));
    return (flags & Posted::kStarted) != 0;
  }
  return remove(*entry, where, own, posted);
}

bool Requests::remove(uint64_t handle, const void* where, SharedSends& own, Posted& posted) {
  Entry* const entry = find(handle);
  return entry != nullptr && remove(*entry, where, own, posted);
}

bool Requests::remove(Entry& entry, const void* where, SharedSends& own, Posted& posted) const {
  if ((std::atomic_ref(entry.posted.flags).load() & Posted::kShared) == 0) {
    posted = entry.posted;
    entry.handle.store(kErasedHandle, std::memory_order_release);
    return true;
  }
  const uint64_t handle = entry.handle.load(std::memory_order_relaxed);
  // The first send with this handle has its place here; the entry stays to say that the handle is shared.
  const std::atomic_ref id(entry.posted.id);
  const bool here = id.load() != 0;
  if (!here || entry.posted.where != where) {
    if (own.take_from(handle, where, posted)) return true;
    const bool older = here && entry.posted.thread == &own;
    if (!older && own.take_oldest(handle, posted)) return true;
  }
  posted = entry.posted;
  if (at_once_) {
    posted.id = id.exchange(0);
  } else {
    id.store(0, std::memory_order_relaxed);
  }
  return posted.id != 0;
}

uint32_t Requests::mark(uint64_t handle, uint16_t flags) {
  Entry* const entry = find(handle);
  if (entry == nullptr) return 0;
  std::atomic_ref(entry->posted.flags).fetch_or(flags);
  return entry->posted.id;
}

}  // namespace ompl::trace
