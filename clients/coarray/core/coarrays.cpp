// SPDX-License-Identifier: BSD-3-Clause
// Coarrays. Each team has memory in pieces, of which every member allocates its own and divides it by the same rule, so a
// coarray has the same place at all of them without a message. Where a piece of another member lies is asked when it is first used.
#include <algorithm>
#include <cstring>

#include "core/state.hpp"

namespace caf {
namespace {

constexpr std::size_t kSmallestPiece = std::size_t{1} << 20;
constexpr std::size_t kLargestStep = std::size_t{256} << 20;

uint64_t start_of(std::size_t piece) {
  return (uint64_t{piece} << kPieceShift) + Space::kUnit;  // so that no place is 0
}

// One more piece, in which `bytes` find room. Without memory its address stays 0, which meet() will tell the others.
bool grow(Team& team, std::size_t bytes) {
  if (team.pieces.size() >= kMostPieces || bytes > (uint64_t{1} << (kPieceShift - 1))) return false;
  const std::size_t room =
      std::max({bytes + Space::kUnit, kSmallestPiece, std::min(team.space.total(), kLargestStep)});
  const std::size_t piece = team.pieces.size();
  uint64_t offset = 0;
  std::byte* own = nullptr;
  if (ompl_alloc_local(room + Space::kUnit, &offset) == OMPL_OK)
    own = static_cast<std::byte*>(ompl_ptr(state().me, offset));
  team.pieces.push_back(own);
  team.known_pieces.emplace_back(team.size(), 0);
  team.block->pieces[piece] = as_number(own);
  team.space.add(start_of(piece), room);
  return true;
}

// Gives the last piece back; nothing in it is in use.
void shrink(Team& team) {
  const std::size_t piece = team.pieces.size() - 1;
  team.space.remove(start_of(piece));
  if (team.pieces[piece] != nullptr) ompl_free_local(own_offset(team.pieces[piece]));
  team.pieces.pop_back();
  team.known_pieces.pop_back();
}

std::byte* own_place(const Team& team, uint64_t place) {
  std::byte* const piece = team.pieces[place >> kPieceShift];
  return piece == nullptr ? nullptr : piece + (place & ((uint64_t{1} << kPieceShift) - 1));
}

void forget(Team& team, const Coarray* coarray) {
  const auto last = std::ranges::find(team.coarrays.rbegin(), team.coarrays.rend(), coarray);
  if (last != team.coarrays.rend()) team.coarrays.erase(std::next(last).base());
}

int complain(uint32_t agreed, std::size_t bytes) {
  if (agreed == kShort)
    return refuse(kNoMemory, "no memory for a coarray of %zu bytes on some image", bytes);
  return refuse(kMismatch,
                "a coarray of %zu bytes is allocated here, and other images allocate other sizes or "
                "execute another image control statement",
                bytes);
}

}  // namespace

int allocate(std::size_t bytes, Fill fill, Coarray** coarray) {
  Team& team = *state().current;
  const std::size_t pieces = team.pieces.size();
  uint64_t place = team.space.take(bytes);
  if (place == 0 && grow(team, bytes)) place = team.space.take(bytes);
  std::byte* const own = place == 0 ? nullptr : own_place(team, place);
  if (own != nullptr && fill == Fill::zero) std::memset(own, 0, bytes);
  uint32_t agreed = 0;
  const uint32_t mine = own == nullptr ? kShort : mark_of(4, bytes);
  const int stat = meet(team, mine, &agreed);
  const bool useless = agreed == kShort || agreed == kMismatched || own == nullptr;
  if ((stat != kOk && stat != kFailed) || useless) {
    if (place != 0) team.space.give(place);
    if (team.pieces.size() > pieces) shrink(team);
    return useless && (stat == kOk || stat == kFailed)
               ? complain(own == nullptr ? kShort : agreed, bytes)
               : stat;
  }
  *coarray = new Coarray{&team, place, bytes, own};
  team.coarrays.push_back(*coarray);
  return stat;
}

int release(Coarray* coarray) {
  Team& team = *coarray->team;
  uint32_t agreed = 0;
  const int stat = meet(team, mark_of(5, coarray->place), &agreed);
  if (stat != kOk && stat != kFailed) return stat;
  if (agreed == kMismatched)
    return refuse(kMismatch,
                  "other images deallocate another coarray or execute another image control statement");
  team.space.give(coarray->place);
  forget(team, coarray);
  delete coarray;
  return stat;
}

void release_all(Team& team) {
  for (Coarray* coarray : team.coarrays) {
    team.space.give(coarray->place);
    coarray->own = nullptr;  // its token may still be asked about
  }
  team.coarrays.clear();
}

void* own_memory(const Coarray* coarray) { return coarray->own; }
std::size_t bytes_of(const Coarray* coarray) { return coarray->bytes; }

int piece_address(Team& team, uint32_t member, unsigned piece, uint64_t* address) {
  uint64_t& known = team.known_pieces[piece][member];
  if (known == 0) {
    const uint64_t entry =
        team.blocks[member] + (as_number(&team.block->pieces[piece]) - as_number(team.block));
    if (const int code = get(team.members[member], entry, &known, sizeof known); code != kOk)
      return code;
  }
  *address = known;
  return kOk;
}

int address_on(const Coarray* coarray, uint32_t rank, uint64_t* address) {
  if (rank == state().me) {
    *address = as_number(coarray->own);
    return kOk;
  }
  Team& team = *coarray->team;
  uint32_t member = rank;
  if (&team != state().initial) {
    const auto found = team.index.find(rank);
    member = found == team.index.end() ? team.size() : found->second;
  }
  if (member >= team.size())
    return refuse(
        kWrong, "the coarray was not allocated on that image: it is not of the team that allocated it");
  uint64_t piece = 0;
  const auto number = static_cast<unsigned>(coarray->place >> kPieceShift);
  if (const int code = piece_address(team, member, number, &piece); code != kOk) return code;
  *address = piece + (coarray->place & ((uint64_t{1} << kPieceShift) - 1));
  return kOk;
}

}  // namespace caf
