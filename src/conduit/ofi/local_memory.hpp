// SPDX-License-Identifier: BSD-3-Clause
// Local memory for providers that want every buffer of a request registered (FI_MR_LOCAL): the segment is;
// small data go through bounce slots; what the program registered is registered here on first use; all else
// is registered for its operation.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "conduit/ofi/links.hpp"
#include "conduit/ofi/resources.hpp"

namespace ompl::conduit::ofi {

// What ompl_register() was told. Written by one thread at a time; endpoints read it without a lock.
class RegisteredRanges {
 public:
  static constexpr std::size_t kCount = 64;  // beyond it memory is registered for each operation

  void add(const void* address, std::size_t length);
  void remove(const void* address);
  // The region that [address, + length) lies in: its place, bounds and generation; kCount if none.
  struct Found {
    std::size_t place = kCount;
    uintptr_t begin = 0;
    std::size_t length = 0;
    uint64_t generation = 0;
  };
  [[nodiscard]] Found find(const void* address, std::size_t length) const;
  // Changes with every remove().
  [[nodiscard]] uint64_t removals() const { return removals_.load(std::memory_order_acquire); }
  [[nodiscard]] bool has(std::size_t place, uint64_t generation) const {
    return regions_[place].generation.load(std::memory_order_acquire) == generation;
  }

 private:
  struct Region {
    std::atomic<uintptr_t> begin{0};
    std::atomic<std::size_t> length{0};
    std::atomic<uint64_t> generation{0};  // 0: free
  };
  std::array<Region, kCount> regions_;
  uint64_t generations_ = 0;
  std::atomic<uint64_t> removals_{0};
};

class LocalMemory {
 public:
  LocalMemory(const ProviderChoice& choice, const Job& job, const RegisteredRanges& regions,
              Resources& resources)
      : choice_(choice), job_(job), regions_(regions), resources_(resources) {}

  // Registers the endpoint's bounce slots, and its receive buffers, if need be. libfabric's code.
  int open_bounce(void* memory, std::size_t length);
  int open_receives(void* memory, std::size_t length);

  // The descriptors that requests with these buffers name; null where none is wanted.
  [[nodiscard]] void* bounce() const { return describe(slots_); }
  [[nodiscard]] void* receives() const { return describe(receives_); }
  // For any memory that is to be read into (FI_READ) or written from (FI_WRITE): `operation` keeps what had to be
  // registered for it. False if it could not be.
  bool find(const void* address, std::size_t length, uint64_t access, FabricOperation* operation,
            void** descriptor);

 private:
  struct Cached {
    uint64_t generation = 0;
    Fid<fid_mr> registration;
  };
  static void* describe(const Fid<fid_mr>& registration) {
    return registration ? fi_mr_desc(registration.get()) : nullptr;
  }
  void forget_removed();

  const ProviderChoice& choice_;
  const Job& job_;
  const RegisteredRanges& regions_;
  Resources& resources_;
  Fid<fid_mr> slots_;
  Fid<fid_mr> receives_;
  std::array<Cached, RegisteredRanges::kCount> cached_;
  uint64_t removals_ = 0;
};

}  // namespace ompl::conduit::ofi
