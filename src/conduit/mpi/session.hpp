// SPDX-License-Identifier: BSD-3-Clause
// What the endpoints of a rank share: a communicator, a window on the segment for each slot, and the rules by which
// this process may call MPI.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "arch/libraries/mpi_library.hpp"
#include "conduit/conduit.hpp"
#include "conduit/mpi/inbox.hpp"
#include "conduit/mpi/liveness_watch.hpp"

namespace ompl::conduit::mpi {

// An endpoint, as the session's end sees it.
class Member {
 public:
  // Tells the others: in order, or since MPI ends. Called once, while nobody else is in the endpoint, which nothing
  // can be sent or received by afterwards.
  virtual void leave(bool in_order) = 0;

  LivenessWatch::Caller& caller;  // whether some thread is calling MPI for it

 protected:
  explicit Member(LivenessWatch::Caller& its_caller) : caller(its_caller) {}
  ~Member() = default;
};

// Who may call MPI. The names are MPI's (MPI_THREAD_...); of a single thread the same is true as of funneled ones.
enum class ThreadLevel : uint8_t { funneled, serialized, multiple };

template <class Handle>
class Session {
 public:
  Session() = default;
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Whether MPI can be used for this job; calls nothing that other ranks would have to call too.
  int prepare(const Job& job);
  // Collective.
  int open();
  [[nodiscard]] bool is_open() const { return !windows_.empty(); }

  // OMPL_OK, or the error of a thread that MPI may not be called by, recorded.
  [[nodiscard]] int admits() const;

  // A thread's permission to call MPI for one endpoint, because of that rank. Never waits for it.
  class Visit {
   public:
    Visit(Session& session, Member& member, uint32_t rank = LivenessWatch::kAnyone);
    ~Visit();
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;
    // If not, `refusal` is the answer to a post.
    [[nodiscard]] bool admitted() const { return admitted_; }
    Post refusal;

   private:
    Member& member_;
    std::unique_lock<std::mutex> turn_;
    bool admitted_ = false;
  };

  void join(Member& member) { members_.push_back(&member); }
  // The end of a member's life: it leaves, if it has not.
  void part(Member& member);

  [[nodiscard]] const arch::MpiLibrary<Handle>& library() const { return library_; }
  [[nodiscard]] const Job& job() const { return *job_; }
  [[nodiscard]] LivenessWatch& watch() { return watch_; }
  [[nodiscard]] const LivenessWatch& watch() const { return watch_; }
  [[nodiscard]] Handle comm() const { return comm_; }
  [[nodiscard]] MessageInbox<Handle>& inbox(uint32_t slot) { return (*inboxes_)[slot]; }
  [[nodiscard]] Handle window(uint32_t slot) const { return windows_[slot]; }
  // The slot of a rank that one of ours talks to [12].
  [[nodiscard]] int tag(uint32_t rank, uint32_t slot) const {
    return static_cast<int>(slot % peer_slots_[rank]);
  }
  // Of an endpoint that leaves: what this rank has sent to another one.
  void count_sent(uint32_t rank, uint64_t messages) { (*counts_)[rank] += messages; }
  [[nodiscard]] std::string describe() const;
  int failed(const char* function, int code) const;

 private:
  static int on_copy(Handle comm, int keyval, void* extra, void* value, void* copy, int* flag);
  static int on_end(Handle comm, int keyval, void* self, void* extra);
  [[nodiscard]] std::unique_lock<std::mutex> wait_for_turn() const;
  [[nodiscard]] bool all_meet();
  void close();

  arch::MpiLibrary<Handle> library_;
  const Job* job_ = nullptr;
  ThreadLevel level_ = ThreadLevel::funneled;
  Handle comm_{};
  int keyval_ = 0;
  std::vector<Handle> windows_;                                 // as many on every rank
  std::unique_ptr<std::vector<MessageInbox<Handle>>> inboxes_;  // by own slot
  std::vector<uint32_t> peer_slots_;
  std::unique_ptr<std::vector<uint64_t>> counts_;  // of messages to each rank, then of those from each
  std::mutex ending_;                              // held by who makes a member leave, or closes
  std::vector<Member*> members_;
  std::atomic<bool> ended_{false};  // MPI, or this session
  LivenessWatch watch_;
};

extern template class Session<int>;
extern template class Session<void*>;

}  // namespace ompl::conduit::mpi
