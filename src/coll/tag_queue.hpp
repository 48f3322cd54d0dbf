// SPDX-License-Identifier: BSD-3-Clause
// The collectives of one tag of a team, one after the other, in the order in which they were started. Whoever has time goes on
// with the first, once it has claimed the lane by one exchange of a word; nobody waits for a claim.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "coll/progress/modes.hpp"
#include "coll/progress/offload_client.hpp"
#include "coll/request.hpp"
#include "coll/schedule/executor.hpp"
#include "coll/tuner/table.hpp"
#include "coll/tuner/tuning.hpp"

namespace ompl::coll {

class Team;

class alignas(arch::kCacheLine) Lane {
 public:
  Lane(Team& team, uint32_t number);
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // A request for a call; the thread that starts collectives of this tag.
  Request* fresh();
  // One that is over, from any thread.
  void recycle(Request* request);

  // A call's schedules, compiled if there are none yet; nullptr if the algorithm cannot do it. The same thread.
  std::shared_ptr<const Prepared> prepare(const Call& call);

  // Adds what was found for its calls, if none is under way. Any thread.
  void tell(Table* table) const;

  // Starts it; the lane's until it is over. The thread that starts collectives of this tag.
  void start(Request* request);

  // Goes on as far as can be without waiting. `again`: set if there may be something to do in a moment, without any event that would
  // wake a sleeper. Any thread.
  void drive(Context& c, bool* again);

  // Of the locked queue, whose taker has claimed the lane: the steps of one round that are ready. True if anything was done.
  bool turn(Context& c, bool* again);
  bool queued = false;  // under its lock

  // OMPL_PROGRESS_NONE, ...: that of the team or, if that is OMPL_PROGRESS_AUTO, what the tuner has chosen for the last call.
  [[nodiscard]] int32_t progress() const;

  // The caller has learnt that the request is over. The thread that used it.
  static void note_end(Request& request);

  // Whether a thread with a core of its own will do all of it: the caller need not begin.
  [[nodiscard]] bool is_left_to_servant(const Request& request) const;
  // Wakes the servant for a request that was started, if it is one for which that pays.
  void ring(const Request& request) const;

  // A thread that waits for a request goes on with the lane itself, and is woken for it. When it leaves, the servant is woken for
  // what is left.
  [[nodiscard]] bool attended() const { return attendants_.load(std::memory_order_seq_cst) != 0; }
  void attend(Request& request);
  void leave(Request& request);

  // Grows with all that is done here.
  [[nodiscard]] uint64_t moves() const { return executor_.moves() + handover_.moves(); }

  [[nodiscard]] bool busy() const { return under_way_.load(std::memory_order_acquire) != 0; }
  [[nodiscard]] Team& team() const { return team_; }

 private:
  void run(Context& c, bool* again);
  bool go_on(Context& c, int turns, bool* again);
  void take_in();
  void hand_over();
  [[nodiscard]] bool is_awaited(const Request* request) const;
  void end(Request& request, int code);
  Tuning* tuning_of(const Call& call);
  bool next_stage(Request& request);
  void choose(Request& request);
  [[nodiscard]] bool explains() const;
  static void find_scratch(Request& request);
  static void begin(Request& request, Request::Stage stage, const Work& work);

  Team& team_;
  Executor executor_;
  Handover handover_;
  std::atomic<bool> claimed_{false};
  std::atomic<uint32_t> under_way_{0};
  std::atomic<int32_t> chosen_{OMPL_PROGRESS_NONE};  // of whoever has claimed
  std::atomic<uint32_t> attendants_{0};
  std::atomic<uint32_t> worth_waking_{0};    // of those under way
  std::atomic<Request*> incoming_{nullptr};  // newest first
  std::atomic<Request*> returned_{nullptr};  // over, to be used again
  struct Compiled {
    Call call;
    std::shared_ptr<const Prepared> prepared;
  };
  static constexpr std::size_t kCompiled = 64;
  uint64_t prepared_ = 0;                            // of the starting thread, how many
  std::vector<Compiled> compiled_;                   // of the starting thread, the last used first
  std::map<Kind, std::unique_ptr<Tuning>> tunings_;  // made by the starting thread
  std::vector<std::unique_ptr<Request>>
      requests_;              // all, also those that nobody waits for; of the starting thread
  Request* free_ = nullptr;   // of the starting thread
  Request* first_ = nullptr;  // of whoever has claimed, the oldest under way
};

}  // namespace ompl::coll
