// SPDX-License-Identifier: BSD-3-Clause
// One job from start to end: the ranks' processes, their output, their PMI sessions, and the rule that they
// end together.
#pragma once

#include <sys/resource.h>

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "binding.hpp"
#include "event_loop.hpp"
#include "leftovers.hpp"
#include "options.hpp"
#include "pmi_server.hpp"
#include "spawn.hpp"
#include "streams.hpp"

namespace omplrun {

class Job {
 public:
  explicit Job(const Options& options);

  // Starts the ranks and returns omplrun's exit code once all is over.
  int run();

 private:
  using Clock = std::chrono::steady_clock;

  struct Rank {
    pid_t pid = -1;  // of the running process, else -1
    Fd pmi;
    ompl::bootstrap::pmi1::LineBuffer lines;
    std::unique_ptr<RankStream> output;
    std::unique_ptr<RankStream> errors;  // null: goes with the output
    pid_t group = -1;                    // of processes that outlive the rank, else -1
    Clock::time_point helped_until;      // when those are ended
  };
  // A rank's process that has been waited for.
  struct Ended {
    uint32_t rank;
    pid_t pid;
    int status;
  };
  enum class Phase { running, ending, killing };

  // Start
  void limit_descriptors();
  bool start();
  bool start_rank(uint32_t rank);
  std::vector<std::string> environment_of(uint32_t rank, int pmi) const;
  // Events
  void on_signals();
  void on_user_signal(int signal);
  void suspend();
  void on_children();
  void on_stops();
  void reap();
  void tell_ends();
  void tell_abort();
  void on_rank_end(const Ended& end);
  void look_at_helpers();
  void rank_failed(int exit_code, const std::string& why);
  void on_pmi(uint32_t rank);
  void handle_pmi_line(uint32_t rank, std::string_view line);
  void send(const PmiServer::Reply& reply);
  void check_barrier();
  void on_broken(std::string_view stream, int error);
  void on_time();
  // End
  void end(int exit_code, const std::string& why);
  void kill_for_user();
  void kill_ranks();
  void signal_ranks(int signal) const;
  void end_helpers(uint32_t rank);
  void sweep();
  [[nodiscard]] bool over() const;
  [[nodiscard]] std::chrono::milliseconds time_left() const;
  void report(std::string_view text);

  Options options_;
  std::optional<rlimit> descriptors_;  // the limit that omplrun was started with, and its ranks are
  bool joined_streams_ = false;  // too few descriptors: ranks' standard error goes with their output
  timespec begun_ = time_of_files();
  std::string mark_;
  std::set<pid_t> elders_;  // processes whose parent was this process before it became omplrun
  Signals signals_;
  Guard guard_;
  Binding binding_;
  EventLoop loop_;
  Sink out_;
  Sink err_;
  Input input_;
  PmiServer server_;
  std::vector<Rank> ranks_;
  uint32_t running_ = 0;  // ranks whose process has not ended
  uint32_t helped_ = 0;   // ranks that have ended, but not all that they started

  // What has happened and is not told yet: the first failure decides, and what it made others do may be seen before it.
  std::vector<Ended> ended_;
  std::optional<std::pair<int, std::string>> abort_;  // code and text
  std::optional<Clock::time_point> tell_by_;

  Phase phase_ = Phase::running;
  std::optional<Clock::time_point> deadline_;  // of the phase
  std::optional<Clock::time_point> mercy_;     // for ranks that do not end by a signal of the user's
  std::optional<int> exit_code_;               // decided by the first failure
  int passed_on_ = 0;                          // the last signal that the user sent
};

}  // namespace omplrun
