// SPDX-License-Identifier: BSD-3-Clause
// The one job of the process, and where its symmetric memory lies: the segment (heap), and the static data of the
// executable, which is part of the segment too but which the program knows by other addresses.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/core.hpp"

namespace shmem_core {

struct Context;

constexpr std::size_t kMostResults =
    256;  // awaited by a context: the layer has room for so many replies

// Nonblocking atomics under way whose results are awaited; of a context.
struct Results {
  std::mutex mutex;
  std::vector<ompl_handle> handles;
};

struct Team {
  ompl_team* team = nullptr;
  uint64_t id = 0;  // the same at all members; of the teams of one PE no two have the same
  int me = 0;
  std::vector<uint32_t> members;  // ranks of the job
  shmem_team_config_t config{};
  std::vector<Context*> contexts;  // those that end with the team
  std::mutex mutex;                // of `contexts`

  [[nodiscard]] int size() const { return static_cast<int>(members.size()); }
};

// A part of a context that threads share: some of the threads use it, one at a time.
struct Part {
  std::mutex mutex;
  std::atomic<ompl_ctx*> own{nullptr};  // made when it is first used
};
constexpr std::size_t kParts = 8;

// Contexts are never freed but used again, so that a handle of a destroyed one is recognised: its low bits count the uses.
struct alignas(64) Context {
  ompl_ctx* own = nullptr;                          // null: threads share it
  std::unique_ptr<std::array<Part, kParts>> parts;  // if threads share it
  std::atomic<bool> everywhere{
      false};  // a part could not be made: its threads' implicit contexts are used
  Team* team = nullptr;
  long options = 0;
  std::atomic<unsigned> use{0};  // even: it is destroyed
  Results results{};
};

// Static data that was adopted.
struct Region {
  uintptr_t begin;
  std::size_t length;
  uint64_t offset;
};

struct State {
  int pe = -1;
  int pes = -1;
  int thread_level = SHMEM_THREAD_SINGLE;
  uintptr_t base = 0;             // where offset 0 of the own segment is mapped
  std::atomic<uint64_t> span{0};  // offsets below it may be of the heap
  uint64_t words = 0;             // offset of those of SetTurn
  std::vector<Region> regions;
  std::vector<char> mapped;  // by rank: its memory is mapped here
  Team* world = nullptr;
  Team* shared = nullptr;
  bool debug = false;
  Results results;  // of the default context
};

// Written by init() and by collective functions. Never destroyed: threads may outlive static objects.
extern State& only_state;
inline State& state() { return only_state; }

// The offset of a symmetric address, or 0. The layer checks whether anything is allocated there.
inline uint64_t offset_of(const volatile void* address) {
  const State& now = state();
  const auto place = reinterpret_cast<uintptr_t>(address);
  if (const uint64_t inside = place - now.base; inside < now.span.load(std::memory_order_relaxed))
    return inside;
  for (const Region& region : now.regions) {
    if (const uintptr_t inside = place - region.begin; inside < region.length)
      return region.offset + inside;
  }
  return 0;
}

// The same, and with SHMEM_DEBUG 0 if not all of `length` bytes are of one block.
uint64_t checked_offset(uint64_t offset, std::size_t length);
inline uint64_t offset_of(const volatile void* address, std::size_t length) {
  const uint64_t offset = offset_of(address);
  if (state().debug) [[unlikely]]
    return checked_offset(offset, length);
  return offset;
}

// Refuses an address for which one of the two is 0, and says why.
int not_symmetric(const volatile void* address, std::size_t length = 1);

// The own memory at an offset, as the segment has it.
inline void* own_memory(uint64_t offset) {
  return reinterpret_cast<void*>(state().base + offset);  // NOLINT(performance-no-int-to-ptr)
}

inline uint64_t local(const volatile void* address) { return reinterpret_cast<uintptr_t>(address); }

// Where an operation goes. If threads share the context, it belongs to this one until the target is gone.
struct Target {
  Target(ompl_ctx* by, uint32_t to, std::mutex* mutex = nullptr) : ctx(by), rank(to), held(mutex) {}
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  ~Target() {
    if (held != nullptr) [[unlikely]]
      held->unlock();
  }

  ompl_ctx* const ctx;
  const uint32_t rank;
  std::mutex* const held;
};
// `direct`: what a thread's implicit context does to mapped memory is done when the call returns, so that it needs no context
// of its own; a fence or a quiet of the context orders it by a fence of the processor.
Target target_of_context(shmem_ctx_t ctx, int pe, bool direct);
inline Target target(shmem_ctx_t ctx, int pe, bool direct = false) {
  if (ctx == SHMEM_CTX_DEFAULT) [[likely]]
    return {OMPL_CTX_DEFAULT, static_cast<uint32_t>(pe)};
  return target_of_context(ctx, pe, direct);
}

inline uint32_t own_rank() { return static_cast<uint32_t>(state().pe); }

// Posts until there is room.
template <class Post>
int until_accepted(ompl_ctx* ctx, Post try_once) {
  for (;;) {
    const int code = try_once();
    if (code < OMPL_RETRY_FULL || code > OMPL_RETRY_BUSY) return code;
    if (const int progress = ompl_progress(ctx, 0); progress < 0) return progress;
  }
}

// For what a program may call in a loop until another PE has done something, and which touches the own memory alone: without
// it the loop would keep the communication of the PE from going on, over networks without progress of their own.
inline void progress_in_loops() {
  thread_local unsigned calls = 0;
  if (++calls % 32 == 0) [[unlikely]]
    ompl_progress(OMPL_CTX_DEFAULT, 0);
}

// The team of a handle, or null.
inline Team* team_of(shmem_team_t handle) {
  if (handle == SHMEM_TEAM_WORLD) return state().world;
  if (handle == SHMEM_TEAM_SHARED) return state().shared;
  return reinterpret_cast<Team*>(handle);
}

// --- Between the parts
int make_predefined_teams();                         // teams.cpp; collective
bool team_is_known(const Team* team);                // whether the handle is one of a team that lives
int end_teams();                                     // all that the program made; collective
int team_of_set(const ActiveSet& set, Team** team);  // made when it is first used
void end_contexts_of(Team* team);                    // contexts.cpp
Results& results_of(shmem_ctx_t ctx);                // contexts.cpp
int await_results(Results& results);                 // atomics.cpp: until all have come
int make_operations();                               // collectives.cpp: of long double
int adopt_static_data();                             // static_data.cpp; collective
std::size_t static_data_length();
int end_heap();  // memory.cpp; collective
void set_heap_limit(std::size_t bytes);
std::string failure_text(int code);  // errors.cpp

}  // namespace shmem_core
