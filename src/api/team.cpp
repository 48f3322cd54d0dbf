// SPDX-License-Identifier: BSD-3-Clause
// The functions of coll.h that make teams and operations and set modes, as thin calls of coll/.
#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "api/call.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "coll/engine.hpp"
#include "coll/progress/modes.hpp"
#include "coll/tuner/table_file.hpp"
#include "omnipgas/coll.h"

using ompl::Context;
using ompl::fail;
using ompl::api::team_of;
using ompl::api::with;
using ompl::coll::Engine;
using ompl::coll::Team;

namespace {

// Rank 0 reads what earlier jobs have found, and all others get the same.
int share_table(Engine& engine) {
  if (!engine.tunes()) {
    if (engine.explains() && engine.world().me() == 0)
      ompl::log::write(ompl::log::Level::info, "tuner: it is off; OMPL_TUNER=1 turns it on");
    return OMPL_OK;
  }
  auto* const world = reinterpret_cast<ompl_team*>(&engine.world());
  ompl_coll_options options = OMPL_COLL_OPTIONS_INIT;
  options.algorithm = OMPL_COLL_BINOMIAL;  // it must not be tuned itself
  std::string text;
  if (engine.world().me() == 0) text = ompl::coll::TableFile(engine.runtime().settings).read().text();
  uint64_t length = text.size();
  int code = ompl_broadcast(world, &length, sizeof length, 0, &options, nullptr);
  text.resize(length);
  if (code == OMPL_OK) code = ompl_broadcast(world, text.data(), length, 0, &options, nullptr);
  if (code != OMPL_OK) return code;
  ompl::coll::Table known;
  const std::string wrong = ompl::coll::Table::parse(text, &known);
  if (!wrong.empty()) return fail(OMPL_ERR_SYSTEM, "ompl_team_world: the tuner's table: {}", wrong);
  engine.set_known(std::move(known));
  return OMPL_OK;
}

}  // namespace

extern "C" {

int ompl_team_world(ompl_team** team) {
  return with(nullptr, [=](Context& c) {
    if (team == nullptr) return fail(OMPL_ERR_ARG, "ompl_team_world: the result pointer is null");
    if (Engine::of(*c.runtime) == nullptr) {
      int code = Engine::open(*c.runtime, c);
      if (code == OMPL_OK) code = share_table(*Engine::of(*c.runtime));
      if (code != OMPL_OK) return code;
    }
    *team = reinterpret_cast<ompl_team*>(&Engine::of(*c.runtime)->world());
    return static_cast<int>(OMPL_OK);
  });
}

int ompl_team_create(const uint32_t* ranks, size_t count, const ompl_team_config* config,
                     ompl_team** team) {
  return with(nullptr, [=](Context& c) {
    if (team == nullptr) return fail(OMPL_ERR_ARG, "ompl_team_create: the result pointer is null");
    if (Engine::of(*c.runtime) == nullptr)
      return fail(
          OMPL_ERR_STATE,
          "ompl_team_create: call ompl_team_world() first, on every rank, and before any of them dies");
    Team* made = nullptr;
    const int code = Engine::of(*c.runtime)->create_team(c, ranks, count, config, &made);
    if (code == OMPL_OK) *team = reinterpret_cast<ompl_team*>(made);
    return code;
  });
}

int ompl_team_split(ompl_team* parent, int32_t color, int32_t key, const ompl_team_config* config,
                    ompl_team** team) {
  if (parent == nullptr || team == nullptr)
    return fail(OMPL_ERR_ARG, "ompl_team_split: the parent or the result pointer is null");
  struct Wish {
    int32_t color, key;
    uint32_t member;
  };
  return with(nullptr, [&](Context& c) -> int {
    Team& all = *team_of(parent);
    const Wish own{color, key, all.me()};
    std::vector<Wish> wishes;
    std::vector<uint32_t> ranks;
    try {
      wishes.resize(all.size());
      ranks.reserve(all.size());
    } catch (const std::bad_alloc&) {  // the others must not wait for this member
      all.leave(c);
      return ompl::fail_quietly(OMPL_ERR_MEMORY, all.why_broken());
    }
    const int code = ompl_allgather(parent, &own, wishes.data(), sizeof own, nullptr, nullptr);
    if (code != OMPL_OK) return code;
    if (color < 0) {
      *team = nullptr;
      return OMPL_OK;
    }
    std::erase_if(wishes, [&](const Wish& wish) { return wish.color != color; });
    std::ranges::stable_sort(wishes, {}, &Wish::key);
    for (const Wish& wish : wishes) ranks.push_back(all.ranks()[wish.member]);
    return ompl_team_create(ranks.data(), ranks.size(), config, team);
  });
}

int ompl_team_destroy(ompl_team* team) {
  if (team == nullptr) return OMPL_OK;
  return with(nullptr, [=](Context& c) {
    Engine& engine = team_of(team)->engine();
    if (team_of(team) == &engine.world())
      return fail(OMPL_ERR_ARG, "ompl_team_destroy: the world ends with ompl_finalize()");
    return engine.destroy_team(c, *team_of(team));
  });
}

int ompl_team_rank(const ompl_team* team) {
  if (team == nullptr) return fail(OMPL_ERR_ARG, "ompl_team_rank: the team is null");
  return static_cast<int>(team_of(team)->me());
}

int ompl_team_size(const ompl_team* team) {
  if (team == nullptr) return fail(OMPL_ERR_ARG, "ompl_team_size: the team is null");
  return static_cast<int>(team_of(team)->size());
}

int ompl_team_world_rank(const ompl_team* team, uint32_t member) {
  if (team == nullptr || member >= team_of(team)->size())
    return fail(OMPL_ERR_ARG, "ompl_team_world_rank: the team is null or has no member {}", member);
  return static_cast<int>(team_of(team)->ranks()[member]);
}

int ompl_team_set_progress(ompl_team* team, int32_t mode) {
  return with(nullptr, [=](Context&) {
    if (team == nullptr || ompl::coll::progress_name(mode) == nullptr)
      return fail(OMPL_ERR_ARG, "ompl_team_set_progress: the team is null or there is no mode {}",
                  mode);
    if (mode == OMPL_PROGRESS_AUTO && !team_of(team)->engine().tunes_modes())
      return fail(OMPL_ERR_ARG,
                  "ompl_team_set_progress: modes are tuned only with OMPL_TUNER=1 and "
                  "OMPL_COLL_PROGRESS=auto, on every rank");
    return team_of(team)->engine().set_progress(*team_of(team), mode);
  });
}

int ompl_team_progress(const ompl_team* team) {
  if (team == nullptr) return fail(OMPL_ERR_ARG, "ompl_team_progress: the team is null");
  return team_of(team)->progress();
}

int ompl_coll_algorithms(int32_t collective, int32_t* numbers, size_t most, size_t* count) {
  if (count == nullptr || (numbers == nullptr && most > 0) || ompl_coll_name(collective) == nullptr)
    return fail(OMPL_ERR_ARG, "ompl_coll_algorithms: there is no collective {}, or a pointer is null",
                collective);
  std::size_t found = 0;
  for (const auto& algorithm : ompl::coll::algorithms())
    if (algorithm.collective == collective && found < most) numbers[found++] = algorithm.number;
  *count = found;
  return OMPL_OK;
}

int ompl_op_create(const ompl_op_config* config, int32_t* op) {
  return with(nullptr, [=](Context& c) {
    if (Engine::of(*c.runtime) == nullptr)
      return fail(OMPL_ERR_STATE, "ompl_op_create: call ompl_team_world() first, on every rank");
    return Engine::of(*c.runtime)->create_operation(config, op);
  });
}

}  // extern "C"
