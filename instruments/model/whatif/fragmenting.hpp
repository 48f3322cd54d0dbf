// SPDX-License-Identifier: BSD-3-Clause
// Messages cut into pieces that need no synchronization (LogGPS paper, section 4.4): what it costs, and the program that
// does it.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "model/replay/parameters.hpp"
#include "model/trace.hpp"

namespace ompl::model {

// Nanoseconds from the call of a send to the end of its receive, without waiting: equations (1) and (2).
[[nodiscard]] double eager_ns(const Parameters& parameters, uint64_t bytes);

// Before anything is replayed: so many bytes as messages of S bytes, one after the other.
struct FragmentingCost {
  uint64_t messages;
  double ns;
};
[[nodiscard]] FragmentingCost fragmenting_cost(const Parameters& parameters, uint64_t bytes);

// A trace in which every message longer than `most` bytes, but those of collectives and of MPI_Bsend, is sent as several: all of `most`
// bytes but the last, one call each. Throws InputError for a receive that does not say which message it gets, and if that
// depends on which of two threads of a rank comes first.
class Fragmented : public Remade {
 public:
  // `trace` must live longer.
  Fragmented(const Trace& trace, uint64_t most);

  [[nodiscard]] std::unique_ptr<Stream> open() const override { return open_with({}); }
  [[nodiscard]] std::unique_ptr<Stream> open_with(const Algorithms& algorithms) const override;

 private:
  friend class FragmentedStream;
  // What messages of one kind follow each other by.
  struct Channel {
    uint32_t source, target, communicator;
    int32_t tag;
    bool operator==(const Channel&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Channel& channel) const;
  };
  struct Run {
    uint64_t bytes, count;
  };
  static Channel channel_of(uint32_t rank, const Op& op);
  void keep_to_one_thread(const Channel& channel, const Op& op, uint32_t thread);
  [[nodiscard]] bool may_be_cut(const Op& op) const;

  uint64_t most_;
  std::unordered_map<Channel, std::vector<Run>, Hash> sent_;  // lengths in the order of the sends
  std::unordered_map<Channel, uint32_t, Hash> senders_, receivers_;  // threads, if any rank has several
};

}  // namespace ompl::model
