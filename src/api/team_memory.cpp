// SPDX-License-Identifier: BSD-3-Clause
// Memory that the members of a team allocate together, without the other ranks.
#include "api/call.hpp"
#include "core/data/operations.hpp"
#include "omnipgas/coll.h"
#include "omnipgas/ompl_memory.h"

using ompl::Context;
using ompl::fail;
using ompl::GlobalMemory;
using ompl::api::with;

namespace {

// What the members compare: of each word the highest of all members.
struct Said {
  uint64_t failed = 0;
  uint64_t call = 0;  // what is called, with its argument; and its complement,
  uint64_t uncall = 0;
  uint64_t offset = 0;  // the offset that a member has found, and its complement
  uint64_t unoffset = 0;

  [[nodiscard]] bool alike() const { return call == ~uncall; }
  [[nodiscard]] uint64_t lowest() const { return ~unoffset; }
  [[nodiscard]] bool agreed() const { return offset == lowest(); }
};

enum Kind : uint64_t { alloc_call = 1, free_call = 2 };

int compare(ompl_team* team, uint64_t call, uint64_t offset, bool failed, Said* all) {
  const Said mine{.failed = failed ? uint64_t{1} : 0,
                  .call = call,
                  .uncall = ~call,
                  .offset = offset,
                  .unoffset = ~offset};
  return ompl_allreduce(team, &mine, all, sizeof mine / sizeof(uint64_t), OMPL_UINT64, OMPL_MAX,
                        nullptr, nullptr);
}

int unlike(const char* what) {
  return fail(OMPL_ERR_ARG,
              "{}: not all members of the team call it with the same argument, or some of them with a "
              "wrong one",
              what);
}

// Each member takes an offset of its own; the lowest of them is the next that may be free at all. It only falls, so this ends.
// *taken: what this member holds in the end, also after an error; 0: nothing.
int agree_on_offset(ompl_team* team, GlobalMemory& memory, size_t size, uint64_t* taken) {
  const uint64_t call = uint64_t{size} * 4 + alloc_call;
  uint64_t highest = UINT64_MAX;
  for (;;) {
    if (*taken == 0 || *taken > highest) {
      if (*taken != 0) memory.cancel_team(*taken);
      *taken = 0;
      uint64_t offset = 0;
      if (memory.reserve_team(size, highest, &offset) == OMPL_OK) *taken = offset;
    }
    Said all;
    if (const int code = compare(team, call, *taken, *taken == 0, &all); code != OMPL_OK) return code;
    if (!all.alike()) return unlike("ompl_team_alloc");
    if (all.failed != 0) {
      return fail(OMPL_ERR_MEMORY, "ompl_team_alloc: no {} bytes are free at one offset of all members",
                  size);
    }
    if (all.agreed()) return OMPL_OK;
    highest = all.lowest();
  }
}

int allocate(Context& c, ompl_team* team, size_t size, uint64_t* offset) {
  GlobalMemory& memory = c.runtime->memory;
  Said all;
  if (size == 0 || offset == nullptr) {
    const int met = compare(team, alloc_call, 0, true, &all);
    if (met != OMPL_OK) return met;
    return fail(OMPL_ERR_ARG, "ompl_team_alloc: {}",
                size == 0 ? "the size is 0" : "the result pointer is null");
  }
  uint64_t taken = 0;
  int code = agree_on_offset(team, memory, size, &taken);
  if (code != OMPL_OK) {
    if (taken != 0) memory.cancel_team(taken);
    return code;
  }
  code = memory.commit_team(taken);
  const int met = compare(team, alloc_call, taken, code != OMPL_OK, &all);
  if (met == OMPL_OK && all.failed == 0) {
    *offset = taken;
    return OMPL_OK;
  }
  if (code == OMPL_OK) {
    c.runtime->collective.release_team(taken);
  } else {
    memory.cancel_team(taken);
  }
  if (met != OMPL_OK || code != OMPL_OK) return met != OMPL_OK ? met : code;
  return fail(OMPL_ERR_MEMORY, "ompl_team_alloc: another member is short of memory");
}

int give_back(Context& c, ompl_team* team, uint64_t offset) {
  const bool usable = c.runtime->memory.is_team(offset);
  if (usable) {
    if (const int code = ompl::quiet_all(c); code != OMPL_OK) return code;
  }
  Said all;
  const int met = compare(team, offset * 4 + free_call, 0, !usable, &all);
  if (!usable)
    return fail(OMPL_ERR_OFFSET, "ompl_team_free: {:#x} is not what an ompl_team_alloc returned",
                offset);
  if (met != OMPL_OK) return met;
  if (!all.alike() || all.failed != 0) return unlike("ompl_team_free");
  c.runtime->collective.release_team(offset);
  return OMPL_OK;
}

}  // namespace

extern "C" {

int ompl_team_alloc(ompl_team* team, size_t size, uint64_t* offset) {
  if (team == nullptr) return fail(OMPL_ERR_ARG, "ompl_team_alloc: the team is null");
  return with(nullptr, [=](Context& c) { return allocate(c, team, size, offset); });
}

int ompl_team_free(ompl_team* team, uint64_t offset) {
  if (team == nullptr) return fail(OMPL_ERR_ARG, "ompl_team_free: the team is null");
  return with(nullptr, [=](Context& c) { return give_back(c, team, offset); });
}

}  // extern "C"
