// SPDX-License-Identifier: BSD-3-Clause
#include "coll/engine.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>
#include <utility>

#include "arch/give_way.hpp"
#include "coll/progress/modes.hpp"
#include "coll/team/team_memory.hpp"
#include "coll/tuner/table_file.hpp"
#include "core/data/operations.hpp"
#include "util/bytes.hpp"
#include "util/log.hpp"
#include "util/secret.hpp"
#include "util/status.hpp"

namespace ompl::coll {
namespace {

constexpr uint32_t kSmallestCell = TeamMemory::kSmallestCell;
constexpr uint32_t kLargestCell = 16384;
// Of the memory for collectives: what a team's cells take at most, unless they are the smallest; twice that if some are
// staged.
constexpr uint64_t kShare = 8;
// Once less than three quarters of it are free, cells of a new team are small enough for so many teams in what is left.
constexpr uint64_t kTeamsInTheRest = 256;
// Passes without a move at the end, all ranks being there: about a second. They are counted, and sleep, since on a
// crowded machine a progress thread that serves this rank may get no processor for longer.
constexpr int kGracePasses = 1000;
constexpr int kAwakePasses = 100;
constexpr std::chrono::milliseconds kNap{1};

// A value of OMPL_COLL_PROGRESS, which was checked.
int32_t mode_of(std::string_view name) {
  return static_cast<int32_t>(std::ranges::find(kProgressNames, name) - kProgressNames.begin());
}

enum class Purpose : uint32_t { hosts, creation, end, end_of_service };

// The key of an exchange, of what all must agree on who come to it.
uint64_t key_of(Purpose purpose, const std::vector<uint32_t>& ranks, uint32_t tags,
                const Engine& engine) {
  ByteWriter said;
  said.add(static_cast<uint32_t>(purpose))
      .add(tags)
      .add(engine.checks())
      .add(engine.tunes())
      .add(engine.tunes_modes());
  for (const uint32_t rank : ranks) said.add(rank);
  return keyed_hash({}, said.bytes());
}

// What a member tells that knows of one that has failed, instead of an offset: so nobody makes the team.
constexpr uint64_t kInVain = 1;

// What a member tells else: where its memory is, a multiple of the granule, and beside that how large its cells could be. 0: no
// room. All use the smallest cells that any has.
uint64_t offer(uint64_t memory, uint32_t stride) {
  static_assert(OffsetAllocator::kGranule > uint64_t{2} * 33);
  return memory == 0 ? 0 : memory | 2 * static_cast<uint64_t>(std::bit_width(stride));
}
uint64_t offered_memory(uint64_t offer) {
  return offer / OffsetAllocator::kGranule * OffsetAllocator::kGranule;
}
uint32_t offered_stride(uint64_t offer) { return 1U << (offer % OffsetAllocator::kGranule / 2 - 1); }

bool is_failure(int code) { return code == OMPL_ERR_PEER || code == OMPL_ERR_LINK; }

}  // namespace

Engine::Engine(Runtime& runtime, uint64_t memory)
    : runtime_(runtime),
      memory_(memory),
      checks_(runtime.settings.coll_check == "1"),
      tunes_(runtime.settings.tuner == "1"),
      explains_(runtime.settings.tuner_explain == "1"),
      tunes_modes_(tunes_ && mode_of(runtime.settings.coll_progress) == OMPL_PROGRESS_AUTO),
      allocator_(memory + reserved(runtime.size()), memory + runtime.settings.coll_memory),
      exchange_(runtime, memory),
      fresh_(memory + reserved(runtime.size())) {
  open_node_endpoint();
}

Engine::~Engine() {
  runtime_.progress.detach();
  node_thread_.reset();
  for (TeamSlot& slot : teams_) delete slot.team.exchange(nullptr);
}

int Engine::open(Runtime& runtime, Context& c) {
  const std::size_t bytes = runtime.settings.coll_memory;
  if (bytes <= reserved(runtime.size()))
    return fail(OMPL_ERR_MEMORY, "ompl_team_world: raise OMPL_COLL_MEMORY above {} for {} ranks",
                reserved(runtime.size()), runtime.size());
  uint64_t memory = 0;
  if (const int code = runtime.collective.alloc(c, bytes, reserved(runtime.size()), &memory);
      code != OMPL_OK)
    return code;
  std::unique_ptr<Engine> engine(new Engine(runtime, memory));
  std::vector<uint32_t> all(runtime.size());
  std::iota(all.begin(), all.end(), 0U);
  const KeyedExchange::Word host{.key = key_of(Purpose::hosts, all, 0, *engine),
                                 .value = runtime.members.first_of_node()};
  int code = engine->exchange_.exchange(c, "ompl_team_world", all, host, &engine->hosts_);
  if (code == OMPL_OK) code = engine->create_team(c, all.data(), all.size(), nullptr, &engine->world_);
  if (code == OMPL_OK) runtime.extend(std::move(engine));
  return code;
}

uint64_t Engine::reserved(uint32_t ranks) {
  constexpr uint64_t kGranule = OffsetAllocator::kGranule;
  return KeyedExchange::bytes(ranks) + (sizeof(NodeEndpoint) + kGranule - 1) / kGranule * kGranule;
}

// Others look at it once they have met this rank.
void Engine::open_node_endpoint() {
  NodeEndpoint& own = node_endpoint(runtime_.rank());
  proof_ = (uint64_t{std::random_device{}()} << 32) | std::random_device{}();
  own.pid = ::getpid();
  own.segment = reinterpret_cast<uintptr_t>(segment(runtime_.rank()));
  own.proof = proof_;
  own.proof_at = reinterpret_cast<uintptr_t>(&proof_);
}

NodeEndpoint& Engine::node_endpoint(uint32_t rank) const {
  return *static_cast<NodeEndpoint*>(
      runtime_.memory.pointer(rank, memory_ + KeyedExchange::bytes(runtime_.size())));
}

std::byte* Engine::segment(uint32_t rank) const {
  return static_cast<std::byte*>(runtime_.memory.pointer(rank, memory_)) - memory_;
}

std::vector<uint32_t> Engine::hosts(const std::vector<uint32_t>& ranks) const {
  std::vector<uint32_t> hosts;
  hosts.reserve(ranks.size());
  for (const uint32_t rank : ranks) hosts.push_back(static_cast<uint32_t>(hosts_[rank]));
  return hosts;
}

int Engine::check(const uint32_t* ranks, std::size_t count, const ompl_team_config* config) const {
  if (config->size != sizeof *config)
    return fail(OMPL_ERR_ARG, "ompl_team_create: begin the config with OMPL_TEAM_CONFIG_INIT");
  if (config->tags == 0 || config->tags > OMPL_MOST_TAGS)
    return fail(OMPL_ERR_ARG, "ompl_team_create: a team has 1 to {} tags, not {}", OMPL_MOST_TAGS,
                config->tags);
  if (ranks == nullptr || count == 0)
    return fail(OMPL_ERR_ARG, "ompl_team_create: the list of ranks is empty");
  std::vector<bool> seen(runtime_.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (ranks[i] >= runtime_.size())
      return fail(OMPL_ERR_RANK, "ompl_team_create: rank {} does not exist; the job has ranks 0 to {}",
                  ranks[i], runtime_.size() - 1);
    if (seen[ranks[i]])
      return fail(OMPL_ERR_ARG, "ompl_team_create: rank {} stands twice in the list", ranks[i]);
    seen[ranks[i]] = true;
  }
  if (!seen[runtime_.rank()])
    return fail(OMPL_ERR_ARG, "ompl_team_create: the calling rank, {}, is not in the list",
                runtime_.rank());
  return OMPL_OK;
}

// Cells are as large as memory for several such teams allows, and later for many.
TeamLayout Engine::lay_out(uint32_t members, uint32_t tags) const {
  TeamLayout layout{.members = members, .tags = tags, .stride = kSmallestCell};
  const uint64_t share = runtime_.settings.coll_memory / kShare / layout.pairs() / TeamLayout::kCells;
  layout.stride =
      std::bit_floor(static_cast<uint32_t>(std::clamp<uint64_t>(share, kSmallestCell, kLargestCell)));
  uint64_t used = reserved(runtime_.size());
  for (std::size_t i = 0; i < slots_used_.load(); ++i)
    if (const Team* const team = teams_[i].team.load(); team != nullptr)
      used += team->layout().bytes() + (team->staging() != 0 ? team->layout().cell_bytes() : 0);
  const uint64_t all = runtime_.settings.coll_memory;
  if (used <= all / 4) return layout;
  while (layout.stride > kSmallestCell &&
         layout.bytes() > (all - std::min(all, used)) / kTeamsInTheRest)
    layout.stride /= 2;
  return layout;
}

int Engine::create_team(Context& c, const uint32_t* ranks, std::size_t count,
                        const ompl_team_config* config, Team** out) {
  constexpr ompl_team_config kDefault = OMPL_TEAM_CONFIG_INIT;
  if (config == nullptr) config = &kDefault;
  if (const int code = check(ranks, count, config); code != OMPL_OK) return code;
  const std::vector<uint32_t> members(ranks, ranks + count);
  const bool staged = std::ranges::any_of(
      members, [&](uint32_t rank) { return runtime_.memory.pointer(rank, memory_) == nullptr; });
  const bool in_vain = std::ranges::any_of(
      members, [&](uint32_t rank) { return runtime_.failures.peer(rank).failure.load() != OMPL_OK; });
  TeamMemory room(runtime_.memory, allocator_, fresh_,
                  lay_out(static_cast<uint32_t>(count), config->tags));
  const int taken = in_vain ? OMPL_OK : room.take(staged);
  const std::string shortage(taken != OMPL_OK ? error_detail() : "");
  const KeyedExchange::Word mine{.key = key_of(Purpose::creation, members, config->tags, *this),
                                 .value = in_vain ? kInVain : offer(room.memory, room.layout.stride)};
  std::vector<uint64_t> theirs;
  int code = exchange_.exchange(c, "ompl_team_create", members, mine, &theirs);
  const bool made_by_none = std::ranges::count(theirs, kInVain) != 0;
  if (code == OMPL_OK && made_by_none)
    code = fail(OMPL_ERR_PEER, "ompl_team_create: a member has failed, as another one has found");
  if (code == OMPL_OK && taken != OMPL_OK) code = fail(taken, "ompl_team_create: {}", shortage);
  if (code == OMPL_OK && std::ranges::count(theirs, 0) != 0)
    code = fail(OMPL_ERR_MEMORY,
                "ompl_team_create: no room for a team of {} at another member; raise OMPL_COLL_MEMORY",
                count);
  if (code == OMPL_OK) {
    for (uint64_t& one : theirs) {
      room.shrink(offered_stride(one));
      one = offered_memory(one);
    }
    code = enter(std::make_unique<Team>(*this, members, room.layout, theirs, room.staging), out);
    if (code == OMPL_OK) {
      room.memory = room.staging = 0;  // the team's
      code = set_progress(**out, mode_of(runtime_.settings.coll_progress));
    }
  }
  // A member that had heard all may have made the team before it learnt of a failure, and puts into that memory.
  if (code != OMPL_OK && (made_by_none || !is_failure(code))) room.give_back();
  return code;
}

int Engine::enter(std::unique_ptr<Team> team, Team** out) {
  for (std::size_t i = 0; i < kTeams; ++i) {
    if (teams_[i].team.load() != nullptr) continue;
    *out = team.get();
    teams_[i].team.store(team.release());
    slots_used_.store(std::max(slots_used_.load(), i + 1));
    return OMPL_OK;
  }
  return fail(OMPL_ERR_MEMORY, "ompl_team_create: there are {} teams; destroy some", kTeams);
}

// Until nobody looks at the team any more who came before.
void Engine::await_visitors(TeamSlot& slot) {
  while (slot.visitors.load() != 0) arch::give_way();
}

void Engine::remove(Team& team) {
  for (TeamSlot& slot : teams_) {
    if (slot.team.load() != &team) continue;
    slot.team.store(nullptr);
    await_visitors(slot);
  }
}

// The node's progress thread looks at the members' memory no more: only then may they use it otherwise.
int Engine::close_service(Context& c, Team& team) {
  team.close_service();
  for (TeamSlot& slot : teams_)
    if (slot.team.load() == &team) await_visitors(slot);
  const KeyedExchange::Word mine{
      .key = key_of(Purpose::end_of_service, team.ranks(), team.layout().tags, *this), .value = 1};
  std::vector<uint64_t> all;
  return exchange_.exchange(c, "ompl_team_destroy", team.ranks(), mine, &all);
}

// All members tell each other whether they may, once everything that this rank sent has arrived. Where that cannot be said, or a member has failed,
// the team's memory is not used again: something may still come.
int Engine::destroy_team(Context& c, Team& team) {
  constexpr uint64_t kMay = 1;
  constexpr uint64_t kMayNot = 2;
  const bool may = !team.busy() && team.persistent.load() == 0;
  const int sent =
      ompl::quiet_all(c);  // the others wait for this one, even if it has lost sight of a rank
  const KeyedExchange::Word mine{.key = key_of(Purpose::end, team.ranks(), team.layout().tags, *this),
                                 .value = may ? kMay : kMayNot};
  std::vector<uint64_t> answers;
  int code = exchange_.exchange(c, "ompl_team_destroy", team.ranks(), mine, &answers);
  if (code == OMPL_ERR_ARG) return code;
  if (!may || (code == OMPL_OK && std::ranges::count(answers, kMayNot) != 0))
    return fail(OMPL_ERR_STATE,
                "ompl_team_destroy: {} has requests of the team; wait for, or free, them",
                may ? "another member" : "this rank");
  if (code == OMPL_OK) code = close_service(c, team);
  remove(team);
  if (code != OMPL_OK) team.end_service(c);  // members wait for what the progress thread had
  team.tell(&found_);
  const std::unique_ptr<Team> owned(&team);
  if (code == OMPL_OK) code = sent;
  if (code != OMPL_OK) return code;
  TeamMemory room(runtime_.memory, allocator_, fresh_, team.layout());
  room.memory = team.memory();
  room.staging = team.staging();
  room.give_back();
  return OMPL_OK;
}

int Engine::create_operation(const ompl_op_config* config, int32_t* op) {
  if (config == nullptr || config->size != sizeof *config)
    return fail(OMPL_ERR_ARG, "ompl_op_create: begin the config with OMPL_OP_CONFIG_INIT");
  if (config->function == nullptr || config->element == 0 || config->element > UINT32_MAX ||
      op == nullptr)
    return fail(OMPL_ERR_ARG,
                "ompl_op_create: a function, elements of 1 to 2^32 - 1 bytes and a place "
                "for the result are needed");
  const uint32_t number = operations_made_.fetch_add(1);
  if (number >= kOperations) {
    operations_made_.fetch_sub(1);
    return fail(OMPL_ERR_MEMORY, "ompl_op_create: there are {} operations", kOperations);
  }
  operations_[number] = {.function = config->function,
                         .argument = config->arg,
                         .element = static_cast<uint32_t>(config->element),
                         .commutative = config->commutative != 0};
  *op = kFirstOperation + static_cast<int32_t>(number);
  return OMPL_OK;
}

const ReductionOperation* Engine::operation(int32_t op) const {
  const int64_t number = int64_t{op} - kFirstOperation;
  if (number < 0 || number >= operations_made_.load(std::memory_order_acquire)) return nullptr;
  const ReductionOperation& found = operations_[static_cast<std::size_t>(number)];
  return found.function != nullptr ? &found : nullptr;
}

void Engine::drive(Context& c, TagQueue& first, bool* again) {
  first.team().look_at_failures();
  first.drive(c, again);
  if (under_way_.load(std::memory_order_relaxed) > 1) drive_all(c, again);
}

void Engine::drive_all(Context& c, bool* again) {
  for_teams([&](Team& team) { team.drive(c, again); });
}

bool Engine::serve(Context& c, bool* again) {
  bool left = false;
  for_teams([&](Team& team) {
    if (team.has_queue_of(OMPL_PROGRESS_SPARE) || team.has_queue_of(OMPL_PROGRESS_SHARED))
      left = team.serve(c, again) || left;
  });
  return left;
}

bool Engine::serve_node(Context& c, MemberMemories& memories, bool* moved) {
  bool left = false;
  for_teams([&](Team& team) {
    if (team.progress_rank() == runtime_.rank()) left = team.serve_members(c, memories, moved) || left;
  });
  return left;
}

bool Engine::has_offloads() {
  bool any = false;
  for_teams([&](const Team& team) { any = any || team.has_offloads(); });
  return any;
}

void Engine::end_service(Context& c) {
  for_teams([&](Team& team) { team.end_service(c); });
}

void Engine::idle(Context& c) {
  if (under_way_.load(std::memory_order_relaxed) == 0) return;
  bool again = false;
  for_teams([&](Team& team) {
    if (team.has_queue_of(OMPL_PROGRESS_IDLE)) team.idle(c, &again);
  });
}

void Engine::notify() {
  if (has_thread_.load(std::memory_order_acquire)) runtime_.progress.notify();
}

int Engine::start_threads(int32_t mode, const Team& team) {
  const bool open = mode == OMPL_PROGRESS_AUTO && tunes_modes_;
  if (has_progress_thread(mode) || open) {
    if (const int code = runtime_.progress.attach(*this); code != OMPL_OK) return code;
    // Its core is looked for now: that takes longer than the calls that are tuned.
    if (open) runtime_.progress.set_spinning(true);
    has_thread_.store(true, std::memory_order_release);
  }
  if (mode != OMPL_PROGRESS_NODE) return OMPL_OK;
  if (team.progress_rank() == kNoRank)
    log::info("rank {}: mode node is as none for a team of {}: {}", runtime_.rank(), team.size(),
              team.why_no_progress_rank());
  if (team.progress_rank() != runtime_.rank()) return OMPL_OK;
  if (node_thread_ == nullptr) node_thread_ = std::make_unique<NodeProgressThread>(*this);
  return node_thread_->begin();
}

int Engine::set_progress(Team& team, int32_t mode) {
  const Lock lock(modes_mutex_);
  if (const int code = start_threads(mode, team); code != OMPL_OK) return code;
  team.set_progress(mode);
  adapt_to_modes();
  notify();
  return OMPL_OK;
}

void Engine::note_modes() {
  const Lock lock(modes_mutex_);
  adapt_to_modes();
}

void Engine::adapt_to_modes() {
  bool spins = false;
  bool idles = false;
  for_teams([&](const Team& team) {
    spins = spins || team.has_queue_of(OMPL_PROGRESS_SPARE);
    idles = idles || team.has_queue_of(OMPL_PROGRESS_IDLE);
  });
  if (has_thread_.load(std::memory_order_acquire)) runtime_.progress.set_spinning(spins);
  want_idle(idles);
}

// Nothing but the end of the job, which some ranks come to before others, ends a collective with OMPL_ERR_STATE.
void Engine::note_ended(int code) {
  if (code == OMPL_ERR_STATE) given_back_.fetch_add(1, std::memory_order_relaxed);
  under_way_.fetch_sub(1, std::memory_order_release);
}

// First everybody comes here, so that all that will be started is; then what is left gets some time.
int Engine::finish(Context& c) {
  bool again = false;
  for (;;) {
    drive_all(c, &again);
    const int code =
        runtime_.collective.barrier(c, Deadline::in(under_way_.load() != 0 ? 100'000 : -1));
    if (code == OMPL_OK) break;
    if (code != OMPL_ERR_TIMEOUT) return code;
  }
  uint64_t moves = 0;
  for (int still = 0; (under_way_.load() != 0 || has_offloads()) && still < kGracePasses; ++still) {
    ompl::drive(c);
    drive_all(c, &again);
    uint64_t now = 0;
    for_teams([&](const Team& team) { now += team.moves(); });
    if (std::exchange(moves, now) != now) still = 0;
    if (still < kAwakePasses)
      arch::give_way();
    else
      std::this_thread::sleep_for(kNap);
  }
  uint32_t left = under_way_.load(std::memory_order_acquire);
  left += given_back_.load(
      std::memory_order_relaxed);  // after it: what is not under way any more is counted there
  keep_what_was_found();
  if (left == 0) return OMPL_OK;
  // What a progress thread has of it, it gives back.
  for_teams([](Team& team) { team.break_up(OMPL_ERR_STATE, "the job has ended"); });
  drive_all(c, &again);
  return fail(
      OMPL_ERR_STATE,
      "ompl_finalize: {} collective(s) of this rank are outstanding; not all members have started "
      "them",
      left);
}

// Teams that rank 0 is not in are left out: what they have found the others of their size have, too.
void Engine::keep_what_was_found() {
  if (!tunes_ || runtime_.rank() != 0) return;
  for_teams([&](const Team& team) { team.tell(&found_); });
  TableFile(runtime_.settings).add(found_);
}

}  // namespace ompl::coll
