// SPDX-License-Identifier: BSD-3-Clause
// Two members of a team on one tag: what goes from here to the peer, and what comes from it. Data land in cells of the
// receiver's segment, taken in turn, each with its flag; long data may go straight into the receiver's buffer, once it has
// said where that is. Signals only add to a word, or set it to what its reader cannot have seen [5], and nothing is reset.
//
// Thread rule: one thread at a time, which has claimed the tag queue.
#pragma once

#include <cstddef>
#include <cstdint>

#include "coll/progress/offload_queue.hpp"
#include "core/data/handle.hpp"
#include "core/job/context.hpp"
#include "core/memory/global_memory.hpp"

namespace ompl::coll {

// Where a message lands. The flag counts the messages that came to this cell.
struct Cell {
  uint32_t arrived;
  uint32_t unused;
  uint32_t taken;  // from here on put: cells that the sender has taken of the channel the other way
  uint32_t
      failure;  // 0, or the error, negated, with which the sender's part of the collective has failed: there are no data
};

// What a peer signals besides, in the memory of the rank that it signals.
struct alignas(arch::kCacheLine) Words {
  uint32_t taken;  // cells that the peer has taken of what was sent to it
  uint64_t
      place;  // where its next long message is to go: kPlaceTag bits of its number, then the offset, 0: through cells
  uint64_t
      landed;  // bytes that have come straight, or will not come; above kFailureShift, then, a failure as in Cell
  uint64_t
      withdrawn;  // the peer's messages up to the number in the low half are void from behind that in the high half
};

// What any member signals to every other one.
struct alignas(arch::kCacheLine) Notice {
  uint32_t left;  // members that cannot go on: the team is of no use any more
};

// How far a member has come on a channel: written by whoever carries out its tag queue, the member or the node's progress thread.
struct alignas(arch::kCacheLine) Counters {
  // Cells of the peer used, and of these known to be free again; own cells taken, and of these told by any way, and by
  // the peer's Words::taken.
  uint32_t sent;
  uint32_t freed;
  uint64_t taken;  // never begins again, as the flags of cells do not
  uint32_t told;
  uint32_t acknowledged;
  uint16_t places_said;
  uint16_t places_heard;
  uint64_t landed;  // of Words::landed, by messages before
};

// Where things are in the memory that a member has for a team: the Notice, Words of every tag and peer, then their Counters,
// then an OffloadQueue of each tag, then cells.
struct TeamLayout {
  uint32_t members = 1;
  uint32_t tags = 1;
  uint32_t stride = 256;  // bytes of a cell

  static constexpr uint32_t kCells = 8;  // of a channel
  [[nodiscard]] uint64_t pairs() const { return uint64_t{members} * tags; }
  [[nodiscard]] uint64_t words(uint32_t tag, uint32_t peer) const {
    return sizeof(Notice) + (uint64_t{tag} * members + peer) * sizeof(Words);
  }
  [[nodiscard]] uint64_t counters(uint32_t tag, uint32_t peer) const {
    return words(tags, 0) + (uint64_t{tag} * members + peer) * sizeof(Counters);
  }
  [[nodiscard]] uint64_t offload_queue(uint32_t tag) const {
    return counters(tags, 0) + tag * sizeof(OffloadQueue);
  }
  [[nodiscard]] uint64_t cells(uint32_t tag, uint32_t peer) const {
    return offload_queue(tags) + (uint64_t{tag} * members + peer) * kCells * stride;
  }
  [[nodiscard]] uint64_t cell_bytes() const { return pairs() * kCells * stride; }
  [[nodiscard]] uint64_t bytes() const { return cells(tags, 0); }
  // Bytes of data that a cell takes.
  [[nodiscard]] uint32_t room() const { return stride - static_cast<uint32_t>(sizeof(Cell)); }
};

class Channel {
 public:
  // The memory of the member at `here`, of the peer at `there`, for each other; `staging`: own memory for as many
  // cells, nullptr if the peer's memory is mapped.
  struct Ends {
    uint32_t member = 0;  // the rank whose channel it is: this one, or one that it maps
    uint32_t rank = 0;    // of the peer
    uint64_t words_here = 0, counters_here = 0, cells_here = 0;
    uint64_t words_there = 0, cells_there = 0;
    std::byte* staging = nullptr;
    uint32_t stride = 0;
  };
  Channel(const GlobalMemory& memory, const Ends& ends);

  // Whether a cell of the peer is free.
  bool may_send();
  // Sends at most TeamLayout::room() bytes, which may be used again at once; or, if `failure` is not OMPL_OK, nothing but that. OMPL_OK, one of
  // OMPL_RETRY_* (nothing was sent), or an error.
  int send(Context& c, const std::byte* data, std::size_t length, int failure);

  // The next message, nullptr if it has not come; its data are this rank's until take(), unless it has only a `failure`.
  std::byte* arrived(int* failure) const;
  // Gives the cell back.
  void take();
  // Tells the peer how many cells were taken, if it may soon need to know. OMPL_OK, OMPL_RETRY_* or an error.
  int acknowledge(Context& c);

  // Declares void what was sent behind the first `sound` messages: `told` is what was said of that before. OMPL_OK or an error.
  int withdraw(Context& c, uint32_t sound, uint64_t* told);
  [[nodiscard]] uint32_t sent() const { return count_->sent; }
  // Whether the peer has declared void the message that was taken last; or the next one, if that is sound no more.
  [[nodiscard]] bool is_last_withdrawn() const;
  [[nodiscard]] bool is_next_withdrawn() const;

  // Long messages. The receiver says where, 0: through cells; OMPL_OK, OMPL_RETRY_* or an error.
  int say_place(Context& c, uint64_t offset);
  // What the peer said of the next one; false: nothing yet. True once for each.
  bool hear_place(uint64_t* offset);
  // Puts a piece of it; OMPL_OK, OMPL_PENDING (the handle is then in use), OMPL_RETRY_*, or an error.
  int put(Context& c, const std::byte* data, uint64_t offset, std::size_t length, Handle* handle);
  // Says of all bytes that are left that they will not come. OMPL_OK, OMPL_RETRY_* or an error.
  int give_up(Context& c, uint64_t length, int failure);
  // Whether `length` bytes have come straight, or `failure` instead of some. True once for each message.
  bool landed(uint64_t length, int* failure);

  [[nodiscard]] uint32_t rank() const { return ends_.rank; }
  [[nodiscard]] bool mapped() const { return mapped_ != nullptr; }

 private:
  [[nodiscard]] uint64_t cell_at(uint64_t number) const {
    return number % TeamLayout::kCells * ends_.stride;
  }

  const Ends ends_;
  std::byte* mapped_;  // the peer's cells, if they are mapped
  std::byte* cells_;   // own
  Words* words_;       // own
  Counters* count_;    // own
};

}  // namespace ompl::coll
