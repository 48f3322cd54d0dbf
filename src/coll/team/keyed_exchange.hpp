// SPDX-License-Identifier: BSD-3-Clause
// How ranks exchange a number each, without a team: to make one and to end one. Every rank has a channel to every other.
//
// A word says what exchange it is for. After a death not all members of a team need come to the same exchanges any more: one has heard of it,
// and goes on, while another one still waits there. So words of other exchanges are passed over, and the last one is kept: it may be
// for an exchange that this rank has not come to yet. As nobody ends an exchange before it has heard all, only those in which a member has failed
// are left half done, and these are never met again.
//
// Lists that differ name different ranks, so some may wait for one that does not know of them. Whoever finds that withdraws its words
// from all in its list: these end with the same error, and withdraw theirs. An exchange passes over what was withdrawn before all ranks
// of the job last met; what was withdrawn since may be for itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "coll/channel.hpp"
#include "core/job/runtime.hpp"

namespace ompl::coll {

class KeyedExchange {
 public:
  struct Word {
    uint64_t key;    // of the exchange; the same at all who come to it
    uint64_t value;  // what this rank has to tell
    // Set by exchange(): whom this rank exchanges with, in any order, 0 if it knows of a failure; how often all ranks of the job have met before.
    uint64_t among = 0;
    uint64_t met = 0;
  };

  // `memory`: offset of bytes(), zero, at every rank.
  KeyedExchange(Runtime& runtime, uint64_t memory);

  // Of memory; what comes behind begins at a line.
  static uint64_t bytes(uint32_t ranks);

  // Tells each of `ranks` the value and stores what each tells, by its place in the list. Blocks until all have. Called by all of
  // them, one thread at a time. Errors: OMPL_ERR_PEER, OMPL_ERR_LINK (one of them has failed; the others have been told all the same), OMPL_ERR_ARG
  // (one has come to another exchange; all get that whose list names one that finds it, or one that gets it. If the lists named different
  // ranks, so does who tries again before all ranks of the job have met in a barrier). `caller`: for their texts.
  int exchange(Context& c, std::string_view caller, const std::vector<uint32_t>& ranks,
               const Word& said, std::vector<uint64_t>* values);

 private:
  struct Side {
    Channel channel;
    std::optional<Word> kept{};  // the last one, if it was not for an exchange so far
    bool complained = false;     // of that one
    uint32_t sound = 0;          // words that this rank has sent and not withdrawn
    uint64_t told = 0;           // Channel::withdraw()
  };
  // With one rank; and how far it is.
  struct Partner {
    std::size_t place;
    bool told = false;
    bool heard = false;
  };
  // What has come of all, for one exchange.
  struct Outcome {
    int failure = OMPL_OK;
    uint32_t failed = 0;
    bool differs = false;
    bool hopeless = false;  // not all in the list need ever be heard
    bool again = false;

    void fail(int code, uint32_t rank) {
      again = true;  // with who was asked before
      if (failure == OMPL_OK) failed = rank, failure = code;
    }
    // Of the exchange; its text is recorded.
    [[nodiscard]] int code(std::string_view caller) const;
  };
  bool tell(Context& c, uint32_t rank, const Word& mine, Outcome* outcome);
  void withdraw(Caller& by, const std::vector<uint32_t>& ranks);
  void skip_withdrawn(Context& c, uint32_t rank, const Word& mine, Outcome* outcome);
  bool is_withdrawn(const std::vector<uint32_t>& ranks, const std::vector<Partner>& left) const;
  bool hear(Context& c, uint32_t rank, const Word& mine, uint64_t* value, Outcome* outcome);

  Runtime& runtime_;
  std::vector<Side> sides_;  // by rank
};

}  // namespace ompl::coll
