// SPDX-License-Identifier: BSD-3-Clause
// The collectives of one tag of a team, one after the other, in the order in which they were started. Whoever has time goes on
// with the first, once it has claimed the tag queue by one exchange of a word; nobody waits for a claim.
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

class alignas(arch::kCacheLine) TagQueue {
 public:
  TagQueue(Team& team, uint32_t number);
  ~TagQueue();
  TagQueue(const TagQueue&) = delete;
  TagQueue& operator=(const TagQueue&) = delete;

  // A request for a call; the thread that starts collectives of this tag.
  CollectiveRequest* fresh();
  // One that is over, from any thread.
  void recycle(CollectiveRequest* request);

  // A call's schedules, compiled if there are none yet; nullptr if the algorithm cannot do it. The same thread.
  std::shared_ptr<const Prepared> prepare(const CollectiveCall& call);

  // Adds what was found for its calls, if none is under way. Any thread.
  void tell(Table* table) const;

  // Starts it; the tag queue's until it is over. The thread that starts collectives of this tag.
  void start(CollectiveRequest* request);

  // Goes on as far as can be without waiting. `again`: set if there may be something to do in a moment, without any event that would
  // wake a sleeper. Any thread.
  void drive(Context& c, bool* again);

  // Of the locked queue, whose taker has claimed the tag queue: the steps of one round that are ready. True if anything was done.
  bool turn(Context& c, bool* again);
  bool queued = false;  // under its lock

  // OMPL_PROGRESS_NONE, ...: that of the team or, if that is OMPL_PROGRESS_AUTO, what the tuner has chosen for the last call.
  [[nodiscard]] int32_t progress() const;

  // The caller has learnt that the request is over. The thread that used it.
  static void note_end(CollectiveRequest& request);
  // How it ended; the reason is recorded for this thread.
  static int outcome(const CollectiveRequest& request);

  // Whether a thread with a core of its own will do all of it: the caller need not begin.
  [[nodiscard]] bool is_left_to_thread(const CollectiveRequest& request) const;
  // Wakes the progress thread for a request that was started, if it is one for which that pays.
  void notify(const CollectiveRequest& request) const;

  // A thread that waits for a request goes on with the tag queue itself, and is woken for it. When it leaves, the progress thread is woken for
  // what is left.
  [[nodiscard]] bool attended() const { return attendants_.load(std::memory_order_seq_cst) != 0; }
  void attend(CollectiveRequest& request);
  void leave(CollectiveRequest& request);

  // Grows with all that is done here.
  [[nodiscard]] uint64_t moves() const { return executor_.moves() + offload_client_.moves(); }

  [[nodiscard]] bool busy() const { return under_way_.load(std::memory_order_acquire) != 0; }
  [[nodiscard]] Team& team() const { return team_; }

 private:
  void run(Context& c, bool* again);
  bool go_on(Context& c, int turns, bool* again);
  void take_in();
  void offload();
  [[nodiscard]] bool is_awaited(const CollectiveRequest* request) const;
  void end(CollectiveRequest& request, int code);
  Tuning* tuning_of(const CollectiveCall& call);
  bool next_stage(CollectiveRequest& request);
  static void exchange_signatures(CollectiveRequest& request);
  static void exchange_times(CollectiveRequest& request);
  void begin_itself(CollectiveRequest& request);
  static void note_time(CollectiveRequest& request, std::chrono::steady_clock::time_point since);
  void choose(CollectiveRequest& request);
  [[nodiscard]] bool explains() const;
  static void find_scratch(CollectiveRequest& request);
  static void begin(CollectiveRequest& request, CollectiveRequest::Stage stage, const Work& work);

  Team& team_;
  Executor executor_;
  OffloadClient offload_client_;
  std::atomic<bool> claimed_{false};
  std::atomic<uint32_t> under_way_{0};
  std::atomic<int32_t> chosen_{OMPL_PROGRESS_NONE};  // of whoever has claimed
  std::atomic<uint32_t> attendants_{0};
  std::atomic<uint32_t> worth_waking_{0};              // of those under way
  std::atomic<CollectiveRequest*> incoming_{nullptr};  // newest first
  std::atomic<CollectiveRequest*> returned_{nullptr};  // over, to be used again
  struct Compiled {
    CollectiveCall call;
    std::shared_ptr<const Prepared> prepared;
  };
  static constexpr std::size_t kCompiled = 64;
  uint64_t prepared_ = 0;                                // of the starting thread, how many
  std::vector<Compiled> compiled_;                       // of the starting thread, the last used first
  std::map<CallKind, std::unique_ptr<Tuning>> tunings_;  // made by the starting thread
  std::vector<std::unique_ptr<CollectiveRequest>>
      requests_;                        // all, also those that nobody waits for; of the starting thread
  CollectiveRequest* free_ = nullptr;   // of the starting thread
  CollectiveRequest* first_ = nullptr;  // of whoever has claimed, the oldest under way
};

}  // namespace ompl::coll
