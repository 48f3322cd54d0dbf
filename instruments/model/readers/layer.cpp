// SPDX-License-Identifier: BSD-3-Clause
// This layer's own operations, as messages; docs/explanation/model.md says which.
#include <algorithm>

#include "model/readers/call_reader.hpp"

namespace ompl::model {

namespace {

using trace::CallView;
using trace::Kind;
using trace::Record;

// What a nonblocking put's handle stands for: OMPL_LOCAL of omnipgas/ompl_ext.h.
constexpr int32_t kLocal = 1;

bool is_signal(const Record& call) {
  return call.kind == Kind::kOmplPutWord || call.kind == Kind::kOmplSignal;
}

}  // namespace

void CallReader::own(const CallView& view) {
  const Record& call = *view.call;
  if ((call.flags & trace::kRetried) != 0) return;  // nothing was posted
  switch (call.kind) {
    case Kind::kOmplPut:
    case Kind::kOmplPutStrided:
    case Kind::kOmplPutIndexed:
      return own_put(view);
    case Kind::kOmplGet:
    case Kind::kOmplGetStrided:
    case Kind::kOmplGetIndexed:
      return get_and_wait(call);
    case Kind::kOmplPutNb:
    case Kind::kOmplGetNb:
      return own_post(view);
    case Kind::kOmplAtomic:
    case Kind::kOmplAtomicNb:
      return own_atomic(view);
    case Kind::kOmplSignalNb:
    case Kind::kOmplPutWord:
    case Kind::kOmplPutSignal:
    case Kind::kOmplSignal:
      send_signal(call, call.request, call.bytes + put_with_signal_);
      put_with_signal_ = 0;
      return;
    case Kind::kOmplWait:
      return take_signals(call.request);
    case Kind::kOmplWaitUntil:
    case Kind::kOmplWaitAny:
    case Kind::kOmplWaitSome:
    case Kind::kOmplWaitAll:
    case Kind::kOmplWaitMemory:
      for (const trace::Word& word : view.words) take_signals(word.number);
      return;
    case Kind::kOmplFlagThen:  // the callback's calls wait for nothing, but a task may
      begin_branch(rank_, true);
      for (const trace::Word& word : view.words) take_signals(word.number);
      if (call.request != 0) return open(call.request, end_branch());
      return end_branch(true), void();
    case Kind::kOmplTaskBegin:
      task_site_ = site_;
      return complete(view.ids);
    case Kind::kOmplCall:
    case Kind::kOmplCallNb:
      return own_call(call);
    case Kind::kOmplFunction:
    case Kind::kOmplReply:
      return own_function(call);
    case Kind::kOmplTeamAlloc:
    case Kind::kOmplTeamFree:
    case Kind::kOmplLocalAlloc:
    case Kind::kOmplLocalFree:
      return opaque(call);
    case Kind::kOmplHandleTest:
    case Kind::kOmplHandleWait:
    case Kind::kOmplHandleWaitAny:
    case Kind::kOmplHandleWaitSome:
    case Kind::kOmplHandleWaitAll:
      return complete(view.requests());
    case Kind::kOmplFlush:
    case Kind::kOmplQuiet:
      return finish_accesses(0, call.peer, false);
    case Kind::kOmplBarrier:
    case Kind::kOmplAlloc:
    case Kind::kOmplFree:
    case Kind::kOmplHaloCreate:
    case Kind::kOmplHaloDestroy:
      return join(call);
    case Kind::kOmplHaloStart:
    case Kind::kOmplHaloTest:
    case Kind::kOmplHaloWait:
    case Kind::kOmplHaloWaitSome:
      return exchange(view);
    default:  // polls and progress: the wait waits
      return;
  }
}

// Puts are over for the origin when they return. A signal that follows at once brings the data along.
void CallReader::own_put(const CallView& view) {
  const Record& call = *view.call;
  if (!view.words.empty()) return send_signal(call, view.words.front().number, call.bytes);
  const Record* const next = next_of_program();
  if (next != nullptr && is_signal(*next) && next->peer == call.peer) {
    put_with_signal_ = call.bytes;
    return;
  }
  put_and_reply(call);
}

void CallReader::put_and_reply(const Record& call) {
  const uint32_t target = group(call.comm).world_rank(rank_, call.peer);
  add(part_of_access(OpKind::send, target, kRequests, call.bytes));
  begin_branch(rank_, true);
  add(part_of_access(OpKind::recv, target, kReplies));
  accesses_open_[0].push_back({.target = call.peer, .remote = end_branch()});
  answer(target, 0);
}

void CallReader::get_and_wait(const Record& call) {
  const uint32_t target = group(call.comm).world_rank(rank_, call.peer);
  add(part_of_access(OpKind::send, target, kRequests));
  const Op reply = part_of_access(OpKind::recv, target, kReplies);
  answer(target, call.bytes);
  add(reply);
}

// All in the background. With a signal, whose message nobody answers, the handle stands for the source alone.
void CallReader::own_post(const CallView& view) {
  const Record& call = *view.call;
  Access one{.target = call.peer, .request = call.request};
  const bool puts = call.kind == Kind::kOmplPutNb;
  if (!view.words.empty()) {
    begin_branch(rank_);
    send_signal(call, view.words.front().number, call.bytes);
    one.local = end_branch();
  } else {
    const uint32_t target = group(call.comm).world_rank(rank_, call.peer);
    request_and_reply(one, target, puts ? call.bytes : 0, puts ? 0 : call.bytes,
                      puts && (call.tag & kLocal) != 0);
  }
  open(0, one);
}

// Its result comes back as that of a get; without one it is complete as a put is. Who waits for the word hears of it by a
// message of its own.
void CallReader::own_atomic(const CallView& view) {
  const Record& call = *view.call;
  if (view.words.empty()) return;
  const trace::Word& word = view.words.front();
  const uint32_t target = group(call.comm).world_rank(rank_, call.peer);
  const bool fetches = call.tag != 0;
  if (word.function != trace::Word::kFetch && is_waited_for(target, word.number)) {
    send_signal(call, word.number, call.bytes);
    if (!fetches) return;
  }
  if (call.kind == Kind::kOmplAtomic) return fetches ? get_and_wait(call) : put_and_reply(call);
  Access one{.target = call.peer, .request = call.request};
  request_and_reply(one, target, call.bytes, fetches ? call.bytes : 0, false);
  open(0, one);
}

// A message that the function's run receives; the reply comes back in the background. Quiet does not wait for that.
void CallReader::own_call(const Record& call) {
  const uint32_t target = group(call.comm).world_rank(rank_, call.peer);
  const Op request = hidden(OpKind::send, kCalls, target, call.tag, call.bytes);
  if (call.request == 0) return add(request);
  begin_branch(rank_);
  add(request);
  add(hidden(OpKind::recv, kCallReplies, target, call.tag));
  open_[call.request] = end_branch();
}

// The begin of a function that another rank has called, or its end. One that ran within another call, as a barrier, takes its
// request and answers in the background: what the thread does in that call, such as to arrive, waits for no request.
void CallReader::own_function(const Record& call) {
  constexpr uint64_t kValue = 8;  // bytes of a reply
  const uint32_t caller = group(call.comm).world_rank(rank_, call.peer);
  const Op request = hidden(OpKind::recv, kCalls, caller, call.tag);
  const Op reply = hidden(OpKind::send, kCallReplies, caller, call.tag, kValue);
  if (call.kind == Kind::kOmplFunction) run_ = next_run();
  if (call.kind != Kind::kOmplFunction) {
    if (run_.answers && !run_.within) add(reply);
  } else if (!run_.within) {
    add(request);
  } else {
    begin_branch(rank_, true);
    add(request);
    if (run_.answers) add(reply);
    end_branch(true);
  }
}

void CallReader::send_signal(const Record& call, uint32_t word, uint64_t bytes) {
  const uint32_t target = group(call.comm).world_rank(rank_, call.peer);
  add(hidden(OpKind::send, kFlags, target, tag_of(word), bytes));
}

// From whichever ranks they come.
void CallReader::take_signals(uint32_t word) {
  for (uint32_t left = signals_of(word); left > 0; --left)
    add(hidden(OpKind::recv, kFlags, static_cast<uint32_t>(Op::kAny), tag_of(word)));
}

void CallReader::join(const Record& call) {
  const Members& world = group(call.comm);
  finish_accesses(0, trace::kNoPeer, false);
  exchange_all({Collective::barrier, world.rank, world.size, 0, 0, {}, {}}, world, 0);
}

// A message to each neighbour that gets something; whoever waits in this thread receives what comes.
void CallReader::exchange(const CallView& view) {
  const Record& call = *view.call;
  const Halo* const halo = this->halo(call.request);
  if (halo == nullptr) return opaque(call);
  if (call.kind == Kind::kOmplHaloTest && (call.flags & trace::kCompleted) == 0) return;
  std::vector<uint32_t>& arriving = arriving_[call.request];
  const auto receive = [&](uint32_t neighbour) {
    if (std::erase(arriving, neighbour) == 0) return;
    add(hidden(OpKind::recv, kHalos, halo->ranks[neighbour], tag_of(call.request)));
  };
  const bool all = call.kind != Kind::kOmplHaloWaitSome || view.ids.empty();
  const std::vector<uint32_t> arrived = all ? arriving : view.ids;
  std::ranges::for_each(arrived, receive);
  if (call.kind != Kind::kOmplHaloStart) return;
  for (uint32_t i = 0; i < halo->ranks.size(); ++i) {
    if (halo->received[i] > 0) arriving.push_back(i);
    if (halo->sent[i] == 0) continue;
    const uint32_t target = group(call.comm).world_rank(rank_, halo->ranks[i]);
    add(hidden(OpKind::send, kHalos, target, tag_of(call.request), halo->sent[i]));
  }
}

}  // namespace ompl::model
