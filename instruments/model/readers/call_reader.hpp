// SPDX-License-Identifier: BSD-3-Clause
// The calls of one thread as operations, whatever file they were read from.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/input_error.hpp"
#include "model/readers/collectives.hpp"
#include "model/readers/neighbours.hpp"
#include "model/readers/remote_calls.hpp"
#include "model/trace.hpp"
#include "trace/reader/reader.hpp"

namespace ompl::model {

// A communicator as all its members know it.
struct Members {
  uint32_t number;  // the same at all members
  uint32_t rank, size;
  const trace::CommunicatorInfo* info;
  bool outside = false;  // some member is no rank of the trace: a process that was spawned

  // `caller`: the rank of the trace that names the peer, for messages.
  [[nodiscard]] uint32_t world_rank(uint32_t caller, int64_t peer) const {
    const bool remote = info->definition.remote > 0;
    const auto& ranks = remote ? info->remote_ranks : info->ranks;
    if (peer < 0 || peer >= (remote ? info->definition.remote : size))
      refuse("rank {}: a call names rank {} of a communicator of {}", caller, peer, size);
    return ranks.empty() ? static_cast<uint32_t>(peer) : ranks[static_cast<std::size_t>(peer)];
  }
};

// Whether calls of the group go to ranks of their communicator.
[[nodiscard]] inline bool goes_to_ranks(trace::Group group) {
  using enum trace::Group;
  return group == kSend || group == kReceive || group == kPostSend || group == kPostReceive ||
         group == kMakeSend || group == kMakeReceive || group == kCollective ||
         group == kPostCollective;
}

// What a rank exchanges in a halo of this layer with each neighbour: bytes of an exchange.
struct Halo {
  std::vector<uint32_t> ranks;
  std::vector<uint64_t> sent, received;
};

// Readers of files give it calls, as docs/reference/trace-format.md has them.
class CallReader {
 public:
  CallReader(uint32_t rank, const Algorithms& algorithms, double ns_per_tick = 1)
      : rank_(rank), algorithms_(algorithms), ns_per_tick_(ns_per_tick) {}
  virtual ~CallReader() = default;
  CallReader(CallReader&&) = default;
  CallReader(const CallReader&) = delete;
  CallReader& operator=(const CallReader&) = delete;
  CallReader& operator=(CallReader&&) = delete;

  bool next(Op& op);
  [[nodiscard]] const std::map<std::string, uint64_t>& not_modelled() const { return not_modelled_; }
  [[nodiscard]] uint64_t count_of(Collective kind) const {
    return collectives_[static_cast<std::size_t>(kind)];
  }

 protected:
  // The next call, with its side records; false at the end. Times are in ticks.
  virtual bool next_call(trace::CallView& view) = 0;
  [[nodiscard]] virtual const Members& group(uint32_t communicator) = 0;
  [[nodiscard]] virtual uint32_t site(const trace::Record& call) const = 0;
  struct Window {
    const Members* of;
    int32_t ordinal;  // among those of its communicator, the same at all members
  };
  // Nothing if the file does not tell; then calls that name it are computation.
  [[nodiscard]] virtual std::optional<Window> window(uint32_t /*id*/) { return std::nullopt; }
  [[nodiscard]] virtual std::optional<Neighbours> neighbours_in(uint32_t /*communicator*/) {
    return std::nullopt;
  }
  // The record behind the present call, but for the tracer's own time; null if there is none, or it is not known.
  [[nodiscard]] virtual const trace::Record* next_of_program() const { return nullptr; }
  // Fills in what the file tells elsewhere of a posted operation; false if it was cancelled.
  virtual bool complete_post(trace::Record& /*call*/) { return true; }
  // Of a rank with several threads: the number of this request, now being posted or completed, if another thread completes
  // or posted it.
  [[nodiscard]] virtual std::optional<uint32_t> given(uint32_t /*request*/) { return std::nullopt; }
  [[nodiscard]] virtual std::optional<uint32_t> taken(uint32_t /*request*/) { return std::nullopt; }
  // The same: how another thread made this persistent request; which of its communicator's nonblocking collectives it is.
  [[nodiscard]] virtual const trace::Record* made_elsewhere(uint32_t /*request*/) { return nullptr; }
  [[nodiscard]] virtual std::optional<uint64_t> collective_before(uint32_t /*request*/) {
    return std::nullopt;
  }
  // Of this layer: how many signals the present wait takes of a word; whether a rank waits for a word of its own; a halo,
  // null if the file does not tell.
  [[nodiscard]] virtual uint32_t signals_of(uint32_t /*word*/) { return 1; }
  [[nodiscard]] virtual bool is_waited_for(uint32_t /*rank*/, uint32_t /*word*/) const { return false; }
  // The same: of the function that begins.
  virtual FunctionRun next_run() { return {}; }
  [[nodiscard]] virtual const Halo* halo(uint32_t /*number*/) const { return nullptr; }
  [[nodiscard]] virtual std::string name(const trace::Record& call) const;
  [[nodiscard]] uint32_t rank() const { return rank_; }
  // It is this one of so many of its rank, from 0 on. If not the first, it computes from `begin` on.
  void be_thread(uint64_t number, uint64_t count, uint64_t begin) {
    accesses_ = number;
    access_step_ = count;
    begun_ = number > 0;
    before_ = begin;
  }

 private:
  void translate(const trace::CallView& view);
  void send(const trace::CallView& view);
  void post(const trace::Record& call);
  void complete(const std::vector<uint32_t>& requests);
  void start(const trace::CallView& view);
  void collective(const trace::CallView& view, Collective kind);
  void exchange_all(const CollectiveCall& what, const Members& of, int32_t first_tag);
  void neighbours(const trace::CallView& view);
  int32_t collective_tag(const Members& of, const trace::Record& call);
  void open(uint32_t request, uint64_t ours);
  void access(const trace::Record& call);
  void own(const trace::CallView& view);
  void own_put(const trace::CallView& view);
  void own_post(const trace::CallView& view);
  void own_atomic(const trace::CallView& view);
  void own_call(const trace::Record& call);
  void own_function(const trace::Record& call);
  void put_and_reply(const trace::Record& call);
  void get_and_wait(const trace::Record& call);
  void send_signal(const trace::Record& call, uint32_t word, uint64_t bytes);
  void take_signals(uint32_t word);
  void join(const trace::Record& call);
  void exchange(const trace::CallView& view);
  void answer(uint32_t target, uint64_t bytes);
  void finish_accesses(uint32_t window, int32_t target, bool locally);
  void synchronize(const trace::CallView& view);
  void opaque(const trace::Record& call, const char* why = "");

  static constexpr uint64_t kNone = UINT64_MAX;
  static constexpr uint32_t kMostTags = std::numeric_limits<int32_t>::max();
  // A one-sided operation that is not yet known to be over.
  struct Access {
    int32_t target = 0;    // in the window's communicator
    uint32_t request = 0;  // the program's, or 0
    // Our requests: the origin's memory is its own again; the reply to what only stores. kNone: there is none, or it has
    // been waited for.
    uint64_t local = kNone, remote = kNone;
  };
  void request_and_reply(Access& one, uint32_t target, uint64_t request, uint64_t reply, bool apart);
  void open(uint32_t window, const Access& one);
  struct Epochs {  // whom the open ones are with, as ranks of the communicator
    std::vector<uint32_t> posted, started;
  };
  // Beside those of communicators: both sides of an access, in branches that one rank's call makes, and this layer's own.
  static constexpr uint32_t kReplies = std::numeric_limits<uint32_t>::max();
  static constexpr uint32_t kRequests = kReplies - 1, kFlags = kReplies - 2, kHalos = kReplies - 3,
                            kCalls = kReplies - 4, kCallReplies = kReplies - 5;
  // What is matched apart, of one communicator.
  enum class Traffic : uint8_t { messages, collectives, windows };
  static uint32_t communicator(const Members& of, Traffic what) {
    return 3 * of.number + static_cast<uint32_t>(what);
  }

  void add(Op op) {
    op.site = site_;
    if (op.kind == OpKind::isend || op.kind == OpKind::irecv) ++posted_;
    if (op.kind == OpKind::branch) posted_ = branch_requests_.after(op, posted_);
    ops_.push_back(op);
  }
  // A message beside those of MPI, whose receiver its sender does not wait for.
  [[nodiscard]] static Op hidden(OpKind kind, uint32_t communicator, uint32_t peer, int32_t tag,
                                 uint64_t bytes = 0) {
    return {.kind = kind,
            .buffered = true,
            .collective = true,
            .communicator = communicator,
            .peer = static_cast<int32_t>(peer),
            .tag = tag,
            .bytes = bytes};
  }
  // One of the two messages of an access, whose tag both have.
  [[nodiscard]] Op part_of_access(OpKind kind, uint32_t peer, uint32_t communicator,
                                  uint64_t bytes = 0) const {
    return hidden(kind, communicator, peer, static_cast<int32_t>(accesses_ % kMostTags), bytes);
  }
  // Of a word or a halo.
  [[nodiscard]] static int32_t tag_of(uint32_t number) {
    return static_cast<int32_t>(number & kMostTags);
  }
  // What is added between the two goes on in the background; the end tells the number of its request.
  void begin_branch(uint32_t of_rank, bool more = false) {
    add({.kind = OpKind::branch, .more = more, .peer = static_cast<int32_t>(of_rank), .bytes = 1});
  }
  uint64_t end_branch(bool detached = false) {
    add({.kind = OpKind::branch, .more = detached});
    return posted_ - 1;
  }

  [[nodiscard]] double ns(uint64_t begin, uint64_t end) const {
    return static_cast<double>(end - begin) * ns_per_tick_;
  }
  // An operation with a rank of a communicator; nothing for MPI_PROC_NULL.
  std::optional<Op> message(OpKind kind, const trace::Record& call);
  void wait_for(std::span<const uint64_t> requests) {
    for (std::size_t i = 0; i < requests.size(); ++i)
      add({.kind = OpKind::wait, .more = i + 1 < requests.size(), .request = requests[i]});
  }

  uint32_t rank_;
  Algorithms algorithms_;
  double ns_per_tick_;
  std::array<uint64_t, kCollectives> collectives_{};  // so far
  std::vector<Op> ops_;                               // of the present call
  std::size_t given_ = 0;
  uint64_t before_ = 0;  // end of the call before
  uint64_t posted_ = 0;
  BranchRequests branch_requests_;
  uint32_t site_ = 0;
  uint32_t task_site_ = 0;  // of the task that the thread runs; 0: none
  // In the file, of the calls before that looked one soon after the other and found nothing.
  std::vector<uint32_t> polled_sites_;
  bool begun_ = false, over_ = false;
  std::unordered_map<uint32_t, uint64_t> open_;                // from their ids to ours
  std::unordered_map<uint32_t, trace::Record> persistent_;     // as made
  std::unordered_map<uint32_t, uint64_t> posted_collectives_;  // nonblocking ones, by communicator
  uint64_t accesses_ = 0;                                      // tells those of a rank apart
  uint64_t access_step_ = 1;
  FunctionRun run_;               // of the function that runs
  uint64_t put_with_signal_ = 0;  // bytes of a put whose signal is the next call
  std::unordered_map<uint32_t, std::vector<Access>> accesses_open_;  // by window
  std::unordered_map<uint32_t, Epochs> epochs_;                      // the same
  std::unordered_map<uint32_t, std::vector<uint32_t>>
      arriving_;  // by halo: the neighbours whose part of the exchange was not waited for
  std::map<std::string, uint64_t> not_modelled_;
};

// The threads of a trace.
class CallStream : public Stream {
 public:
  void add(std::unique_ptr<CallReader> thread) { threads_.push_back(std::move(thread)); }

  bool next(uint32_t thread, Op& op) override { return threads_[thread]->next(op); }
  [[nodiscard]] std::map<std::string, uint64_t> not_modelled() const override;
  [[nodiscard]] std::map<std::string, uint64_t> collectives() const override;

 private:
  std::vector<std::unique_ptr<CallReader>> threads_;
};

}  // namespace ompl::model
