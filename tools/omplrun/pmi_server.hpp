// SPDX-License-Identifier: BSD-3-Clause
// The launcher's side of PMI-1: the key-value space and the barrier of one job, without input or output.
// It takes lines that came from ranks and says what to answer; every line is outside bytes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/pmi1_wire.hpp"

namespace omplrun {

class PmiServer {
 public:
  // Where a rank stands: it may exit properly before init and after finalize, not in between.
  enum class Session { none, open, finalized };

  struct Reply {
    uint32_t rank;
    std::string line;
  };

  // What follows from a line.
  struct Result {
    std::vector<Reply> replies;     // to be sent in this order
    std::string violation;          // not empty: the rank broke the protocol, and in what way
    std::optional<int> abort_code;  // the rank wants the whole job to end with this exit code
  };

  // `job` is a word unique to this job; `nodes` has the node number of each rank.
  PmiServer(std::string job, const std::vector<uint32_t>& nodes);

  Result handle(uint32_t rank, std::string_view line);

  // The rank's process has ended. Ends its session too.
  void rank_ended(uint32_t rank);
  // A rank that ended while others wait for it in the barrier, which can then never be complete.
  [[nodiscard]] std::optional<uint32_t> missing_from_barrier() const;

  [[nodiscard]] Session session(uint32_t rank) const { return ranks_[rank].session; }

 private:
  using Pmi1Message = ompl::bootstrap::pmi1::Pmi1Message;

  struct Rank {
    Session session = Session::none;
    bool in_barrier = false;
    bool ended = false;
  };

  Result init(uint32_t rank, const Pmi1Message& message);
  Result put(uint32_t rank, const Pmi1Message& message);
  Result get(uint32_t rank, const Pmi1Message& message);
  Result barrier(uint32_t rank);
  Result finalize(uint32_t rank);

  std::string job_;
  std::vector<Rank> ranks_;
  uint32_t waiting_ = 0;  // ranks in the barrier
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace omplrun
