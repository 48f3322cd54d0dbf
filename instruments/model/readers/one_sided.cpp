// SPDX-License-Identifier: BSD-3-Clause
// One-sided operations of a rank, as messages; docs/explanation/model.md says which.

#include "model/readers/call_reader.hpp"

namespace ompl::model {

namespace {

using trace::CallView;
using trace::Kind;
using trace::Record;

struct Lengths {
  uint64_t request, reply;
};

Lengths lengths_of(const Record& call) {
  switch (call.kind) {
    case Kind::kGet:
    case Kind::kRget:
      return {0, call.bytes};
    case Kind::kGetAccumulate:
    case Kind::kRgetAccumulate:
    case Kind::kFetchAndOp:
    case Kind::kCompareAndSwap:
      return {call.bytes, call.bytes};
    default:
      return {call.bytes, 0};
  }
}

bool fetches(Kind kind) {
  return kind != Kind::kPut && kind != Kind::kRput && kind != Kind::kAccumulate &&
         kind != Kind::kRaccumulate;
}

}  // namespace

// What the target does with a request takes none of its time. The end of what is added of an access.
void CallReader::answer(uint32_t target, uint64_t bytes) {
  begin_branch(target, true);
  add(part_of_access(OpKind::recv, rank_, kRequests));
  add(part_of_access(OpKind::send, rank_, kReplies, bytes));
  end_branch(true);
  accesses_ += access_step_;
}

// In the background: a request of so many bytes, and its reply. `apart`: the origin's memory is its own again before that.
void CallReader::request_and_reply(Access& one, uint32_t target, uint64_t request, uint64_t reply,
                                   bool apart) {
  begin_branch(rank_);
  add(part_of_access(OpKind::send, target, kRequests, request));
  if (apart) {
    one.local = end_branch();
    begin_branch(rank_, true);
  }
  add(part_of_access(OpKind::recv, target, kReplies));
  (apart ? one.remote : one.local) = end_branch();
  answer(target, reply);
}

void CallReader::open(uint32_t window, const Access& one) {
  if (one.request != 0) open_[one.request] = one.local;  // threads do not hand these over
  accesses_open_[window].push_back(one);
}

// The request leaves with the call.
void CallReader::access(const Record& call) {
  if (call.peer == trace::kProcNull) return;
  const auto win = window(call.comm);
  if (!win) return opaque(call);
  const uint32_t target = win->of->world_rank(rank_, call.peer);
  const Lengths lengths = lengths_of(call);
  Access one{.target = call.peer, .request = call.request};
  request_and_reply(one, target, lengths.request, lengths.reply, !fetches(call.kind));
  open(call.comm, one);
}

// Waits for the accesses to a target, or to all if it is kNoPeer; if `locally`, until the origin's memory is its own again.
void CallReader::finish_accesses(uint32_t window, int32_t target, bool locally) {
  std::vector<uint64_t> requests;
  std::erase_if(accesses_open_[window], [&](Access& access) {
    if (target != trace::kNoPeer && target != access.target) return false;
    // The program may have waited for its request.
    if (access.request != 0 && open_.erase(access.request) == 0) access.local = kNone;
    access.request = 0;
    if (access.local != kNone) requests.push_back(access.local);
    access.local = kNone;
    if (!locally && access.remote != kNone) requests.push_back(access.remote);
    return !locally || access.remote == kNone;
  });
  wait_for(requests);
}

void CallReader::synchronize(const CallView& view) {
  const Record& call = *view.call;
  const auto win = window(call.comm);
  if (!win) return opaque(call);
  // An empty message that opens or closes an epoch for those that it names.
  const auto notices = [&](OpKind kind, const std::vector<uint32_t>& ranks, int32_t which) {
    for (const uint32_t rank : ranks)
      add(hidden(kind, communicator(*win->of, Traffic::windows), win->of->world_rank(rank_, rank),
                 2 * win->ordinal + which));
  };
  constexpr int32_t kOpens = 0, kCloses = 1;
  Epochs& epochs = epochs_[call.comm];
  switch (call.kind) {
    case Kind::kWinFence:
      finish_accesses(call.comm, trace::kNoPeer, false);
      return exchange_all({Collective::barrier, win->of->rank, win->of->size, 0, 0, {}, {}}, *win->of,
                          0);
    case Kind::kWinUnlock:
    case Kind::kWinFlush:
      return finish_accesses(call.comm, call.peer, false);
    case Kind::kWinUnlockAll:
    case Kind::kWinFlushAll:
      return finish_accesses(call.comm, trace::kNoPeer, false);
    case Kind::kWinFlushLocal:
      return finish_accesses(call.comm, call.peer, true);
    case Kind::kWinFlushLocalAll:
      return finish_accesses(call.comm, trace::kNoPeer, true);
    case Kind::kWinPost:
      epochs.posted = view.ids;
      return notices(OpKind::send, epochs.posted, kOpens);
    case Kind::kWinStart:
      epochs.started = view.ids;
      return notices(OpKind::recv, epochs.started, kOpens);
    case Kind::kWinComplete:
      finish_accesses(call.comm, trace::kNoPeer, false);
      return notices(OpKind::send, epochs.started, kCloses);
    case Kind::kWinTest:
      if ((call.flags & trace::Flag::kCompleted) == 0) return;
      [[fallthrough]];
    case Kind::kWinWait:
      return notices(OpKind::recv, epochs.posted, kCloses);
    default:  // WinLock, WinLockAll: with the first access; WinSync
      return;
  }
}

}  // namespace ompl::model
