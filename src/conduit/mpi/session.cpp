// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/mpi/session.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "arch/clock.hpp"
#include "arch/give_way.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::conduit::mpi {
namespace {

constexpr int64_t kPartingMs = 10'000;  // for all ranks to come to the end
constexpr int kBytes = sizeof(uint32_t);
constexpr int kCountBytes = sizeof(uint64_t);

}  // namespace

template <class Handle>
int Session<Handle>::failed(const char* function, int code) const {
  return fail(OMPL_ERR_LINK, "{} failed: {}", function, library_.text(code));
}

template <class Handle>
int Session<Handle>::prepare(const Job& job) {
  job_ = &job;
  const char* why = nullptr;
  switch (arch::mpi_phase()) {
    case arch::MpiPhase::absent:
      why = "this process has no MPI library; link the program with one and call MPI_Init_thread";
      break;
    case arch::MpiPhase::before_init:
      why = "MPI is not initialised in this process; call MPI_Init_thread before ompl_init";
      break;
    case arch::MpiPhase::finalized:
      why = "MPI was finalized in this process";
      break;
    case arch::MpiPhase::running:
      if (!library_.complete()) why = "the MPI library of this process is older than MPI 3.0";
  }
  if (why != nullptr) return fail(OMPL_ERR_UNSUPPORTED, "{}", why);
  if (const std::string version = library_.version(); version.starts_with("Open MPI v4")) {
    return fail(OMPL_ERR_UNSUPPORTED,
                "{} gives threads no turn that share an endpoint on one core; use Open MPI 5", version);
  }

  int rank = -1;
  int size = -1;
  int level = 0;
  library_.comm_rank(library_.constants.world, &rank);
  library_.comm_size(library_.constants.world, &size);
  library_.query_thread(&level);
  if (static_cast<uint32_t>(rank) != job.rank || static_cast<uint32_t>(size) != job.size) {
    return fail(OMPL_ERR_UNSUPPORTED,
                "rank {} of {} of this job is rank {} of {} of MPI_COMM_WORLD: they must be the same",
                job.rank, job.size, rank, size);
  }
  if (level >= library_.constants.serialized) level_ = ThreadLevel::serialized;
  if (level >= library_.constants.multiple) level_ = ThreadLevel::multiple;
  if (const int code = admits(); code != OMPL_OK) return code;
  return watch_.open(job);
}

template <class Handle>
int Session<Handle>::admits() const {
  if (level_ == ThreadLevel::serialized && arch::mpi_locked_by_user())
    return fail_quietly(OMPL_ERR_STATE,
                        "this thread holds ompl_mpi_lock: the layer could not call MPI");
  if (level_ != ThreadLevel::funneled || ended_) return OMPL_OK;
  int is_main = 0;
  library_.is_thread_main(&is_main);
  if (is_main != 0) return OMPL_OK;
  return fail_quietly(
      OMPL_ERR_STATE,
      "over the mpi conduit only the thread that initialised MPI may communicate; call MPI_Init_thread "
      "with MPI_THREAD_MULTIPLE for more");
}

template <class Handle>
std::string Session<Handle>::describe() const {
  constexpr std::array kNames{"FUNNELED", "SERIALIZED", "MULTIPLE"};
  return fmt::format("MPI_THREAD_{} of {}", kNames[static_cast<std::size_t>(level_)],
                     library_.version());
}

// Every rank has as many windows as any has slots, as making one is collective.
template <class Handle>
int Session<Handle>::open() {
  const auto& mpi = library_;
  const auto turn = wait_for_turn();
  int code = mpi.comm_dup(mpi.constants.world, &comm_);
  if (code != 0) return failed("MPI_Comm_dup", code);
  mpi.comm_set_errhandler(comm_, mpi.constants.errors_return);
  peer_slots_.resize(job_->size);
  code = mpi.allgather(&job_->slots, kBytes, mpi.constants.byte, peer_slots_.data(), kBytes,
                       mpi.constants.byte, comm_);
  if (code != 0) return failed("MPI_Allgather", code);
  for (uint32_t i = 0; i < std::ranges::max(peer_slots_); ++i) {
    Handle window{};
    code = mpi.win_create(job_->segment, static_cast<std::ptrdiff_t>(job_->capacity), 1,
                          mpi.constants.info_null, comm_, &window);
    if (code != 0) return failed("MPI_Win_create", code);
    mpi.win_set_errhandler(window, mpi.constants.errors_return);
    windows_.push_back(window);
    code = mpi.win_lock_all(mpi.constants.mode_nocheck, window);  // nobody locks it for himself
    if (code != 0) return failed("MPI_Win_lock_all", code);
  }
  counts_ = std::make_unique<std::vector<uint64_t>>(2 * std::size_t{job_->size});
  inboxes_ = std::make_unique<std::vector<MessageInbox<Handle>>>(job_->slots);
  for (uint32_t slot = 0; slot < job_->slots; ++slot) inbox(slot).open(mpi, comm_, slot);
  // MPI_Finalize begins by deleting the attributes of MPI_COMM_SELF [21].
  code = mpi.comm_create_keyval(on_copy, on_end, &keyval_, nullptr);
  if (code == 0) code = mpi.comm_set_attr(mpi.constants.self, keyval_, this);
  if (code != 0) return failed("MPI_Comm_set_attr", code);
  watch_.start();
  log::info("mpi: {}, {} windows{}", describe(), windows_.size(),
            watch_.running() ? "; a thread watches the network" : "");
  return OMPL_OK;
}

template <class Handle>
int Session<Handle>::on_copy(Handle /*comm*/, int /*keyval*/, void* /*extra*/, void* /*value*/,
                             void* /*copy*/, int* flag) {
  *flag = 0;
  return 0;
}

// MPI is about to end, or we have deleted the attribute ourselves. Who calls MPI_Finalize is the only one that may
// call MPI now, but our own threads do not know yet.
template <class Handle>
int Session<Handle>::on_end(Handle /*comm*/, int /*keyval*/, void* argument, void* /*extra*/) {
  auto& self = *static_cast<Session*>(argument);
  if (self.ended_.exchange(true)) return 0;
  const std::lock_guard ending(self.ending_);
  for (Member* member : self.members_) {
    while (member->caller.rank.load() != LivenessWatch::kNobody) arch::give_way();
    member->caller.enter(LivenessWatch::kAnyone);
    member->leave(false);
    member->caller.leave();
  }
  self.members_.clear();
  self.close();
  return 0;
}

template <class Handle>
std::unique_lock<std::mutex> Session<Handle>::wait_for_turn() const {
  return level_ == ThreadLevel::serialized ? std::unique_lock(arch::mpi_mutex())
                                           : std::unique_lock<std::mutex>();
}

template <class Handle>
void Session<Handle>::part(Member& member) {
  const std::lock_guard ending(ending_);
  if (std::erase(members_, &member) == 0) return;
  if (admits() != OMPL_OK) return;  // MPI keeps what it has
  const auto turn = wait_for_turn();
  member.caller.enter(LivenessWatch::kAnyone);
  member.leave(true);
  member.caller.leave();
}

// Every rank has come to its end, and all that it sent has been taken in: what is left would trouble MPI, or come to the
// next communicator. False: some did not in time.
template <class Handle>
bool Session<Handle>::all_meet() {
  Handle exchange{};
  const auto from = counts_->begin() + job_->size;
  const Handle byte = library_.constants.byte;
  int met = library_.ialltoall(counts_->data(), kCountBytes, byte, &*from, kCountBytes, byte, comm_,
                               &exchange);
  if (met != 0) return false;
  const int64_t limit = arch::now_ms() + kPartingMs;
  while (arch::now_ms() < limit) {
    uint64_t received = 0;
    for (auto& inbox : *inboxes_) {
      inbox.drop();
      received += inbox.received();
    }
    if (met == 0 && library_.test(&exchange, &met, library_.constants.status_ignore) != 0) return false;
    if (met != 0 && received == std::accumulate(from, counts_->end(), uint64_t{0})) return true;
    arch::give_way();
  }
  return false;
}

// Windows and communicators can only be given back by all ranks together. Where some do not come they stay.
template <class Handle>
void Session<Handle>::close() {
  if (!all_meet()) {
    log::warn("mpi: not every rank came to the end in {} s; its windows stay", kPartingMs / 1000);
    static_cast<void>(inboxes_.release());  // MPI may still write there
    static_cast<void>(counts_.release());
    return;
  }
  watch_.session().enter(LivenessWatch::kAnyone);
  for (Handle& window : windows_) {
    library_.win_unlock_all(window);
    library_.win_free(&window);
  }
  library_.comm_free(&comm_);
  watch_.session().leave();
}

template <class Handle>
Session<Handle>::~Session() {
  const std::lock_guard ending(ending_);
  if (!is_open()) return;
  const bool admitted = admits() == OMPL_OK;
  if (ended_.exchange(true)) return;
  if (!admitted) {
    static_cast<void>(inboxes_.release());  // MPI keeps what it has
    return;
  }
  const auto turn = wait_for_turn();
  library_.comm_delete_attr(library_.constants.self, keyval_);
  library_.comm_free_keyval(&keyval_);
  close();
}

template <class Handle>
Session<Handle>::Visit::Visit(Session& session, Member& member, uint32_t rank) : member_(member) {
  refusal = {.state = Post::State::retry, .reason = Post::Reason::queue_full};
  if (const int code = session.admits(); code != OMPL_OK) {
    refusal = {.state = Post::State::failed, .code = code};
    return;
  }
  if (session.level_ == ThreadLevel::serialized) {
    turn_ = std::unique_lock(arch::mpi_mutex(), std::try_to_lock);
    if (!turn_.owns_lock()) return;
  }
  member.caller.enter(rank);
  admitted_ = !session.ended_.load();
}

template <class Handle>
Session<Handle>::Visit::~Visit() {
  member_.caller.leave();
}

template class Session<int>;
template class Session<void*>;

}  // namespace ompl::conduit::mpi
