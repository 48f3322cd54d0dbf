// SPDX-License-Identifier: BSD-3-Clause
// Decides among the candidates for one kind of call by trials among the program's own calls. Nothing is known here but what all
// members have agreed on, so all decide the same: a plan says what the calls of an epoch take; then members agree on a
// time for each of its runs, from which the next plan follows. docs/explanation/collectives.md says why it decides as it does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ompl::coll {

// Calls one after the other that take the same candidate.
struct Run {
  uint32_t candidate = 0;
  uint32_t calls = 0;

  bool operator==(const Run&) const = default;
};
using Plan = std::vector<Run>;

// A member's own part of tuning: it takes the candidates that a plan names, call by call, and notes how long each took.
class Epoch {
 public:
  explicit Epoch(Plan plan) : plan_(std::move(plan)) {}

  [[nodiscard]] bool over() const { return run_ == plan_.size(); }
  // Of the next call; not once it is over.
  [[nodiscard]] uint32_t candidate() const { return plan_[run_].candidate; }
  // How long that call took, in seconds.
  void note(double seconds);
  // Of each run so far, the lower median: what disturbs a call makes it longer, never shorter.
  [[nodiscard]] const std::vector<double>& times() const { return times_; }

 private:
  Plan plan_;
  std::size_t run_ = 0;
  std::vector<double> noted_;  // of the run
  std::vector<double> times_;
};

// The value in the middle, the lower of two; `values` is not empty.
double lower_median(std::vector<double> values);

class Tuner {
 public:
  // Nothing new is looked at while this part of the run's time has gone into calls above the best known; in the beginning, of the
  // time of kHorizon calls.
  static constexpr double kMostRegret = 0.1;
  static constexpr double kHorizon = 1000;

  // At least one candidate; the one that is expected to be the best comes first. `careful`: single calls say little, so a first
  // look takes several.
  explicit Tuner(uint32_t candidates, bool careful = false);
  // Before anything is learnt: what each candidate took in an earlier run, in seconds; 0: nobody knows. What is known counts as
  // compared, until the best one takes another time.
  void recall(std::span<const double> times);

  // The epoch's runs, one at least.
  [[nodiscard]] const Plan& plan() const { return plan_; }
  // No plan has more.
  [[nodiscard]] std::size_t most_runs() const;
  [[nodiscard]] std::size_t most_calls() const;
  // What the members agreed on, in seconds, for each run of the plan; what is not above 0 is not known. Makes the next plan.
  void learn(std::span<const double> times);

  [[nodiscard]] uint64_t calls() const { return calls_; }  // of all epochs that are over
  [[nodiscard]] uint32_t best() const { return best_; }
  // Whether no trial is due but looks at the others now and then.
  [[nodiscard]] bool settled() const { return settled_; }
  // Seconds; 0: the candidate has not been seen.
  [[nodiscard]] double estimate(uint32_t candidate) const;
  // The best one, or looked at more than once: a single look may have been disturbed.
  [[nodiscard]] bool compared(uint32_t candidate) const {
    return candidate == best_ || seen_[candidate].times.size() > 1;
  }
  [[nodiscard]] double spent() const { return spent_; }  // seconds above the best known
  [[nodiscard]] double total() const { return total_; }  // seconds of all calls

 private:
  struct Seen {
    std::vector<double> times;  // of the last runs, the newest last
    uint64_t epoch = 0;         // of the newest
    double as_best = 0;         // calls while nothing better was known, until it is settled
  };

  void make_plan();
  void add(uint32_t candidate, double seconds);
  void follow(double change);
  void choose();
  void account(std::span<const double> times);
  void look_for_drift();
  // Of a candidate that was not seen, or of those that are not known well enough; none if that would cost too much.
  [[nodiscard]] Plan trials() const;
  // The best one's, and a look at another.
  [[nodiscard]] Plan steady() const;
  [[nodiscard]] std::vector<uint32_t> by_estimate() const;
  // With the best one: how many there are, and how many there should be.
  [[nodiscard]] std::size_t runs_to_compare(uint32_t candidate) const;
  [[nodiscard]] std::size_t runs_wanted(uint32_t candidate) const;
  // Seconds that calls of it are expected to take above the best known.
  [[nodiscard]] double price(uint32_t candidate, uint32_t calls) const;

  std::vector<Seen> seen_;  // by candidate
  uint32_t first_look_;     // calls
  Plan plan_;
  uint64_t epoch_ = 0;
  uint64_t calls_ = 0;
  uint32_t best_ = 0;
  bool settled_ = false;
  double reference_ = 0;  // the best one's time when the others were compared with it
  double total_ = 0;
  double spent_ = 0;
  double spent_on_trials_ = 0;  // of it, after the first look, before it was settled
  double spent_on_looks_ = 0;   // of it, while it was settled
};

}  // namespace ompl::coll
