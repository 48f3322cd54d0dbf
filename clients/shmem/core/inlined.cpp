// SPDX-License-Identifier: BSD-3-Clause
#include "core/inlined.hpp"

#include <dlfcn.h>
#include <shmem.h>
#include <shmem_inline.h>

#include <algorithm>

#include "core/state.hpp"

namespace {

// No address is so far above it as any window.
constexpr uint64_t kNowhere = uint64_t{1} << 63;
constexpr struct shmem_impl_places kClosed = {kNowhere, 0, 0, 0, -1, 0, kNowhere};

}  // namespace

extern "C" {
struct shmem_impl_places shmem_impl_places = kClosed;
}

namespace shmem_core {
namespace {

// Whether a program's call of a function that is not inlined comes to this library's.
bool is_own(const Inlined& function) { return ::dlsym(RTLD_DEFAULT, function.name) == function.own; }

}  // namespace

void open_inlined() {
  const State& now = state();
  if (now.debug || !std::ranges::all_of(inlined_functions(), is_own)) return;
  const bool all_mapped = std::ranges::all_of(now.mapped, [](char mapped) { return mapped != 0; });
  struct shmem_impl_places places = kClosed;
  places.heap = now.base;
  if (all_mapped) places.reads = now.base;
  places.looping = all_mapped ? -1 : now.pe;
  places.memory_only = all_mapped ? 1 : 0;
  if (!now.regions.empty()) {
    const Region& executable = now.regions.front();
    places.data = executable.begin;
    places.data_length = executable.length;
    places.data_offset = executable.offset;
  }
  ::shmem_impl_places = places;
}

void close_inlined() { ::shmem_impl_places = kClosed; }

}  // namespace shmem_core
