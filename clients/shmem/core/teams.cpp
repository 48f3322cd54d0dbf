// SPDX-License-Identifier: BSD-3-Clause
// Teams. Those of the program are made by splits, collective in the parent; those of active sets when they are first used, and
// kept. One thread of a PE at a time makes or ends teams: turns.hpp.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <tuple>

#include "core/checks.hpp"
#include "core/turns.hpp"

namespace shmem_core {
namespace {

TeamTurns& turns() {
  static auto* const only = new TeamTurns;
  return *only;
}

// Used by the thread whose turn it is.
uint64_t next_id = 2;
std::mutex listing;  // of made(), which others look at too
std::vector<Team*>& made() {
  static auto* const list = new std::vector<Team*>;
  return *list;
}
using SetKey = std::tuple<int, int, int>;
std::map<SetKey, Team*>& sets() {
  static auto* const map = new std::map<SetKey, Team*>;
  return *map;
}

// One collective at a time goes on in a team: one tag.
ompl_team_config one_tag() {
  ompl_team_config config = OMPL_TEAM_CONFIG_INIT;
  config.tags = 1;
  return config;
}

Team* wrap(ompl_team* team) {
  auto* const wrapped = new Team;
  wrapped->team = team;
  const int size = ompl_team_size(team);
  for (int i = 0; i < size; ++i)
    wrapped->members.push_back(
        static_cast<uint32_t>(ompl_team_world_rank(team, static_cast<uint32_t>(i))));
  const auto own =
      std::find(wrapped->members.begin(), wrapped->members.end(), static_cast<uint32_t>(state().pe));
  wrapped->me = static_cast<int>(own - wrapped->members.begin());
  return wrapped;
}

bool is_failure(int code) { return code == OMPL_ERR_PEER || code == OMPL_ERR_LINK; }

// Whether all members of the parent succeeded: OMPL_OK, OMPL_ERR_MEMORY, or that a member has failed. If so, `*id` and those that
// follow are of no team of any of them.
int agree_on_success(const Team& parent, int code, uint64_t* id) {
  if (is_failure(code)) return code;
  const uint64_t mine[2] = {code == OMPL_OK ? 0U : 1U, next_id};
  uint64_t most[2] = {1, 0};
  const int agreed =
      ompl_allreduce(parent.team, mine, most, 2, OMPL_UINT64, OMPL_MAX, nullptr, nullptr);
  *id = most[1];
  if (is_failure(agreed)) return agreed;
  return agreed == OMPL_OK && most[0] == 0 ? OMPL_OK : OMPL_ERR_MEMORY;
}

// Makes teams of those that give the same color; none for a negative one.
int split(Team& parent, int color, int key, const TeamOptions& options, Team** result) {
  *result = nullptr;
  const ompl_team_config config = one_tag();
  ompl_team* team = nullptr;
  const int code = ompl_team_split(parent.team, color, key, &config, &team);
  if (team != nullptr) {
    *result = wrap(team);
    if (options.config != nullptr && (options.mask & SHMEM_TEAM_NUM_CONTEXTS) != 0)
      (*result)->config = *options.config;
  }
  return code;
}

shmem_team_t handle_of(Team* team) { return reinterpret_cast<shmem_team_t>(team); }

int destroy(Team* team) {
  end_contexts_of(team);
  const int code = ompl_team_destroy(team->team);
  delete team;
  return code;
}

// Splits, or leaves nothing behind.
template <std::size_t kCount, class Split>
int split_or_undo(const char* function, Team& parent, shmem_team_t* const (&handles)[kCount],
                  Split make) {
  const int code = turns().in_turn(parent, [&] {
    Team* teams[kCount] = {};
    uint64_t id = 0;
    const int agreed = agree_on_success(parent, make(teams), &id);
    if (is_failure(agreed)) return agreed;
    const bool good = agreed == OMPL_OK;
    next_id = std::max(next_id, id + kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      if (teams[i] == nullptr) continue;
      if (!good) {
        expect(destroy(teams[i]), "shmem_team_split");
        continue;
      }
      teams[i]->id = id + i;
      const std::lock_guard lock(listing);
      made().push_back(teams[i]);
      *handles[i] = handle_of(teams[i]);
    }
    return agreed;
  });
  if (is_failure(code)) failed(function, code);
  return code == OMPL_OK ? 0 : -1;
}

bool valid(const Triplet& members, int size) {
  const long last = members.start + static_cast<long>(members.stride) * (members.size - 1);
  return members.size > 0 && members.start >= 0 && members.start < size && last >= 0 && last < size &&
         (members.stride != 0 || members.size == 1);
}

SetKey key_of(const ActiveSet& set) { return {set.start, set.log_stride, set.size}; }

// The members of a set, of which this PE has to be one.
int members_of(const ActiveSet& set, std::vector<uint32_t>* ranks) {
  if (set.size <= 0 || set.start < 0 || set.log_stride < 0 || set.log_stride > 30)
    return refuse(OMPL_ERR_ARG, "the active set (%d, %d, %d) is none", set.start, set.log_stride,
                  set.size);
  const State& now = state();
  const int64_t last = set.start + (static_cast<int64_t>(set.size - 1) << set.log_stride);
  if (last >= now.pes)
    return refuse(OMPL_ERR_RANK, "the active set (%d, %d, %d) has a PE %lld, and there are %d",
                  set.start, set.log_stride, set.size, static_cast<long long>(last), now.pes);
  const int64_t inside = now.pe - set.start;
  if (inside < 0 || inside % (int64_t{1} << set.log_stride) != 0 || now.pe > last)
    return refuse(OMPL_ERR_ARG, "PE %d, which calls it, is not in the active set (%d, %d, %d)", now.pe,
                  set.start, set.log_stride, set.size);
  for (int i = 0; i < set.size; ++i)
    ranks->push_back(static_cast<uint32_t>(set.start) + (static_cast<uint32_t>(i) << set.log_stride));
  return OMPL_OK;
}

// Makes the team of a set. Collective in the set.
int make_team(const ActiveSet& set, Team** team) {
  std::vector<uint32_t> ranks;
  if (const int code = members_of(set, &ranks); code != OMPL_OK) return code;
  const bool threads = state().thread_level == SHMEM_THREAD_MULTIPLE;
  SetTurn turn(set, ranks);
  if (const int code = threads ? turn.begin() : OMPL_OK; code != OMPL_OK) return code;
  const int code = turns().alone([&] {
    const ompl_team_config config = one_tag();
    ompl_team* made_now = nullptr;
    const int failure = ompl_team_create(ranks.data(), ranks.size(), &config, &made_now);
    if (failure == OMPL_OK) *team = sets()[key_of(set)] = wrap(made_now);
    return failure;
  });
  return code == OMPL_OK && threads ? turn.end((*team)->team) : code;
}

}  // namespace

int make_predefined_teams() {
  State& now = state();
  ompl_team* world = nullptr;
  if (const int code = ompl_team_world(&world); code != OMPL_OK) return code;
  now.world = wrap(world);
  // The ranks whose memory is mapped here are those that see this rank's: the lowest one names them.
  int lowest = now.pe;
  const uint64_t somewhere = now.regions.empty() ? 0 : now.regions.front().offset;
  for (int pe = now.pe; pe >= 0; --pe) {
    if (somewhere != 0 && ompl_ptr(static_cast<uint32_t>(pe), somewhere) != nullptr) lowest = pe;
  }
  const int code = split(*now.world, lowest, now.pe, {}, &now.shared);
  if (code == OMPL_OK) now.shared->id = 1;
  return code;
}

bool team_is_known(const Team* team) {
  if (team == nullptr || team == state().world || team == state().shared) return true;
  const std::lock_guard lock(listing);
  return std::ranges::find(made(), team) != made().end();
}

int end_teams() {
  std::vector<Team*> left;
  {
    const std::lock_guard lock(listing);
    left.swap(made());
  }
  int first = OMPL_OK;
  for (Team* const team : left) {
    const int code = destroy(team);
    if (first == OMPL_OK) first = code;
  }
  for (Team* const team : {state().world, state().shared}) end_contexts_of(team);
  return first;
}

int team_of_set(const ActiveSet& set, Team** team) {
  const State& now = state();
  if (set.start == 0 && set.log_stride == 0 && set.size == now.pes) {
    *team = now.world;
    return OMPL_OK;
  }
  const int code = turns().alone([&] {
    const auto known = sets().find(key_of(set));
    *team = known == sets().end() ? nullptr : known->second;
    return static_cast<int>(OMPL_OK);
  });
  return code == OMPL_OK && *team == nullptr ? make_team(set, team) : code;
}

int team_my_pe(shmem_team_t handle) {
  const Team* const team = team_of(handle);
  return team == nullptr ? -1 : team->me;
}

int team_n_pes(shmem_team_t handle) {
  const Team* const team = team_of(handle);
  return team == nullptr ? -1 : team->size();
}

int team_get_config(shmem_team_t handle, long mask, shmem_team_config_t* config) {
  const Team* const team = team_of(handle);
  if (team == nullptr) return -1;
  if ((mask & SHMEM_TEAM_NUM_CONTEXTS) != 0) *config = team->config;
  return 0;
}

int team_translate(shmem_team_t from_handle, int pe, shmem_team_t to_handle) {
  const Team* const from = team_of(from_handle);
  const Team* const to = team_of(to_handle);
  if (from == nullptr || to == nullptr || pe < 0 || pe >= from->size()) return -1;
  const uint32_t rank = from->members[static_cast<std::size_t>(pe)];
  if (to == state().world) return static_cast<int>(rank);
  const auto found = std::find(to->members.begin(), to->members.end(), rank);
  return found == to->members.end() ? -1 : static_cast<int>(found - to->members.begin());
}

int split_strided(shmem_team_t parent_handle, const Triplet& members, const TeamOptions& options,
                  shmem_team_t* result) {
  *result = SHMEM_TEAM_INVALID;
  Team* const parent = team_of(parent_handle);
  if (parent == nullptr || !valid(members, parent->size())) return -1;
  int index = parent->me - members.start;
  if (members.stride != 0) index = index % members.stride == 0 ? index / members.stride : -1;
  const bool member = index >= 0 && index < members.size;
  const std::array<uint64_t, 3> numbers = {static_cast<uint64_t>(members.start),
                                           static_cast<uint64_t>(members.stride),
                                           static_cast<uint64_t>(members.size)};
  if (const int code = check_all(*parent, {.name = "shmem_team_split_strided", .numbers = numbers});
      code != OMPL_OK)
    failed("shmem_team_split_strided", code);
  return split_or_undo("shmem_team_split_strided", *parent, {result}, [&](Team** teams) {
    return split(*parent, member ? 0 : -1, member ? index : 0, options, &teams[0]);
  });
}

int split_2d(shmem_team_t parent_handle, int range, const TeamOptions& x_options, shmem_team_t* x_team,
             const TeamOptions& y_options, shmem_team_t* y_team) {
  *x_team = *y_team = SHMEM_TEAM_INVALID;
  Team* const parent = team_of(parent_handle);
  if (parent == nullptr || range <= 0) return -1;
  range = std::min(range, parent->size());
  const int x = parent->me % range;
  const int y = parent->me / range;
  return split_or_undo("shmem_team_split_2d", *parent, {x_team, y_team}, [&](Team** teams) {
    const int code = split(*parent, y, x, x_options, &teams[0]);
    const int second = split(*parent, x, y, y_options, &teams[1]);
    return code != OMPL_OK ? code : second;
  });
}

int team_destroy(shmem_team_t handle) {
  if (handle == SHMEM_TEAM_INVALID) return OMPL_OK;
  if (handle == SHMEM_TEAM_WORLD || handle == SHMEM_TEAM_SHARED)
    return refuse(OMPL_ERR_ARG, "a predefined team cannot be destroyed");
  Team* const team = team_of(handle);
  if (!team_is_known(team)) return refuse(OMPL_ERR_ARG, "the team was destroyed before");
  return turns().in_turn(*team, [&] {
    {
      const std::lock_guard lock(listing);
      std::erase(made(), team);
    }
    return destroy(team);
  });
}

void* team_pointer(shmem_team_t handle, const void* address, int pe) {
  const int rank = team_translate(handle, pe, SHMEM_TEAM_WORLD);
  return rank < 0 ? nullptr : pointer(address, rank);
}

}  // namespace shmem_core
