// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/mpi/endpoint.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "arch/clock.hpp"
#include "arch/give_way.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::conduit::mpi {
namespace {

constexpr uint32_t kMostSending = 24;  // messages to one rank
// Every so many messages to a rank one counts as sent only once it is received: who sends to a rank that calls MPI but
// not the layer would else fill its memory.
constexpr uint32_t kSynchronous = 16;
constexpr int kLooks = 32;
constexpr int64_t kLeaveMs = 1000;
constexpr int64_t kLetGoMs = 1000;

constexpr const char* kMpiEnded = "MPI was finalized before ompl_finalize";

constexpr Post kRetry{.state = Post::State::retry, .reason = Post::Reason::queue_full};

// What the layer answers or gives back needs no order.
bool follows_puts(uint8_t op) {
  const auto record = static_cast<SignalOp>(op);
  return record == SignalOp::update32 || record == SignalOp::update64 ||
         record == SignalOp::ack_request;
}

}  // namespace

template <class Handle>
MpiEndpoint<Handle>::MpiEndpoint(Session<Handle>& session, uint32_t slot)
    : Member(session.watch().endpoint(slot)),
      session_(session),
      mpi_(session.library()),
      inbox_(session.inbox(slot)),
      slot_(slot),
      links_(std::make_unique<MpiLink[]>(session.job().size)) {
  for (MessageBuffer& buffer : *buffers_) free_[free_count_++] = &buffer;
  session_.join(*this);
}

// --- Posting -------------------------------------------------------------------------------------------

template <class Handle>
Post MpiEndpoint<Handle>::put(uint32_t rank, const void* source, uint64_t offset, std::size_t length) {
  if (length <= kMostCopied) return send(rank, {.target = offset, .op = kDataOnly}, {source, length});
  return transfer(rank, true, [&](Handle* request) {
    const Handle byte = mpi_.constants.byte;
    const int count = static_cast<int>(length);
    return mpi_.rput(source, count, byte, static_cast<int>(rank), static_cast<std::ptrdiff_t>(offset),
                     count, byte, session_.window(slot_), request);
  });
}

template <class Handle>
Post MpiEndpoint<Handle>::get(uint32_t rank, void* target, uint64_t offset, std::size_t length) {
  return transfer(rank, false, [&](Handle* request) {
    const Handle byte = mpi_.constants.byte;
    const int count = static_cast<int>(length);
    return mpi_.rget(target, count, byte, static_cast<int>(rank), static_cast<std::ptrdiff_t>(offset),
                     count, byte, session_.window(slot_), request);
  });
}

template <class Handle>
Post MpiEndpoint<Handle>::signal(uint32_t rank, const Signal& record) {
  return send(rank, to_message<Message>(record));
}

template <class Handle>
Post MpiEndpoint<Handle>::put_signal(uint32_t rank, const void* source, uint64_t offset,
                                     std::size_t length, const Signal& record, bool* signalled) {
  if (length > kMostCopied)
    return Endpoint::put_signal(rank, source, offset, length, record, signalled);
  Message message = to_message<Message>(record);
  message.target = offset;
  const Post answer = send(rank, message, {source, length});
  *signalled = answer.state == Post::State::done;
  return answer;
}

// `call` begins it.
template <class Handle>
template <class Call>
Post MpiEndpoint<Handle>::transfer(uint32_t rank, bool is_put, Call call) {
  const Visit visit(session_, *this, rank);
  if (!visit.admitted()) return visit.refusal;
  MpiLink& link = links_[rank];
  if (link.failing != OMPL_OK || link.window.full() || outstanding_ == kOperations) return kRetry;
  Handle request{};
  session_.watch().meet(rank);
  if (const int code = call(&request); code != 0)
    return lost(rank, is_put ? "MPI_Rput" : "MPI_Rget", code);
  const uint64_t ticket = link.window.issue();
  link.putting += is_put ? 1 : 0;
  link.unflushed = link.unflushed || is_put;
  track(request, {.rank = rank, .ticket = ticket, .is_put = is_put});
  return {.state = Post::State::pending, .ticket = ticket};
}

template <class Handle>
Post MpiEndpoint<Handle>::send(uint32_t rank, Message message, Payload data) {
  const Visit visit(session_, *this, rank);
  if (!visit.admitted()) return visit.refusal;
  MpiLink& link = links_[rank];
  if (link.failing != OMPL_OK || free_count_ == 0 || link.sending == kMostSending ||
      outstanding_ == kOperations)
    return kRetry;
  if (link.unflushed && follows_puts(message.op)) {  // MPI: flush, then send [7]
    if (link.putting > 0) return kRetry;
    if (const int code = mpi_.win_flush(static_cast<int>(rank), session_.window(slot_)); code != 0)
      return lost(rank, "MPI_Win_flush", code);
    link.unflushed = false;
    message.after_puts = 1;
  }
  return emit(rank, message, data);
}

// There is a buffer.
template <class Handle>
Post MpiEndpoint<Handle>::emit(uint32_t rank, Message message, Payload data) {
  MpiLink& link = links_[rank];
  MessageBuffer* const buffer = free_[--free_count_];
  message.source = session_.job().rank;
  message.length = static_cast<uint32_t>(data.length);
  buffer->message = message;
  if (data.length > 0) std::memcpy(buffer->data.data(), data.source, data.length);
  link.met = true;
  session_.watch().meet(rank);
  ++link.sending;
  const auto start = ++link.sent % kSynchronous == 0 ? mpi_.issend : mpi_.isend;
  Handle request{};
  int done = 0;
  const MpiOperation operation{.rank = rank, .buffer = buffer};
  int code = start(buffer, static_cast<int>(sizeof message + data.length), mpi_.constants.byte,
                   static_cast<int>(rank), session_.tag(rank, slot_), session_.comm(), &request);
  if (code != 0) {
    finish(operation);
    return lost(rank, "MPI_Isend", code);
  }
  code = mpi_.test(&request, &done, mpi_.constants.status_ignore);
  if (code == 0 && done != 0) {
    finish(operation);
  } else {
    track(request, operation);  // MPI reads the buffer
  }
  return code == 0 ? Post{} : lost(rank, "MPI_Test", code);
}

template <class Handle>
void MpiEndpoint<Handle>::track(Handle request, const MpiOperation& operation) {
  requests_[outstanding_] = request;
  operations_[outstanding_] = operation;
  ++outstanding_;
}

// --- Progress ------------------------------------------------------------------------------------------

// After a sleep it looks more than once: a large transfer goes on with each look of both sides only.
template <class Handle>
int MpiEndpoint<Handle>::progress(Sink& sink, int budget) {
  const Visit visit(session_, *this);
  if (!visit.admitted()) return 0;
  int found = 0;
  for (int looks = std::exchange(slept_, false) ? kLooks : 1; looks > 0 && found == 0; --looks)
    found = broken_ ? OMPL_ERR_LINK : look(sink, budget);
  if (found > 0 || outstanding_ > 0) poll_timer_.hurry();
  if (session_.watch().losses() != losses_) fail_lost();
  if (failing_ > 0) [[unlikely]]
    look_at_failing();
  return found;
}

template <class Handle>
int MpiEndpoint<Handle>::look(Sink& sink, int budget) {
  int taken = 0;
  for (; taken < budget; ++taken) {
    const MessageBuffer* message = nullptr;
    if (const int code = inbox_.look(&message); code != 0) return broken("MPI_Imrecv", code);
    if (message == nullptr) break;
    take_in(*message, sink);
  }
  const int completed = complete();
  return completed >= 0 ? taken + completed : completed;
}

template <class Handle>
void MpiEndpoint<Handle>::take_in(const MessageBuffer& buffer, Sink& sink) {
  const Job& job = session_.job();
  const Message& message = buffer.message;
  if (message.source >= job.size || message.length > kMostCopied || message.target > job.capacity ||
      message.length > job.capacity - message.target) {
    log::warn("mpi: dropped a message that makes no sense");
    return;
  }
  MpiLink& link = links_[message.source];
  link.met = true;
  session_.watch().hear(message.source);
  if (message.after_puts != 0) mpi_.win_sync(session_.window(slot_));
  if (message.length > 0) std::memcpy(job.segment + message.target, buffer.data.data(), message.length);
  if (message.op == kGoodbye) {
    link.departed = message.value != 0;
    fail(message.source, link.departed ? "it has left" : kMpiEnded);
  } else if (message.op != kDataOnly) {
    sink.signal(message.source, from_message(message));
  }
}

// How many operations are complete that were not, or the error of the endpoint.
template <class Handle>
int MpiEndpoint<Handle>::complete() {
  if (outstanding_ == 0) return 0;
  int count = 0;
  const int code = mpi_.testsome(static_cast<int>(outstanding_), requests_.data(), &count,
                                 finished_.data(), mpi_.constants.status_ignore);
  if (code != 0) return broken("MPI_Testsome", code);
  // From the last: each leaves its place to one behind it.
  std::sort(finished_.begin(), finished_.begin() + count, std::greater<>());
  for (int i = 0; i < count; ++i) {
    const auto place = static_cast<std::size_t>(finished_[static_cast<std::size_t>(i)]);
    finish(operations_[place]);
    --outstanding_;
    requests_[place] = requests_[outstanding_];
    operations_[place] = operations_[outstanding_];
  }
  return count;
}

template <class Handle>
void MpiEndpoint<Handle>::finish(const MpiOperation& operation) {
  MpiLink& link = links_[operation.rank];
  if (operation.buffer != nullptr) {
    free_[free_count_++] = operation.buffer;
    --link.sending;
    return;
  }
  link.putting -= operation.is_put ? 1 : 0;
  link.window.complete(operation.ticket);
}

// --- Failure and the end -------------------------------------------------------------------------------

// MPI takes no put or get back: while it may read or write callers' memory their posts are answered by a retry, and what is
// outstanding stays so. For a second: of a rank that is gone some complete nothing.
template <class Handle>
void MpiEndpoint<Handle>::fail(uint32_t rank, std::string_view why, int code) noexcept {
  MpiLink& link = links_[rank];
  if (link.failure != OMPL_OK || link.failing != OMPL_OK) return;
  link.why = in_words([why] { return std::string(why); });
  link.failing = code;
  link.fail_by = arch::now_ms() + kLetGoMs;
  ++failing_;
  if (link.window.outstanding() == 0 || broken_) fail_now(link);
}

template <class Handle>
void MpiEndpoint<Handle>::fail_now(MpiLink& link) noexcept {
  --failing_;
  link.failure.store(link.failing, std::memory_order_release);
  link.window.close();
}

template <class Handle>
void MpiEndpoint<Handle>::look_at_failing() {
  const int64_t now = arch::now_ms();
  for (uint32_t rank = 0; rank < session_.job().size; ++rank) {
    MpiLink& link = links_[rank];
    if (link.failing == OMPL_OK || link.failure != OMPL_OK) continue;
    if (link.window.outstanding() == 0 || broken_ || now > link.fail_by) fail_now(link);
  }
}

template <class Handle>
void MpiEndpoint<Handle>::fail_lost() {
  const LivenessWatch& watch = session_.watch();
  const uint32_t losses = watch.losses();
  for (uint32_t rank = 0; rank < session_.job().size; ++rank) {
    if (const int code = watch.lost(rank); code != OMPL_OK)
      fail(rank, in_words([&] { return watch.why(rank); }), code);
  }
  losses_ = losses;
}

template <class Handle>
Post MpiEndpoint<Handle>::lost(uint32_t rank, const char* function, int code) {
  fail(rank, in_words([&] { return fmt::format("{} failed: {}", function, mpi_.text(code)); }));
  return {.state = Post::State::failed, .code = session_.failed(function, code)};
}

// MPI does not say which rank it is about.
template <class Handle>
int MpiEndpoint<Handle>::broken(const char* function, int code) {
  broken_ = true;
  for (uint32_t rank = 0; rank < session_.job().size; ++rank) lost(rank, function, code);
  return OMPL_ERR_LINK;
}

template <class Handle>
void MpiEndpoint<Handle>::leave(bool in_order) {
  const int64_t limit = arch::now_ms() + kLeaveMs;
  const auto settle = [&](auto settled) {
    while (!broken_ && !settled() && complete() >= 0 && arch::now_ms() < limit) arch::give_way();
  };
  for (uint32_t rank = 0; rank < session_.job().size; ++rank) {
    if (!links_[rank].met || links_[rank].failing != OMPL_OK) continue;
    settle([this] { return free_count_ > 0 && outstanding_ < kOperations; });
    if (free_count_ > 0 && outstanding_ < kOperations)
      emit(rank, {.value = in_order ? 1U : 0U, .op = kGoodbye}, {});
  }
  settle([this] { return outstanding_ == 0; });
  if (outstanding_ > 0) static_cast<void>(buffers_.release());  // MPI may still read them
  for (uint32_t rank = 0; rank < session_.job().size; ++rank) {
    session_.count_sent(rank, links_[rank].sent);
    fail(rank, in_order ? "it was closed" : kMpiEnded);
    if (links_[rank].failure == OMPL_OK) fail_now(links_[rank]);
  }
}

// --- State ---------------------------------------------------------------------------------------------

template <class Handle>
uint64_t MpiEndpoint<Handle>::completed(uint32_t rank) const {
  return links_[rank].window.completed();
}

template <class Handle>
int MpiEndpoint<Handle>::failure(uint32_t rank) const {
  return links_[rank].failure.load(std::memory_order_acquire);
}

template <class Handle>
std::string MpiEndpoint<Handle>::describe() const {
  return fmt::format("{} of {} operations outstanding", outstanding_.load(), kOperations);
}

template class MpiEndpoint<int>;
template class MpiEndpoint<void*>;

}  // namespace ompl::conduit::mpi
