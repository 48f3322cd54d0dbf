// SPDX-License-Identifier: BSD-3-Clause
// sync all, sync images, sync memory. For sync images each image has a counter for every other, which that one raises.
#include <algorithm>

#include "core/state.hpp"

namespace caf {
namespace {

int partners(const int* images, std::size_t count, std::vector<uint32_t>* ranks) {
  const State& now = state();
  if (images == nullptr) {
    for (const uint32_t rank : now.current->members) {
      if (rank != now.me) ranks->push_back(rank);
    }
    return kOk;
  }
  std::vector<int> sorted(images, images + count);
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    return refuse(kDuplicate, "image %d stands twice in the list of images", *twice);
  for (const int image : sorted) {
    uint32_t rank = 0;
    if (const int code = rank_of_image(image, &rank); code != kOk) return code;
    if (rank != now.me) ranks->push_back(rank);
  }
  return kOk;
}

int state_of(uint32_t rank) {
  const State& now = state();
  const uint32_t image = now.current->index.at(rank) + 1;
  if (now.stopped[rank]) return refuse(kStopped, "image %u has stopped", image);
  if (now.failed[rank]) return refuse(kFailed, "image %u has failed", image);
  return kOk;
}

// A stop is worse than a failure, and that worse than nothing.
void keep_worst(int code, int* stat) {
  if (*stat == kOk || (code == kStopped && *stat == kFailed)) *stat = code;
}

}  // namespace

int sync_all() { return sync_team(state().current); }

int sync_memory() { return complete(); }

int sync_images(const int* images, std::size_t count) {
  State& now = state();
  std::vector<uint32_t> ranks;
  if (const int code = partners(images, count, &ranks); code != kOk) return code;
  int stat = complete();
  learn();
  for (const uint32_t rank : ranks) {
    const ompl_signal signal{now.counters_at[rank] - now.peers[rank].base + sizeof(uint32_t) * now.me,
                             1, OMPL_ADD32};
    ompl_ctx_signal(OMPL_CTX_DEFAULT, rank, &signal, OMPL_FOREVER);  // its failure is found below
  }
  for (const uint32_t rank : ranks) {
    const ompl_condition met{own_offset(&now.counters[rank]), ++now.synced[rank], OMPL_GE, 32};
    int code = kOk;
    if (const int known = state_of(rank); known != kOk) {
      code = ompl_ctx_wait_until(OMPL_CTX_DEFAULT, &met, 0) == OMPL_OK ? kOk : state_of(rank);
    } else {
      code = await(met, [&] { return state_of(rank); });
    }
    if (code == kOk && now.failed[rank]) code = state_of(rank);
    if (code != kOk) keep_worst(code, &stat);
  }
  return stat;
}

}  // namespace caf
