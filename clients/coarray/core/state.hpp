// SPDX-License-Identifier: BSD-3-Clause
// The image's state, shared by the parts of the core.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <unordered_map>

#include "core/core.hpp"
#include "core/space.hpp"

namespace caf {

constexpr int kRounds = 32;
constexpr int kMostPieces = 64;
constexpr std::size_t kSmall = 4096;
constexpr std::size_t kBoxed = 120;
constexpr uint32_t kMostBoxes = 4;
constexpr int kPieceShift = 40;  // a place in a team's memory: piece number << 40 | offset in the piece

// A meeting's word from one member, and what that gives to a short collective: mostly one cache line.
struct alignas(64) Box {
  uint64_t word;
  std::byte data[kBoxed];
};

// What the members of a team read and write at each other. One of each member, in its segment.
struct Block {
  Box boxes[kMostBoxes]
           [2];         // by member and parity of the epoch; in place of `arrivals` in a close team
  uint64_t entered[2];  // by parity of the epoch: epoch << 32 | value, once it has come to that meeting
  uint64_t arrivals[kRounds][2];  // by round and parity: the same, from the partner of the round
  uint64_t exchange[2][2];        // what is told at an exchange, by parity of their number
  uint64_t pieces[kMostPieces];   // addresses of the own pieces of the team's memory
  std::byte small[2][kSmall];     // what is given to a collective, by parity of the number of exchanges
  uint64_t collectives;           // how many this member has started
  uint64_t leaving;               // 1: it has come to the end of the program
};

struct Team {
  Team* parent = nullptr;
  int number = -1;
  std::vector<uint32_t> members;  // ranks, in the order of their images
  std::unordered_map<uint32_t, uint32_t> index;
  uint32_t me = 0;
  Block* block = nullptr;
  std::vector<int> numbers;      // of the teams that the members of the parent formed with it
  std::vector<uint64_t> blocks;  // addresses of the members' blocks, each in its process
  uint32_t epoch = 0;
  uint32_t exchanges = 0;
  Space space;
  std::vector<std::byte*> pieces;                   // own
  std::vector<std::vector<uint64_t>> known_pieces;  // [piece][member], 0: not asked yet
  std::vector<Coarray*> coarrays;                   // allocated in it, in order
  ompl_team* layer = nullptr;                       // made for the first collective
  bool broken = false;                              // a collective of it was given up
  bool close = false;  // a few members of a job that all map each other: they meet all at once

  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(members.size()); }
};

struct Coarray {
  Team* team;
  uint64_t place;
  std::size_t bytes;
  std::byte* own;
};

// The segment of a rank.
struct Peer {
  uint64_t base = 0;            // address of offset 0 in its process
  uint64_t end = 0;             // and of its end
  std::byte* mapped = nullptr;  // where offset 0 is mapped here, or null
};

struct State {
  uint32_t me = 0;
  uint32_t size = 0;
  std::vector<Peer> peers;
  Team* initial = nullptr;
  Team* current = nullptr;
  std::vector<uint32_t> synced;  // sync images: how often this image has met each rank
  uint32_t* counters = nullptr;  // and how often each rank has met this one: [size], in the segment
  std::vector<uint64_t> counters_at;
  std::vector<bool> failed, stopped;
  std::size_t failures = 0, stops = 0;
  uint64_t seed = 0;
  int64_t look = 50'000'000;  // ns, at most, until a wait notices that an image has stopped
  bool ended = false;
};
State& state();

inline uint64_t as_number(const volatile void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }
inline uint64_t own_offset(const volatile void* pointer) {
  return as_number(pointer) - state().peers[state().me].base;
}
// The offset in the rank's segment of [address, address + bytes), or 0 if it is not inside.
inline uint64_t offset_in(uint32_t rank, uint64_t address, std::size_t bytes) {
  const Peer& peer = state().peers[rank];
  if (address < peer.base || address >= peer.end || bytes > peer.end - address) return 0;
  return address - peer.base;
}

// --- Between the parts
// A number below the marks that stands for a statement and its arguments, for meet().
constexpr uint32_t kMismatched = 0xFFFFFFFF;
constexpr uint32_t kShort = 0xFFFFFFFE;
uint32_t mark_of(uint32_t statement, uint64_t argument);
// Waits for all members, which tell each other a value: *agreed is it, kShort if one said so, or kMismatched. An error is
// kFailed (the others have met) or kStopped.
// `data`, for the others' boxes, goes along in a close team alone.
int meet(Team& team, uint32_t mine, uint32_t* agreed, const void* data = nullptr,
         std::size_t bytes = 0);  // meeting.cpp
bool is_close(const Team& team);
// meet(), and every member's two words in theirs[2 * member]; those of failed members stay 0.
int exchange(Team& team, const uint64_t mine[2], std::vector<uint64_t>* theirs);

bool learn();  // failures.cpp: takes in news of failed and stopped ranks; whether there were any
// kStopped or kFailed if a member is stopped or failed, else 0.
int trouble_in(const Team& team);
// Waits until the condition on an own word holds, or hopeless() says no with a code other than 0.
template <class Hopeless>
int await(const ompl_condition& condition, Hopeless hopeless) {
  for (;;) {
    const int code = ompl_ctx_wait_until(OMPL_CTX_DEFAULT, &condition, state().look);
    if (code == OMPL_OK) return kOk;
    if (code != OMPL_ERR_TIMEOUT && code != OMPL_ERR_PEER && code != OMPL_ERR_LINK)
      return layer_error(code, state().me);
    learn();
    const int stat = hopeless();
    if (stat == kOk) continue;
    return ompl_ctx_wait_until(OMPL_CTX_DEFAULT, &condition, 0) == OMPL_OK ? kOk : stat;
  }
}

int piece_address(Team& team, uint32_t member, unsigned piece, uint64_t* address);  // coarrays.cpp
void release_all(Team& team);         // coarrays.cpp: of this image alone
int make_initial_team();              // teams.cpp
int start_components(uint64_t* end);  // components.cpp: the first piece, and the end of the segment
int start_services();                 // far.cpp
void begin_mpi();                     // mpi.cpp: where the program is linked with MPI
void end_mpi();
int far_get(uint32_t rank, uint64_t address, void* local, std::size_t bytes);
int far_put(uint32_t rank, uint64_t address, const void* local, std::size_t bytes);
void sent_to(uint32_t rank);         // transfer.cpp: something is under way to it
void signalled_to(uint32_t rank);    // a signal or an atomic without a result is
bool nothing_but_to(uint32_t rank);  // all that is under way is this thread's, to that rank

}  // namespace caf
