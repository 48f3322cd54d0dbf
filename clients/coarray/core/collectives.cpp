// SPDX-License-Identifier: BSD-3-Clause
// Collectives, by those of the layer. Its team of a team's members is made for the first of them, since it takes memory.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <tuple>
#include <utility>

#include "core/state.hpp"

namespace caf {
namespace {

// A member that has failed, or that has stopped before it came to this collective: whoever has started it has done its part.
int missing(Team& team) {
  const State& now = state();
  int stat = kOk;
  for (uint32_t member = 0; member < team.size() && now.failures + now.stops > 0; ++member) {
    const uint32_t rank = team.members[member];
    if (now.failed[rank]) stat = refuse(kFailed, "image %u has failed", member + 1);
    if (!now.stopped[rank] || rank == now.me) continue;
    const uint64_t address =
        team.blocks[member] + (as_number(&team.block->collectives) - as_number(team.block));
    uint64_t started = 0;
    if (const int code = get(rank, address, &started, sizeof started); code != kOk) return code;
    if (started < team.block->collectives) return refuse(kStopped, "image %u has stopped", member + 1);
  }
  return stat;
}

// The layer's team, the same for all teams of the same members.
int prepare(Team& team) {
  static auto* known = new std::map<std::vector<uint32_t>, ompl_team*>;
  std::atomic_ref<uint64_t>(team.block->collectives).fetch_add(1);
  learn();
  if (const int stat = missing(team); stat != kOk) return stat;
  if (team.broken) return refuse(kFailed, "a collective of this team was given up after a failure");
  if (team.layer != nullptr) return kOk;
  ompl_team*& made = (*known)[team.members];
  if (made == nullptr) {
    const int code = ompl_team_create(team.members.data(), team.size(), nullptr, &made);
    if (code != OMPL_OK) return layer_error(code, state().me);
  }
  team.layer = made;
  return kOk;
}

// Waits for a collective, which a member that has failed or stopped ends.
int finish(Team& team, int code, ompl_request* request) {
  while (code == OMPL_OK) {
    code = ompl_request_wait(OMPL_CTX_DEFAULT, &request, state().look);
    if (code == OMPL_OK) return kOk;
    if (code != OMPL_ERR_TIMEOUT) break;
    code = OMPL_OK;
    learn();
    if (const int stat = missing(team); stat == kStopped) {
      team.broken = true;
      return stat;
    }
  }
  team.broken = true;
  const int stat = layer_error(code, state().me);
  const int known = missing(team);
  return known != kOk ? known : stat;
}

// Short collectives of images on one host: a meeting, after which each image has, or reads, what the others give.
bool is_short(const Team& team, std::size_t bytes) {
  constexpr uint32_t kFew = 16;
  constexpr std::size_t kMostRead =
      4 * kSmall;  // more is faster in the steps of the layer's algorithms
  return bytes <= kSmall && bytes * team.size() <= kMostRead && team.size() <= kFew &&
         ompl_node_size() == ompl_size();
}

// What the members give to a collective. They lay it out in their blocks, or put it into the boxes of a close team; those that give
// nothing say so by `gives`.
class Given {
 public:
  Given(Team& team, void* data, std::size_t bytes) : team_(team), data_(data), bytes_(bytes) {}

  int meet_in_boxes(bool gives) {
    boxed_ = true;
    return met([&](uint32_t mark, uint32_t* agreed) {
      return meet(team_, mark, agreed, data_, gives ? bytes_ : 0);
    });
  }
  int meet_at_blocks() {
    slot_ = team_.exchanges++ & 1;
    std::memcpy(team_.block->small[slot_], data_, bytes_);
    return met([&](uint32_t mark, uint32_t* agreed) { return meet(team_, mark, agreed); });
  }
  int meet_as_fits(bool gives) {
    return team_.close && bytes_ <= kBoxed ? meet_in_boxes(gives) : meet_at_blocks();
  }

  // What a member has given. Before the next meeting.
  int read(uint32_t member, void* into) const {
    const void* here = data_;
    if (member != team_.me && !boxed_) {
      const uint64_t address =
          team_.blocks[member] + (as_number(team_.block->small[slot_]) - as_number(team_.block));
      return get(team_.members[member], address, into, bytes_);
    }
    if (member != team_.me) here = team_.block->boxes[member][team_.epoch & 1].data;
    std::memmove(into, here, bytes_);
    return kOk;
  }

 private:
  template <class Way>
  int met(Way way) {
    uint32_t agreed = 0;
    const int stat = way(mark_of(6, bytes_), &agreed);
    if (stat == kOk && agreed == kMismatched)
      return refuse(kMismatch,
                    "other images call it with other sizes, or execute an image control statement");
    return stat;
  }

  Team& team_;
  void* data_;
  std::size_t bytes_;
  unsigned slot_ = 0;
  bool boxed_ = false;
};

// In the order of the members.
int reduce_short(Team& team, void* data, std::size_t count, std::size_t element, const Operation& how,
                 bool wanted) {
  alignas(16) std::byte memory[2][kSmall];
  std::byte* lower = memory[0];
  std::byte* next = memory[1];
  Given given(team, data, count * element);
  if (const int code = given.meet_as_fits(true); code != kOk || !wanted) return code;
  for (uint32_t member = 0; member < team.size(); ++member) {
    if (const int code = given.read(member, next); code != kOk) return code;
    if (member > 0) how.function(lower, next, count, how.arg);
    std::swap(lower, next);
  }
  std::memcpy(data, lower, count * element);
  return kOk;
}

// Two images that map each other reduce longer data by lanes in their segments: in pieces that stay in caches each lays out its own,
// and combines the other's into it.
constexpr std::size_t kLane = std::size_t{128} << 10;
struct Lanes {
  std::byte* own = nullptr;          // two, taken in turn: a meeting lies between two uses of one
  const std::byte* other = nullptr;  // null: one of the two has no memory for them
  unsigned turn = 0;
};

// Both images find the same. A sum has one result in either order, to the last bit, and so has what whole numbers have.
bool fits_lanes(const Team& team, const Operation& how) {
  const bool commutes = how.type != OMPL_ELEMENT && (how.op == OMPL_SUM || how.type <= OMPL_UINT64);
  return team.close && team.size() == 2 && commutes &&
         state().peers[team.members[1 - team.me]].mapped != nullptr;
}

// Those of a team are made for its first such reduction, and stay.
int open_lanes(Team& team, Lanes** lanes) {
  static auto* known = new std::map<const Team*, Lanes>;
  const auto [found, is_new] = known->try_emplace(&team);
  *lanes = &found->second;
  if (!is_new) return kOk;
  Lanes& made = found->second;
  made.own = static_cast<std::byte*>(allocate_component(2 * kLane));
  const uint64_t mine[2] = {as_number(made.own), 0};
  std::vector<uint64_t> told;
  if (const int stat = exchange(team, mine, &told); stat != kOk) {
    release_component(made.own);
    known->erase(found);
    return stat;
  }
  const uint32_t other = 1 - team.me;
  const uint64_t there = told[std::size_t{2} * other];
  if (made.own != nullptr && there != 0) made.other = direct(team.members[other], there, 2 * kLane);
  return kOk;
}

int reduce_by_lanes(Team& team, Lanes& lanes, std::byte* data, std::size_t bytes, std::size_t element,
                    const Operation& how, bool wanted) {
  std::size_t piece = 0;
  for (std::size_t done = 0; done < bytes; done += piece) {
    piece = std::min(kLane / element * element, bytes - done);
    const std::size_t lane = (lanes.turn++ & 1) * kLane;
    std::memcpy(lanes.own + lane, data + done, piece);
    uint32_t agreed = 0;
    if (const int stat = meet(team, mark_of(7, bytes), &agreed); stat != kOk) return stat;
    if (agreed == kMismatched)
      return refuse(kMismatch,
                    "the other image calls it with another size, or executes another statement");
    if (wanted) how.function(lanes.other + lane, data + done, piece / element, how.arg);
  }
  return kOk;
}

}  // namespace

int operation(ompl_op_fn function, void* arg, uint64_t key, std::size_t element, Operation* made) {
  using Key = std::tuple<ompl_op_fn, uint64_t, std::size_t>;
  static auto* known = new std::map<Key, int32_t>;
  const Key wanted{function, key, element};
  auto found = known->find(wanted);
  if (found == known->end()) {
    ompl_op_config config = OMPL_OP_CONFIG_INIT;
    config.function = function;
    config.arg = arg;
    config.element = element;
    config.commutative = 0;
    int32_t op = 0;
    if (const int code = ompl_op_create(&config, &op); code != OMPL_OK)
      return layer_error(code, state().me);
    found = known->emplace(wanted, op).first;
  }
  *made = {OMPL_ELEMENT, found->second, function, arg};
  return kOk;
}

int co_broadcast(void* data, std::size_t bytes, int source_image) {
  Team& team = *state().current;
  uint32_t rank = 0;
  if (const int code = rank_of_image(source_image, &rank); code != kOk) return code;
  if (bytes == 0) return kOk;
  if (is_short(team, bytes)) {
    const uint32_t source = static_cast<uint32_t>(source_image) - 1;
    Given given(team, data, bytes);
    const int code = given.meet_as_fits(source == team.me);
    return code != kOk ? code : given.read(source, data);
  }
  if (const int code = prepare(team); code != kOk) return code;
  ompl_request* request = nullptr;
  const int code = ompl_broadcast(team.layer, data, bytes, static_cast<uint32_t>(source_image) - 1,
                                  nullptr, &request);
  return finish(team, code, request);
}

int co_tell(void* data, std::size_t bytes, int source_image) {
  Team& team = *state().current;
  Given given(team, data, bytes);
  const int stat = given.meet_at_blocks();
  if (stat != kOk && stat != kFailed) return stat;
  const std::string said = why();
  const int code = given.read(static_cast<uint32_t>(source_image) - 1, data);
  if (code != kOk) return code;
  return stat == kOk ? kOk : refuse(stat, "%s", said.c_str());
}

int co_reduce(void* data, std::size_t count, std::size_t element, Operation how, int result_image) {
  Team& team = *state().current;
  uint32_t rank = 0;
  if (result_image != 0) {
    if (const int code = rank_of_image(result_image, &rank); code != kOk) return code;
  }
  if (count == 0 || element == 0) return kOk;
  if (count <= kSmall && element <= kSmall && is_short(team, count * element))
    return reduce_short(team, data, count, element, how, result_image == 0 || rank == state().me);
  if (fits_lanes(team, how)) {
    Lanes* lanes = nullptr;
    if (const int code = open_lanes(team, &lanes); code != kOk) return code;
    if (lanes->other != nullptr)
      return reduce_by_lanes(team, *lanes, static_cast<std::byte*>(data), count * element, element, how,
                             result_image == 0 || rank == state().me);
  }
  if (const int code = prepare(team); code != kOk) return code;
  ompl_request* request = nullptr;
  if (result_image == 0) {
    const int code =
        ompl_allreduce(team.layer, OMPL_IN_PLACE, data, count, how.type, how.op, nullptr, &request);
    return finish(team, code, request);
  }
  const uint32_t root = static_cast<uint32_t>(result_image) - 1;
  const bool here = root == team.me;
  const int code = ompl_reduce(team.layer, here ? OMPL_IN_PLACE : data, here ? data : nullptr, count,
                               how.type, how.op, root, nullptr, &request);
  return finish(team, code, request);
}

}  // namespace caf
