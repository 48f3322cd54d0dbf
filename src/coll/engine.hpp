// SPDX-License-Identifier: BSD-3-Clause
// The collectives of a rank: its teams, their memory, operations of the user, and who makes progress.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "coll/progress/node_progress_thread.hpp"
#include "coll/schedule/operation.hpp"
#include "coll/team/keyed_exchange.hpp"
#include "coll/team/team.hpp"
#include "core/job/runtime.hpp"
#include "util/mutex.hpp"

namespace ompl::coll {

class Engine final : public Extension, public ProgressClient {
 public:
  ~Engine() override;

  // Takes memory of the segment and makes the world's team. Collective.
  static int open(Runtime& runtime, Context& c);
  // Null before.
  static Engine* of(const Runtime& runtime) { return static_cast<Engine*>(runtime.extension()); }

  [[nodiscard]] Runtime& runtime() const { return runtime_; }
  [[nodiscard]] Team& world() const { return *world_; }
  // Whether members tell each other what they call before they begin: OMPL_COLL_CHECK.
  [[nodiscard]] bool checks() const { return checks_; }
  // Whether algorithms that calls leave open are tuned, and whether decisions are explained: OMPL_TUNER, OMPL_TUNER_EXPLAIN.
  [[nodiscard]] bool tunes() const { return tunes_; }
  [[nodiscard]] bool explains() const { return explains_; }
  // Whether modes of progress are tuned, too: OMPL_COLL_PROGRESS=auto.
  [[nodiscard]] bool tunes_modes() const { return tunes_modes_; }
  // What earlier jobs have found; the same on every rank, and set before the first call that is tuned.
  [[nodiscard]] const Table& known() const { return known_; }
  void set_known(Table known) { known_ = std::move(known); }
  // Of each of these ranks the lowest that shares memory with it.
  [[nodiscard]] std::vector<uint32_t> hosts(const std::vector<uint32_t>& ranks) const;
  // By the ranks listed, together; one thread at a time of a rank. The arguments of destroy_team() and split() were checked.
  int create_team(Context& c, const uint32_t* ranks, std::size_t count, const ompl_team_config* config,
                  Team** out);
  int destroy_team(Context& c, Team& team);

  // Operations of the user. Any thread.
  int create_operation(const ompl_op_config* config, int32_t* op);
  [[nodiscard]] const ReductionOperation* operation(int32_t op) const;

  // Whether the job's ranks are on several nodes.
  [[nodiscard]] bool has_network() const { return world_->nodes().count() > 1; }

  // Goes on with a tag queue and, if they have something under way, with all others. Any thread.
  void drive(Context& c, TagQueue& first, bool* again);
  void drive_all(Context& c, bool* again);
  // Goes on with those tag queues of teams that a progress thread serves, in which nobody waits. True if anything is left there to wait for.
  bool serve(Context& c, bool* again) override;
  // Teams of mode idle.
  void idle(Context& c) override;
  // As Team::serve_members() and end_service(), for all teams that this rank is to serve. The node's progress thread.
  bool serve_node(Context& c, MemberMemories& memories, bool* moved);
  void end_service(Context& c);
  // As Team::has_offloads(), of any team.
  bool has_offloads();
  // Of a rank of this node.
  [[nodiscard]] NodeEndpoint& node_endpoint(uint32_t rank) const;
  // Where its segment is mapped.
  [[nodiscard]] std::byte* segment(uint32_t rank) const;
  // The progress thread, if there is one, has something to do.
  void notify();
  // `mode` was checked. Any thread.
  int set_progress(Team& team, int32_t mode);
  // A tag queue has got another mode from its tuner. Any thread.
  void note_modes();

  void note_started() { under_way_.fetch_add(1, std::memory_order_relaxed); }
  void note_ended(int code);

  // Has a callback called once the request is over; it is the engine's until then. Any thread. The arguments were checked.
  int call_back(CollectiveRequest& request, ompl_callback_fn callback, void* argument);
  // A request that a callback waits for is over.
  void make_due(RequestCallback& callback);
  void drive_callbacks(Context& c, bool* again) override;
  int release(Pending& entry) override;

  int finish(Context& c) override;

 private:
  static constexpr std::size_t kTeams = 1024;
  static constexpr std::size_t kOperations = 4096;

  // Threads that look at teams, and a team that may go away: who looks says so first.
  struct TeamSlot {
    std::atomic<Team*> team{nullptr};
    std::atomic<uint32_t> visitors{0};
  };

  Engine(Runtime& runtime, uint64_t memory);
  void keep_what_was_found();
  int check(const uint32_t* ranks, std::size_t count, const ompl_team_config* config) const;
  void adapt_to_modes() OMPL_REQUIRES(modes_mutex_);
  [[nodiscard]] TeamLayout lay_out(uint32_t members, uint32_t tags) const;
  // Calls `visit(team)` for each.
  template <class Visit>
  void for_teams(Visit visit);
  int enter(std::unique_ptr<Team> team, Team** out);
  void remove(Team& team);
  static void await_visitors(TeamSlot& slot);
  int close_service(Context& c, Team& team);
  int start_threads(int32_t mode, const Team& team) OMPL_REQUIRES(modes_mutex_);
  void open_node_endpoint();
  // Bytes at the beginning of the memory: places to meet, then the NodeEndpoint.
  static uint64_t reserved(uint32_t ranks);

  Runtime& runtime_;
  const uint64_t memory_;
  uint64_t proof_ = 0;  // see NodeEndpoint
  const bool checks_;
  const bool tunes_;
  const bool explains_;
  const bool tunes_modes_;
  Table known_;
  Table found_;  // by teams that have ended
  OffsetAllocator allocator_;
  KeyedExchange exchange_;
  std::vector<uint64_t> hosts_;  // of every rank
  Team* world_ = nullptr;
  std::array<TeamSlot, kTeams> teams_{};
  std::atomic<std::size_t> slots_used_{0};
  std::atomic<uint32_t> under_way_{0};
  std::atomic<uint32_t> given_back_{0};  // by the progress thread, unfinished, when its rank ended
  Mutex modes_mutex_;
  std::unique_ptr<NodeProgressThread> node_thread_;
  std::atomic<bool> has_thread_{false};  // the process's progress thread serves this
  std::array<ReductionOperation, kOperations> operations_{};
  std::atomic<uint32_t> operations_made_{0};
  uint64_t fresh_;  // see TeamMemory
};

template <class Visit>
void Engine::for_teams(Visit visit) {
  const std::size_t used = slots_used_.load();
  for (std::size_t i = 0; i < used; ++i) {
    TeamSlot& slot = teams_[i];
    if (slot.team.load() == nullptr) continue;
    slot.visitors.fetch_add(1);
    if (Team* const team = slot.team.load(); team != nullptr) visit(*team);
    slot.visitors.fetch_sub(1);
  }
}

}  // namespace ompl::coll
