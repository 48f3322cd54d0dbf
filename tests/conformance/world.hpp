// SPDX-License-Identifier: BSD-3-Clause
//
// What the conformance tests are written against: a World of ranks, each of which runs the same body. The
// tests know nothing of how the ranks are made (thread_world.hpp: threads of this process).
//
// A body shares no C++ object with another rank: ranks talk through the layer only, so that the same bodies
// could run in processes. Threads of one rank may share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <vector>

#include "omnipgas/ompl_ext.h"
#include "rounds.hpp"

namespace ompl::conformance {

// Which thread of which rank.
struct Place {
  uint32_t rank, size;
  unsigned thread, threads;
};

// One thread of one rank, with a context of its own: ompl.h as member functions, and ctx() for the functions
// of ompl_ext.h. Those that take no context act on the implicit one of the thread, which is this rank's.
class Rank : public Place {
 public:
  explicit Rank(const Place& place, ompl_ctx* ctx = OMPL_CTX_DEFAULT) : Place(place), ctx_(ctx) {}
  ~Rank();  // an explicit context is destroyed, and so completed
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  [[nodiscard]] ompl_ctx* ctx() const { return ctx_; }
  // The same rank and thread with an explicit context.
  [[nodiscard]] std::unique_ptr<Rank> context() const;

  int put(const void* source, uint32_t target, uint64_t offset, std::size_t length,
          int64_t timeout_ns = OMPL_FOREVER);
  int get(void* into, uint32_t target, uint64_t offset, std::size_t length,
          int64_t timeout_ns = OMPL_FOREVER);
  int signal(uint32_t target, uint64_t flag, int64_t timeout_ns = OMPL_FOREVER);
  int put_signal(const void* source, uint32_t target, uint64_t offset, std::size_t length,
                 uint64_t flag, int64_t timeout_ns = OMPL_FOREVER);
  int wait(uint64_t flag, int64_t timeout_ns = OMPL_FOREVER);
  int poll(uint64_t flag) { return ompl_poll(flag); }
  int flush(int64_t timeout_ns = OMPL_FOREVER);
  int quiet(int64_t timeout_ns = OMPL_FOREVER);
  int barrier(int64_t timeout_ns = OMPL_FOREVER);
  int alloc(std::size_t bytes, uint64_t* offset) { return ompl_alloc(bytes, offset); }
  int free(uint64_t offset) { return ompl_free(offset); }
  void* pointer(uint32_t target, uint64_t offset) { return ompl_ptr(target, offset); }
  void set_yield(ompl_yield_fn hook, void* argument) { ompl_set_yield(hook, argument); }
  int failure_ack() { return ompl_failure_ack(); }

  // Threads of this rank that sleep in a wait now.
  [[nodiscard]] uint32_t sleepers() const;

  // Helpers made of the above.
  [[nodiscard]] uint32_t right(uint32_t distance = 1) const { return (rank + distance) % size; }
  [[nodiscard]] uint32_t left(uint32_t distance = 1) const {
    return (rank + size - distance % size) % size;
  }
  // An allocation that must succeed.
  uint64_t allocate(std::size_t size);
  std::byte* own(uint64_t offset) { return static_cast<std::byte*>(pointer(rank, offset)); }
  // The count that stands on an own flag; no progress, nothing taken.
  uint32_t count(uint64_t flag);
  // Takes what there is on an own flag until none comes for now; the number taken.
  uint32_t drain(uint64_t flag);

 private:
  ompl_ctx* const ctx_;
};

// Local memory as the API takes it.
inline uint64_t address(const void* memory) { return reinterpret_cast<uintptr_t>(memory); }

using Body = std::function<void(Rank&)>;

// The job that a test wants.
struct Shape {
  uint32_t ranks = 2;
  unsigned endpoints = 0;       // 0: the layer's choice
  unsigned credits = 0;         // likewise
  bool statistics = false;      // contexts count
  bool checks = false;          // collectives: OMPL_COLL_CHECK
  bool tunes = false;           // collectives: OMPL_TUNER, and no table
  bool modes = false;           // with that: OMPL_COLL_PROGRESS=auto
  bool served = false;          // OMPL_PROGRESS=thread
  std::size_t call_memory = 0;  // OMPL_CALL_MEMORY; 0: the default
  const char* pack = "auto";    // OMPL_PACK
  bool ends_well =
      true;  // false: ranks die, so there is no barrier at the end of run(), and no finalize
};

class World {
 public:
  virtual ~World() = default;  // finalizes every rank
  // Runs the body in `threads` threads of every rank. Every rank's first thread goes on driving progress until all
  // bodies have returned. A run that takes too long dumps the state of all ranks and aborts.
  virtual void run(const Body& body, unsigned threads = 1) = 0;
  // An allocation of every rank, at the same offset.
  uint64_t allocate(std::size_t size);
};

// Bytes that tell of where and when they were written.
std::vector<std::byte> pattern(std::size_t length, uint64_t seed);
// The first place where the memory differs from the pattern, or `length`.
std::size_t mismatch(const void* memory, std::size_t length, uint64_t seed);

// The call succeeded; if not, the failure says what the layer says.
void ok(int code, std::source_location where = std::source_location::current());

}  // namespace ompl::conformance
