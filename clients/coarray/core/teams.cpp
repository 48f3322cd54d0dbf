// SPDX-License-Identifier: BSD-3-Clause
// Teams. A team is made by exchanges of its parent: members tell their numbers and where their blocks are, then whether they have
// all seen the same, since an image may fail meanwhile.
#include <algorithm>
#include <cstring>

#include "core/state.hpp"

namespace caf {
namespace {

// A team number, and the index that the image asks for in the team.
uint64_t told_word(int number, int index) {
  return uint64_t{static_cast<uint32_t>(index)} << 32 | static_cast<uint32_t>(number);
}

void make_up(const Team& parent, int number, const std::vector<uint64_t>& told, Team* team) {
  team->members.clear();
  team->blocks.clear();
  team->index.clear();
  team->numbers.clear();
  std::vector<uint32_t> chosen;
  for (uint32_t member = 0; member < parent.size(); ++member) {
    const uint64_t block = told[std::size_t{2} * member + 1];
    const int its = block == 0 ? 0 : static_cast<int>(told[std::size_t{2} * member]);
    team->numbers.push_back(its);
    if (block != 0 && its == number) chosen.push_back(member);
  }
  std::ranges::stable_sort(chosen, {}, [&](uint32_t member) {
    return static_cast<int>(told[std::size_t{2} * member] >> 32);
  });
  for (const uint32_t member : chosen) {
    const uint32_t rank = parent.members[member];
    if (rank == state().me) team->me = team->size();
    team->index[rank] = team->size();
    team->members.push_back(rank);
    team->blocks.push_back(told[std::size_t{2} * member + 1]);
  }
  team->close = is_close(*team);
}

// The same on all images that have heard the same.
uint32_t mark_of_told(const std::vector<uint64_t>& told) {
  uint64_t mixed = 0;
  for (const uint64_t each : told) mixed = (mixed ^ each) * 0x9E3779B97F4A7C15U + (mixed >> 31);
  return mark_of(2, mixed);
}

}  // namespace

Team* current_team() { return state().current; }
int this_image() { return static_cast<int>(state().current->me) + 1; }
int num_images() { return static_cast<int>(state().current->size()); }
int number_of(const Team* team) { return team->number; }

int rank_of_image(int image, uint32_t* rank) {
  const Team& team = *state().current;
  if (image < 1 || static_cast<uint32_t>(image) > team.size())
    return refuse(
        kWrong,
        "image %d (image index of the coindices) is not one of the %u images of the current team",
        image, team.size());
  *rank = team.members[static_cast<uint32_t>(image) - 1];
  return kOk;
}

int rank_of_image_in(const Team* team, int image, uint32_t* rank) {
  const Team* around = state().current;
  while (around != nullptr && around != team) around = around->parent;
  if (around == nullptr) return refuse(kWrong, "the team is not the current team or one that it is in");
  if (image < 1 || static_cast<uint32_t>(image) > team->size())
    return refuse(kWrong,
                  "image %d (image index of the coindices) is not one of the %u images of the team",
                  image, team->size());
  *rank = team->members[static_cast<uint32_t>(image) - 1];
  return kOk;
}

int rank_of_image_in(int number, int image, uint32_t* rank) {
  const State& now = state();
  if (number == now.current->number) return rank_of_image_in(now.current, image, rank);
  if (number == -1) return rank_of_image_in(now.initial, image, rank);
  int members = 0;
  for (std::size_t member = 0; member < now.current->numbers.size(); ++member) {
    if (now.current->numbers[member] != number || ++members != image) continue;
    *rank = now.current->parent->members[member];
    return kOk;
  }
  if (members == 0)
    return refuse(kWrong, "team number %d: no team beside the current one has it", number);
  return refuse(kWrong,
                "image %d (image index of the coindices) is not one of the %d images of team %d", image,
                members, number);
}

int form_team(int number, Team** team, int index) {
  Team& parent = *state().current;
  auto* const made = new Team;
  made->parent = &parent;
  made->number = number;
  made->block = static_cast<Block*>(allocate_component(sizeof(Block)));
  if (made->block != nullptr) std::memset(made->block, 0, sizeof(Block));
  const uint64_t mine[2] = {told_word(number, index), as_number(made->block)};
  for (;;) {
    std::vector<uint64_t> told;
    int stat = exchange(parent, mine, &told);
    uint32_t agreed = 0;
    if (stat == kOk || stat == kFailed) {
      if (const int again = meet(parent, mark_of_told(told), &agreed); again != kOk) stat = again;
    }
    if (stat != kOk && stat != kFailed) {
      release_component(made->block);
      delete made;
      return stat;
    }
    if (agreed == kMismatched) continue;  // an image has failed between two images' looks
    make_up(parent, number, told, made);
    *team = made;
    if (made->block == nullptr || made->size() == 0) return refuse(kNoMemory, "no memory for a team");
    return stat;
  }
}

int change_team(Team* team) {
  if (team == nullptr || team->parent != state().current)
    return refuse(kWrong, "the team was not formed by the current team");
  state().current = team;
  return sync_team(team);
}

int end_team() {
  Team* const team = state().current;
  if (team->parent == nullptr) return refuse(kWrong, "the current team is the initial team");
  const int stat = sync_team(team);
  release_all(*team);
  state().current = team->parent;
  return stat;
}

int sync_team(Team* team) {
  if (team == nullptr) return refuse(kWrong, "the team was not formed");
  uint32_t agreed = 0;
  const int stat = meet(*team, mark_of(3, 0), &agreed);
  if (stat == kOk && agreed == kMismatched)
    return refuse(kMismatch, "other images execute another image control statement");
  return stat;
}

}  // namespace caf
