// SPDX-License-Identifier: BSD-3-Clause
// The one job of the process, and where its symmetric memory lies: the segment (heap), and the static data of the
// executable, which is part of the segment too but which the program knows by other addresses.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "core/core.hpp"

namespace shmem_core {

struct Context;

// Nonblocking atomics under way whose results are awaited; of a context.
struct Results {
  std::mutex mutex;
  std::vector<ompl_handle> handles;
};

struct Team {
  ompl_team* team = nullptr;
  int me = 0;
  std::vector<uint32_t> members;  // ranks of the job
  shmem_team_config_t config{};
  std::vector<Context*> contexts;  // those that end with the team
  std::mutex mutex;                // of `contexts`

  [[nodiscard]] int size() const { return static_cast<int>(members.size()); }
};

struct Context {
  ompl_ctx* own;  // null: any thread uses it at any time, each by its implicit context
  Team* team;
  long options;
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
  std::vector<Region> regions;
  Team* world = nullptr;
  Team* shared = nullptr;
  bool debug = false;
  Results results;  // of the default context
};

// Written by init() and by collective functions.
State& state();

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

// Refuses an address that is not symmetric.
int not_symmetric(const volatile void* address);

// The own memory at an offset, as the segment has it.
inline void* own_memory(uint64_t offset) {
  return reinterpret_cast<void*>(state().base + offset);  // NOLINT(performance-no-int-to-ptr)
}

inline uint64_t local(const volatile void* address) { return reinterpret_cast<uintptr_t>(address); }

// Where an operation goes.
struct Target {
  ompl_ctx* ctx;
  uint32_t rank;
};
Target target_of_context(shmem_ctx_t ctx, int pe);
inline Target target(shmem_ctx_t ctx, int pe) {
  if (ctx == SHMEM_CTX_DEFAULT) [[likely]]
    return {OMPL_CTX_DEFAULT, static_cast<uint32_t>(pe)};
  return target_of_context(ctx, pe);
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
