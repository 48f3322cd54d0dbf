// SPDX-License-Identifier: BSD-3-Clause
// The requests that are under way: from MPI's handle to what was posted. Without locks, whether one thread at a time posts
// and completes or several at once.
#pragma once

#include <atomic>
#include <cstdint>

#include "format.hpp"

namespace ompl::trace {

// What is remembered of a request.
struct Posted {
  static constexpr uint16_t kSendsToo =
      1 << 10;  // beside the record's flags; Isendrecv, whose status MPICH fills wrongly
  static constexpr uint16_t kStarted = 1 << 11;  // a persistent one that is under way
  static constexpr uint16_t kReceives = 1 << 12;
  static constexpr uint16_t kPersistent = 1 << 13;
  static constexpr uint16_t kToCancel = 1 << 14;
  static constexpr uint16_t kShared =
      1 << 15;  // a handle that MPI gives to many sends which it has ended at once

  uint64_t bytes;
  const void* where;   // the program's variable
  const void* thread;  // that posted it: its SharedSends
  uint32_t id;
  int32_t peer;
  int32_t tag;
  uint16_t flags;
};

// Sends of one thread whose handles are shared. The program's variable tells them apart if it has not moved.
class SharedSends {
 public:
  bool push(uint64_t handle, const Posted& posted);
  // One that was posted from this variable, or the oldest.
  bool take_from(uint64_t handle, const void* where, Posted& posted);
  bool take_oldest(uint64_t handle, Posted& posted);

 private:
  struct Entry {
    uint64_t handle;
    Posted posted;  // id 0: taken
  };

  static constexpr std::size_t kCapacity = std::size_t{1} << 20;
  static constexpr std::size_t kLookAhead = 64;

  bool take(Entry& entry, Posted& posted);

  Entry* entries_;
  std::size_t first_;
  std::size_t last_;
};

class Requests {
 public:
  // `at_once`: whether several threads may call the library at once.
  bool create(bool at_once);

  // False if there is no room for more.
  bool add(uint64_t handle, const Posted& posted, SharedSends& own);

  // Takes a request out that is complete, or surely will be; a persistent one stays. False if it is not known, or
  // persistent and not under way.
  bool take(uint64_t handle, const void* where, SharedSends& own, Posted& posted);

  // Forgets a request. False if it is not known.
  bool remove(uint64_t handle, const void* where, SharedSends& own, Posted& posted);

  // Notes flags at a request that stays; its id, or 0.
  uint32_t mark(uint64_t handle, uint16_t flags);

 private:
  struct Entry {
    std::atomic<uint64_t> handle;
    Posted posted;
  };

  static constexpr std::size_t kCapacity = std::size_t{1} << 20;

  Entry* find(uint64_t handle) const;
  bool remove(Entry& entry, const void* where, SharedSends& own, Posted& posted) const;

  Entry* entries_ = nullptr;
  bool at_once_ = true;
};

}  // namespace ompl::trace
