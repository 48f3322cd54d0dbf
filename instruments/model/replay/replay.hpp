// SPDX-License-Identifier: BSD-3-Clause
// Replays a trace under a model: the time it would take on a machine, and where the time goes.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/replay/parameters.hpp"
#include "model/trace.hpp"

namespace ompl::model {

class Timeline;

struct Options {
  bool sharing = true;  // messages to one receiver share its bandwidth (LogGOPS: follow each other)
  double noise = 0;     // computation takes longer by this part on average, exponentially distributed
  uint64_t seed = 1;    // of the noise
  uint64_t eager_buffer =
      0;  // bytes that a rank may have sent another before they are received; 0: no limit
  unsigned threads = 1;  // that replay, at most; how many makes no difference to what is predicted
};

// Nanoseconds. Their sum is the thread's time.
struct Breakdown {
  double compute = 0;
  double overhead = 0;   // in calls, unless it is one of:
  double send_wait = 0;  // from a request's arrival to the call of the receive
  double recv_wait = 0;  // from the call of the receive to the arrival of the message

  Breakdown& operator+=(const Breakdown& other) {
    compute += other.compute;
    overhead += other.overhead;
    send_wait += other.send_wait;
    recv_wait += other.recv_wait;
    return *this;
  }
};

// A message or receive without a partner.
struct Unmatched {
  bool is_send;
  uint32_t thread;
  int32_t peer, tag;
  uint64_t bytes;
  uint32_t site;
};

// A stretch of the critical path on one rank.
struct PathStep {
  uint32_t rank;
  double from_ns, to_ns;
  uint32_t site;  // of the call that the stretch ends with a message from; of the last: 0
};

struct Result {
  double predicted_ns = 0;
  double region_ns = -1;  // between marks, of the rank that took longest; less than 0: there are none
  std::vector<Breakdown> per_thread;  // as the trace numbers them
  std::vector<Breakdown> per_rank;    // the sums over its threads
  std::vector<Breakdown> per_site;    // empty if the trace knows no call sites
  unsigned threads = 1;               // that replayed it
  uint64_t messages = 0;
  uint64_t rendezvous = 0;           // of them
  uint64_t shortest_rendezvous = 0;  // bytes; 0 if there was none by its length
  std::vector<Unmatched> unmatched;  // at most kMostNamed
  uint64_t unmatched_count = 0;
  std::vector<std::string>
      blocked;  // not empty: a deadlock; each thread that stands still, at most kMostNamed
  uint64_t blocked_count = 0;
  std::map<std::string, uint64_t> not_modelled;  // calls taken for computation, by name
  static constexpr std::size_t kMostNamed = 100;
};

// What the predicted time is made of along the critical path: the counts of each parameter, which are the
// derivatives of the time, and the way itself.
struct Sensitivity {
  std::array<double, term_count> count{};
  std::vector<PathStep> path;  // from the start; the last kMostSteps of them
  uint64_t steps = 0;
  static constexpr std::size_t kMostSteps = 1000;
};

// Throws InputError for a trace that makes no sense. `timeline`: learns what each rank did and when, if it is given.
[[nodiscard]] Result replay(const Trace& trace, const Parameters& parameters, const Options& options,
                            Timeline* timeline = nullptr);
// The same by slower clocks.
[[nodiscard]] Sensitivity trace_critical_path(const Trace& trace, const Parameters& parameters,
                                              const Options& options);

}  // namespace ompl::model
