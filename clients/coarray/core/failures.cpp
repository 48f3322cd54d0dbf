// SPDX-License-Identifier: BSD-3-Clause
// Which images have failed or stopped. The layer knows; the lists here are taken from it when they have grown.
#include "core/state.hpp"

namespace caf {
namespace {

using List = int (*)(uint32_t*, std::size_t, std::size_t*);

bool take(List list, std::vector<bool>* marks, std::size_t* known) {
  std::size_t count = 0;
  if (list(nullptr, 0, &count) != OMPL_OK || count == *known) return false;
  std::vector<uint32_t> ranks(state().size);
  if (list(ranks.data(), ranks.size(), &count) != OMPL_OK) return false;
  marks->assign(state().size, false);
  for (std::size_t i = 0; i < count; ++i) (*marks)[ranks[i]] = true;
  *known = count;
  return true;
}

std::vector<int> images_of(const std::vector<bool>& marks) {
  learn();
  std::vector<int> images;
  const Team& team = *state().current;
  for (uint32_t member = 0; member < team.size(); ++member) {
    if (marks[team.members[member]]) images.push_back(static_cast<int>(member) + 1);
  }
  return images;
}

}  // namespace

bool learn() {
  State& now = state();
  const bool failed = take(&ompl_failed_ranks, &now.failed, &now.failures);
  const bool stopped = take(&ompl_stopped_ranks, &now.stopped, &now.stops);
  if (failed) ompl_failure_ack();  // waits go on: what they wait for is looked at here
  return failed || stopped;
}

int trouble_in(const Team& team) {
  const State& now = state();
  if (now.failures + now.stops == 0) return kOk;
  int stat = kOk;
  for (uint32_t member = 0; member < team.size(); ++member) {
    const uint32_t rank = team.members[member];
    if (now.stopped[rank] && rank != now.me)
      return refuse(kStopped, "image %u has stopped", member + 1);
    if (now.failed[rank]) stat = refuse(kFailed, "image %u has failed", member + 1);
  }
  return stat;
}

int image_status(int image, int* status) {
  uint32_t rank = 0;
  if (const int code = rank_of_image(image, &rank); code != kOk) return code;
  ompl_progress(OMPL_CTX_DEFAULT, 0);
  learn();
  *status = state().failed[rank] ? kFailed : state().stopped[rank] ? kStopped : kOk;
  return kOk;
}

std::vector<int> failed_images() { return images_of(state().failed); }

std::vector<int> stopped_images() { return images_of(state().stopped); }

}  // namespace caf
