// SPDX-License-Identifier: BSD-3-Clause
// Meetings of a team. A barrier by dissemination (Hensgen, Finkel and Manber 1988) whose signals carry a value: in round r a
// member signals the one 2^r behind it. Every member first notes in its own memory that it has come. Once a member is known to have
// failed or stopped, the others give the rounds up and look at those notes: whoever has completed the rounds has left its note.
// A few members that map each other need no rounds: each signals all others, and takes data along.
#include <algorithm>
#include <atomic>

#include "core/state.hpp"

namespace caf {
namespace {

constexpr int64_t kPause = 1'000'000;  // ns between looks at a member's note

uint32_t both(uint32_t one, uint32_t other) {
  if (one == other) return one;
  if (one == kMismatched || other == kMismatched) return kMismatched;
  return one == kShort || other == kShort ? kShort : kMismatched;
}

uint64_t word(uint32_t epoch, uint32_t value) { return uint64_t{epoch} << 32 | value; }

// Epochs may wrap: the later one of two is less than half of all ahead.
bool reached(uint64_t have, uint32_t epoch) { return static_cast<int64_t>(have - word(epoch, 0)) >= 0; }

uint64_t place_of(const Team& team, uint32_t member, const void* part_of_own_block) {
  return team.blocks[member] + (as_number(part_of_own_block) - as_number(team.block));
}

// Tells a partner, of whose block `word` is a part. A failure of it is found by the wait, or by whoever waits for it. A word of the same
// parity is sent two meetings later, when the partner has taken this one, or has given up the rounds for good.
void tell(const Team& team, uint32_t member, const uint64_t* word_of_own_block, uint64_t message) {
  const uint32_t rank = team.members[member];
  const uint64_t offset = offset_in(rank, place_of(team, member, word_of_own_block), sizeof(uint64_t));
  ompl_ctx_atomic64(OMPL_CTX_DEFAULT, rank, offset, OMPL_ATOMIC_SET, message, 0, nullptr, OMPL_FOREVER);
}

// Waits for the word of a partner.
int hear(Team& team, uint32_t epoch, uint64_t* here, uint32_t* value) {
  const ompl_condition come{own_offset(here), word(epoch, 0), OMPL_GE, 64};
  if (const int code = await(come, [&] { return trouble_in(team); }); code != kOk) return code;
  *value = both(*value, static_cast<uint32_t>(std::atomic_ref<uint64_t>(*here).load()));
  return kOk;
}

// As disseminate(), of a close team.
int meet_at_once(Team& team, uint32_t epoch, uint32_t* value, const void* data, std::size_t bytes) {
  const uint32_t parity = epoch & 1;
  const uint32_t mine = *value;
  const Box& box = team.block->boxes[team.me][parity];
  for (uint32_t i = 1; i < team.size(); ++i) {
    const uint32_t member = (team.me + i) % team.size();
    if (bytes > 0) put(team.members[member], place_of(team, member, box.data), data, bytes);
    tell(team, member, &box.word, word(epoch, mine));
  }
  for (uint32_t member = 0; member < team.size(); ++member) {
    if (member == team.me) continue;
    if (const int code = hear(team, epoch, &team.block->boxes[member][parity].word, value); code != kOk)
      return code;
  }
  return kOk;
}

// 0: all have met and *value is agreed. Else a member has failed or stopped.
int disseminate(Team& team, uint32_t epoch, uint32_t* value) {
  const uint32_t size = team.size();
  for (uint32_t round = 0, distance = 1; distance < size; ++round, distance *= 2) {
    uint64_t* const here = &team.block->arrivals[round][epoch & 1];
    tell(team, (team.me + distance) % size, here, word(epoch, *value));
    if (const int code = hear(team, epoch, here, value); code != kOk) return code;
  }
  return kOk;
}

int look(const Team& team, uint32_t member, const void* part, uint64_t* seen) {
  return get(team.members[member], place_of(team, member, part), seen, sizeof *seen);
}

// Waits for the note of one member. 0, kFailed, kStopped, or another error.
int await_note(const Team& team, uint32_t member, uint32_t epoch, uint64_t* seen) {
  const uint32_t rank = team.members[member];
  for (;;) {
    const bool stopped = state().stopped[rank];
    if (state().failed[rank]) return kFailed;
    if (const int code = look(team, member, &team.block->entered[epoch & 1], seen); code != kOk)
      return code;
    if (reached(*seen, epoch)) return kOk;
    if (stopped) return kStopped;
    ompl_progress(OMPL_CTX_DEFAULT, kPause);
    learn();
  }
}

int survey(Team& team, uint32_t epoch, uint32_t* value) {
  int stat = kOk;
  for (uint32_t member = 0; member < team.size(); ++member) {
    if (member == team.me) continue;
    uint64_t seen = 0;
    const int code = await_note(team, member, epoch, &seen);
    if (code == kStopped) return refuse(kStopped, "image %u has stopped", member + 1);
    if (code == kFailed) {
      stat = refuse(kFailed, "image %u has failed", member + 1);
    } else if (code != kOk) {
      return code;
    } else {
      *value = both(*value, static_cast<uint32_t>(seen));
    }
  }
  return stat;
}

}  // namespace

uint32_t mark_of(uint32_t statement, uint64_t argument) {
  uint64_t mixed = (argument + 1) * 0x9E3779B97F4A7C15U + statement;
  mixed = (mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9U;
  return std::min(static_cast<uint32_t>(mixed >> 32), kShort - 1);
}

bool is_close(const Team& team) { return team.size() <= kMostBoxes && ompl_node_size() == ompl_size(); }

int meet(Team& team, uint32_t mine, uint32_t* agreed, const void* data, std::size_t bytes) {
  const int sent = complete();
  const uint32_t epoch = ++team.epoch;
  *agreed = mine;
  std::atomic_ref<uint64_t>(team.block->entered[epoch & 1])
      .store(word(epoch, mine), std::memory_order_release);
  uint32_t value = mine;
  int stat = trouble_in(team);  // that is known; what is not, ends the wait
  if (stat == kOk)
    stat =
        team.close ? meet_at_once(team, epoch, &value, data, bytes) : disseminate(team, epoch, &value);
  if (stat == kFailed || stat == kStopped) {
    value = mine;
    stat = survey(team, epoch, &value);
  }
  *agreed = value;
  return stat != kOk ? stat : sent;
}

int exchange(Team& team, const uint64_t mine[2], std::vector<uint64_t>* theirs) {
  uint64_t* const own = team.block->exchange[team.exchanges++ & 1];
  std::copy_n(mine, 2, own);
  uint32_t agreed = 0;
  const int stat = meet(team, mark_of(1, 0), &agreed);
  if (stat != kOk && stat != kFailed) return stat;
  if (agreed == kMismatched)
    return refuse(kMismatch, "other images execute another image control statement");
  theirs->assign(std::size_t{2} * team.size(), 0);
  for (uint32_t member = 0; member < team.size(); ++member) {
    const uint32_t rank = team.members[member];
    if (state().failed[rank]) continue;
    uint64_t* const into = &(*theirs)[std::size_t{2} * member];
    const int code = get(rank, place_of(team, member, own), into, 2 * sizeof(uint64_t));
    if (code != kOk && code != kFailed) return code;
  }
  return stat;
}

}  // namespace caf
