// SPDX-License-Identifier: BSD-3-Clause
// The connections of one endpoint: made on first use, or when the other side's greeting comes; broken once and for all.
//
// Whoever wants to send takes a place among the greetings on the other side's board by a network atomic, puts its greeting
// there, and is answered with the steering address of a ring for its records.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "conduit/utofu/link.hpp"

namespace ompl::conduit::utofu {

// What a command reports when it cannot be carried out: the operation that is to end, or the link that has broken.
inline void* report_to(VcqOperation& operation) { return &operation; }
inline void* report_to(VcqLink& link) {
  return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(&link) | 1);
}

class Connections {
 public:
  Connections(const SharedState& shared, uint32_t slot, VcqOperationPool& operations);

  // Makes the board.
  int open(const Vcq& vcq);

  // The connection to `rank` if one was ever begun, else null. Any thread.
  [[nodiscard]] VcqLink* find(uint32_t rank) const { return links_.find(rank); }
  // The connection to `rank`, made if there is none.
  VcqLink& use(uint32_t rank);
  [[nodiscard]] const std::vector<std::unique_ptr<VcqLink>>& links() const { return links_.all(); }
  [[nodiscard]] const std::vector<std::unique_ptr<Incoming>>& incoming() const { return incoming_; }

  // How many records of `link` find room in its ring now. Lets the link know.
  uint64_t room(VcqLink& link);
  // A place among the greetings was given.
  void placed(VcqLink& link, uint64_t place);
  // The other side has found that so many of its records were taken.
  void tell(Incoming& from);
  // Somebody waits for commands that ask for no notice: a word that nobody reads follows them, whose notice is theirs.
  void settle();
  // To this side alone. False: there is no room yet.
  bool settle(VcqLink& link);
  // Takes greetings and answers, tries sides that are silent. Returns how much there was. Outside of records' delivery.
  int progress();

  // Whether a command of its own was answered BUSY since this was asked last: the queue's room must be given back, even
  // if no operation is outstanding.
  bool refused() { return std::exchange(refused_, false); }

  // A command to that VCQ, or one that reports to `cbdata`, ended with that code. Nothing is sent there again [18].
  void lost(utofu_vcq_id_t vcq, int code);
  void lost(VcqLink& link, int code);
  // `rank` will close its endpoint in order.
  void said_goodbye(uint32_t rank);
  // Something is complete that used a caller's memory.
  void part_if_idle(VcqLink& link);
  // Tells a side whose ring is not there yet that this one will. False: there is no room yet.
  bool say_goodbye(VcqLink& link);

 private:
  VcqLink& add(uint32_t rank);
  int take_greetings();
  void welcome(const BoardGreeting& greeting);
  bool advance(VcqLink& link);
  int note(int code);
  void heartbeat();
  void try_out(VcqLink& link) { put_word(link, Board::kHeartbeat, 0); }
  bool put_word(VcqLink& link, std::size_t place, uint64_t word);
  void fail(VcqLink& link, int code, std::string_view why);
  [[nodiscard]] const std::vector<uint64_t>& slots_of(uint32_t rank) const {
    return (*shared_.peers)[rank].slots;
  }
  template <class T>
  T* on_board(std::size_t offset) const {
    return reinterpret_cast<T*>(board_.data() + offset);
  }

  const SharedState& shared_;
  const uint32_t slot_;
  VcqOperationPool& operations_;
  const Vcq* vcq_ = nullptr;
  Pages board_;
  Registered board_memory_;
  uint64_t greetings_ = 0;  // taken
  LinkTable<VcqLink> links_;
  std::vector<std::unique_ptr<Incoming>> incoming_;
  bool refused_ = false;
  unsigned connecting_ = 0;     // links that are not up yet, and rings not offered
  int64_t last_heartbeat_ = 0;  // ms
  uint32_t polls_ = 0;          // that found nothing
};

}  // namespace ompl::conduit::utofu
