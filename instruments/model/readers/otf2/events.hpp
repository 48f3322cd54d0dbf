// SPDX-License-Identifier: BSD-3-Clause
// The events of a location of an OTF2 archive as calls of MPI: what lies between entering a function of MPI and leaving
// it is one call.
//
// OTF2 says what a nonblocking receive, or a nonblocking collective, was only where it was completed. So calls are read
// ahead to there, but not further than kLookAhead of them: one completed later is taken to be posted where it is completed.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/readers/call_reader.hpp"
#include "model/readers/otf2/definitions.hpp"

namespace ompl::model::otf2 {

inline constexpr std::size_t kLookAhead = 65536;

// Where calls are made: a function of MPI in a region of the program, or in none. Numbers are given while the archive
// is read for the first time, from 1; 0 is unknown.
class Sites {
 public:
  uint32_t add(uint32_t function, uint32_t region) {
    const auto next = static_cast<uint32_t>(numbers_.size() + 1);
    return numbers_.emplace(std::pair{function, region}, next).first->second;
  }
  [[nodiscard]] uint32_t find(uint32_t function, uint32_t region) const {
    const auto found = numbers_.find({function, region});
    return found == numbers_.end() ? 0 : found->second;
  }
  [[nodiscard]] const std::map<std::pair<uint32_t, uint32_t>, uint32_t>& all() const {
    return numbers_;
  }

 private:
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> numbers_;
};

class Rank : public CallReader {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;  // a thread that is no rank: it must not call MPI

  // `new_sites`: where to add sites that `sites` has not; may be null.
  Rank(const Definitions& definitions, Archive& archive, uint64_t location, uint32_t rank,
       const Algorithms& algorithms, const Sites& sites, Sites* new_sites = nullptr);

  // Reads all there is, for its sites and errors. Ends with its file closed.
  void scan();

 protected:
  bool next_call(trace::CallView& view) override;
  [[nodiscard]] const Members& group(uint32_t communicator) override;
  [[nodiscard]] uint32_t site(const trace::Record& call) const override { return call.site; }
  [[nodiscard]] std::string name(const trace::Record& call) const override;

 private:
  struct Call {
    trace::Record record{};
    std::vector<trace::Record> matches;
    std::vector<uint32_t> ids;
    std::vector<uint64_t> sent, received;
    bool open = false;  // what it was is not known yet
  };
  struct Request {
    uint32_t number;  // as records have it
    uint64_t place;   // of the call that posted it, counted from the first
  };
  static constexpr int32_t kNoLevel = -1;  // Score-P does not tell that of MPI_Pcontrol
  friend struct Handlers;                  // OTF2's callbacks

  void at(uint64_t time);
  void enter(uint32_t region);
  void leave(uint32_t region);
  void leave_own(uint32_t region);
  [[nodiscard]] std::string who() const;
  void flush(uint64_t stop);
  void context(uint32_t context, uint32_t distance);
  void level(uint32_t parameter, int64_t value);
  void parameter(uint32_t parameter, uint64_t value);
  void send(uint32_t peer, uint32_t communicator, uint32_t tag, uint64_t bytes);
  void receive(uint32_t peer, uint32_t communicator, uint32_t tag, uint64_t bytes);
  void post_send(uint32_t peer, uint32_t communicator, uint32_t tag, uint64_t bytes, uint64_t request);
  void post(uint64_t request);  // a receive or a collective
  void sent(uint64_t request);
  void received(uint32_t peer, uint32_t communicator, uint32_t tag, uint64_t bytes, uint64_t request);
  void cancelled(uint64_t request);
  void collective(OTF2_CollectiveOp operation, uint32_t communicator, uint32_t root, uint64_t sent,
                  uint64_t received);
  void collective_done(OTF2_CollectiveOp operation, uint32_t communicator, uint32_t root, uint64_t sent,
                       uint64_t received, uint64_t request);

  void read();
  void require_call() const;
  trace::Record message(trace::Kind kind, uint32_t peer, uint32_t communicator, uint32_t tag,
                        uint64_t bytes) const;
  trace::Record collective_record(OTF2_CollectiveOp operation, uint32_t communicator, uint32_t root,
                                  uint64_t sent, uint64_t received);
  // The kind of the present call if it is of this group, else another.
  trace::Kind kind_or(trace::Group group, trace::Kind other) const;
  uint32_t open_request(uint64_t request);
  Call* find_open(uint64_t request);
  void complete(uint64_t request);
  Call& make(const trace::Record& record);
  void finish_call();
  void give_up(Call& call);

  const Definitions& definitions_;
  Archive& archive_;
  uint64_t location_;
  const Sites& sites_;
  Sites* new_sites_;
  OTF2_EvtReader* events_ = nullptr;
  bool ended_ = false;
  uint64_t read_ = 0;  // events
  Caught caught_;

  uint64_t start_ = 0, time_ = 0;  // of the first event, and of the present one
  bool begun_ = false;
  std::vector<uint32_t> regions_;  // of the program, entered
  // The present call.
  uint32_t depth_ = 0;  // regions entered since it began, it among them; 0: none
  uint32_t function_ = 0;
  trace::Kind kind_{};
  uint64_t begin_ = 0;
  uint32_t site_ = 0;
  bool is_placed_ = false;  // the site tells more than the function
  std::vector<Call> made_;
  std::vector<trace::Record> sends_, receives_;
  std::vector<uint32_t> completed_;
  std::vector<uint64_t> bytes_to_, bytes_from_;
  int32_t level_ = kNoLevel;
  bool found_ = false;

  std::deque<Call> calls_;
  uint64_t first_ = 0;  // the place of the first of them
  Call current_;
  uint32_t posted_ = 0;
  std::unordered_map<uint64_t, Request> requests_;
  std::unordered_map<uint32_t, Members> groups_;
  trace::CommunicatorInfo self_;
};

}  // namespace ompl::model::otf2
