// SPDX-License-Identifier: BSD-3-Clause
#include "coll/team/keyed_exchange.hpp"

#include <algorithm>
#include <cstring>

#include "core/wait/block.hpp"
#include "util/bytes.hpp"
#include "util/secret.hpp"
#include "util/status.hpp"

namespace ompl::coll {
namespace {

constexpr uint32_t kStride = 64;
static_assert(kStride >= sizeof(Cell) + sizeof(KeyedExchange::Word));

// In any order.
uint64_t hash_of(std::vector<uint32_t> ranks) {
  std::ranges::sort(ranks);
  ByteWriter said;
  for (const uint32_t rank : ranks) said.add(rank);
  return keyed_hash({}, said.bytes());
}

TeamLayout layout_of(uint32_t ranks) { return {.members = ranks, .tags = 1, .stride = kStride}; }

}  // namespace

// The cells for ranks that are not mapped come last.
KeyedExchange::KeyedExchange(Runtime& runtime, uint64_t memory) : runtime_(runtime) {
  const TeamLayout layout = layout_of(runtime.size());
  const uint32_t me = runtime.rank();
  sides_.reserve(runtime.size());
  for (uint32_t rank = 0; rank < runtime.size(); ++rank) {
    const uint64_t staged = memory + layout.bytes() + layout.cells(0, rank) - layout.cells(0, 0);
    sides_.push_back({Channel(runtime.memory,
                              {.member = me,
                               .rank = rank,
                               .words_here = memory + layout.words(0, rank),
                               .counters_here = memory + layout.counters(0, rank),
                               .cells_here = memory + layout.cells(0, rank),
                               .words_there = memory + layout.words(0, me),
                               .cells_there = memory + layout.cells(0, me),
                               .staging = static_cast<std::byte*>(runtime.memory.pointer(me, staged)),
                               .stride = kStride})});
  }
}

uint64_t KeyedExchange::bytes(uint32_t ranks) {
  const TeamLayout layout = layout_of(ranks);
  constexpr uint64_t kLine = OffsetAllocator::kGranule;
  return (layout.bytes() + layout.cell_bytes() + kLine - 1) / kLine * kLine;
}

int KeyedExchange::Outcome::code(std::string_view caller) const {
  if (failure != OMPL_OK)
    return fail_quietly(failure, fmt::format("{}: rank {}, of the team, {}", caller, failed,
                                             failure == OMPL_ERR_PEER ? "died" : "is out of reach"));
  if (differs)
    return ompl::fail(
        OMPL_ERR_ARG,
        "{}: the members make or end different teams, or give different lists or configs, or differ in "
        "OMPL_COLL_CHECK, OMPL_TUNER or OMPL_COLL_PROGRESS=auto",
        caller);
  return OMPL_OK;
}

// True once it has been told, or cannot be.
bool KeyedExchange::tell(Context& c, uint32_t rank, const Word& mine, Outcome* outcome) {
  Channel& channel = sides_[rank].channel;
  if (!channel.may_send()) return false;
  const int code = channel.send(c, reinterpret_cast<const std::byte*>(&mine), sizeof mine, OMPL_OK);
  if (code > OMPL_PENDING) outcome->again = true;
  if (code < OMPL_OK) outcome->fail(code, rank);
  return code <= OMPL_PENDING;
}

void KeyedExchange::skip_withdrawn(Context& c, uint32_t rank, const Word& mine, Outcome* outcome) {
  Side& side = sides_[rank];
  if (side.kept && side.kept->met < mine.met && side.channel.is_last_withdrawn()) side.kept.reset();
  int failure = OMPL_OK;
  while (side.channel.is_next_withdrawn()) {
    const std::byte* const data = side.channel.arrived(&failure);
    Word next{};
    if (data != nullptr) std::memcpy(&next, data, sizeof next);
    if (data == nullptr || next.met == mine.met) return;
    side.kept.reset();
    side.channel.take();
    if (const int code = side.channel.acknowledge(c); code < OMPL_OK) outcome->fail(code, rank);
  }
}

// Whether one of those who were heard, being told or not, has withdrawn its word.
bool KeyedExchange::is_withdrawn(const std::vector<uint32_t>& ranks,
                                 const std::vector<Partner>& left) const {
  std::size_t next = 0;  // in `left`, which is in the order of the list
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const bool pending = next < left.size() && left[next].place == i;
    const bool heard = pending ? left[next++].heard : ranks[i] != runtime_.rank();
    if (heard && sides_[ranks[i]].channel.is_last_withdrawn()) return true;
  }
  return false;
}

// True once its word for this exchange is there, or will not come. While no rank has failed nobody has a reason to be at another exchange. A word that was
// complained of counts all the same if there was one, not known here.
bool KeyedExchange::hear(Context& c, uint32_t rank, const Word& mine, uint64_t* value,
                         Outcome* outcome) {
  Side& side = sides_[rank];
  const bool excused = runtime_.failures.count() != 0;
  const auto fits = [&] {
    return side.kept && side.kept->key == mine.key && (excused || !side.complained);
  };
  int failure = OMPL_OK;
  while (!fits()) {
    const std::byte* const data = side.channel.arrived(&failure);
    if (data == nullptr) return false;
    Word word{};
    std::memcpy(&word, data, sizeof word);
    side.kept = word;
    side.channel.take();
    if (const int code = side.channel.acknowledge(c); code < OMPL_OK) outcome->fail(code, rank);
    side.complained = !excused && side.kept->key != mine.key;
    if (!side.complained) continue;
    outcome->differs = true;
    outcome->hopeless = outcome->hopeless || (side.kept->among != 0 && side.kept->among != mine.among);
    return true;
  }
  *value = side.kept->value;
  side.kept.reset();
  return true;
}

// Whom it does not reach learns of that by itself.
void KeyedExchange::withdraw(Caller& by, const std::vector<uint32_t>& ranks) {
  for (const uint32_t rank : ranks) {
    Side& side = sides_[rank];
    if (rank == runtime_.rank() || runtime_.failures.peer(rank).failure.load() != OMPL_OK) continue;
    static_cast<void>(side.channel.withdraw(by.now(), side.sound, &side.told));
  }
}

int KeyedExchange::exchange(Context& context, std::string_view caller,
                            const std::vector<uint32_t>& ranks, const Word& said,
                            std::vector<uint64_t>* values) {
  const Word mine{.key = said.key,
                  .value = said.value,
                  .among = runtime_.failures.count() == 0 ? hash_of(ranks) : 0,
                  .met = runtime_.collective.barriers()};
  values->assign(ranks.size(), mine.value);
  std::vector<Partner> left;  // with whom it is not over
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (ranks[i] != runtime_.rank()) left.push_back({.place = i});
  Outcome outcome;
  for (const Partner& one : left) skip_withdrawn(context, ranks[one.place], mine, &outcome);
  Caller by(context);
  Context* now = &context;
  const auto go_on = [&](Partner& one) {
    Context& c = *now;
    const uint32_t rank = ranks[one.place];
    if (const int known = runtime_.failures.peer(rank).failure.load(); known != OMPL_OK) {
      outcome.fail(known, rank);
      return true;
    }
    one.told = one.told || tell(c, rank, mine, &outcome);
    one.heard = one.heard || hear(c, rank, mine, &(*values)[one.place], &outcome);
    if (outcome.failure == OMPL_OK && !outcome.hopeless) return one.told && one.heard;
    return one.told || !sides_[rank].channel.may_send();
  };
  while (!left.empty()) {
    const uint32_t first = ranks[left.front().place];
    const Blocked what{.call = ompl::Call::collective, .peer = first};
    Blocker blocker(by.now(), what, Deadline::never());
    const int code = blocker.run([&] {
      now = &blocker.context();
      outcome.again = false;
      std::erase_if(left, go_on);
      if (!left.empty() && !outcome.hopeless && is_withdrawn(ranks, left))
        outcome.differs = outcome.hopeless = outcome.again = true;
      if (outcome.again) blocker.stay_awake();
      return left.empty() || ranks[left.front().place] != first ? 1 : 0;
    });
    if (code != OMPL_OK && runtime_.failures.peer(first).failure.load() == OMPL_OK) return code;
  }
  if (outcome.hopeless) {
    withdraw(by, ranks);
  } else {
    for (const uint32_t rank : ranks) sides_[rank].sound = sides_[rank].channel.sent();
  }
  // What only a call has reported so far is known to the next exchange.
  if (outcome.failure != OMPL_OK) runtime_.failures.look_for_broken(outcome.failed, 1);
  return outcome.code(caller);
}

}  // namespace ompl::coll
