// SPDX-License-Identifier: BSD-3-Clause
#include "model/readers/otf2/events.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "model/readers/otf2/names.hpp"
#include "model/readers/otf2/sizes.hpp"

namespace ompl::model::otf2 {

using trace::Flag;
using trace::Group;
using trace::Kind;
using trace::Record;

namespace {

constexpr std::size_t kDeepest = 1'000'000;  // regions within each other

int32_t small(uint32_t value) {
  if (value > static_cast<uint32_t>(std::numeric_limits<int32_t>::max()))
    refuse("{} as a rank or a tag", value);
  return static_cast<int32_t>(value);
}

Record record_of(Kind kind, uint32_t request = 0) {
  Record out{};
  out.kind = kind;
  out.request = request;
  return out;
}

Record tracer(uint64_t begin, uint64_t end) {
  Record out = record_of(Kind::kTracer);
  out.begin = begin;
  out.end = end;
  return out;
}

}  // namespace

// OTF2's callbacks: nothing may be thrown through the library.
struct Handlers {
  // A callback for each kind of event, with the arguments after the five that all have.
  template <auto Method, class... Arguments>
  static OTF2_CallbackCode on(OTF2_LocationRef /*location*/, OTF2_TimeStamp time, uint64_t /*position*/,
                              void* data, OTF2_AttributeList* /*attributes*/, Arguments... arguments) {
    auto& rank = *static_cast<Rank*>(data);
    return rank.caught_.during([&] {
      rank.at(time);
      (rank.*Method)(arguments...);
    });
  }

  static const OTF2_EvtReaderCallbacks& callbacks() {
    static const auto kAll = [] {
      OTF2_EvtReaderCallbacks* const to = OTF2_EvtReaderCallbacks_New();
      OTF2_EvtReaderCallbacks_SetEnterCallback(to, on<&Rank::enter>);
      OTF2_EvtReaderCallbacks_SetLeaveCallback(to, on<&Rank::leave>);
      OTF2_EvtReaderCallbacks_SetBufferFlushCallback(to, on<&Rank::flush>);
      OTF2_EvtReaderCallbacks_SetCallingContextEnterCallback(to, on<&Rank::context>);
      OTF2_EvtReaderCallbacks_SetParameterIntCallback(to, on<&Rank::level>);
      OTF2_EvtReaderCallbacks_SetParameterUnsignedIntCallback(to, on<&Rank::parameter>);
      OTF2_EvtReaderCallbacks_SetMpiSendCallback(to, on<&Rank::send>);
      OTF2_EvtReaderCallbacks_SetMpiRecvCallback(to, on<&Rank::receive>);
      OTF2_EvtReaderCallbacks_SetMpiIsendCallback(to, on<&Rank::post_send>);
      OTF2_EvtReaderCallbacks_SetMpiIrecvRequestCallback(to, on<&Rank::post>);
      OTF2_EvtReaderCallbacks_SetNonBlockingCollectiveRequestCallback(to, on<&Rank::post>);
      OTF2_EvtReaderCallbacks_SetMpiIsendCompleteCallback(to, on<&Rank::sent>);
      OTF2_EvtReaderCallbacks_SetMpiIrecvCallback(to, on<&Rank::received>);
      OTF2_EvtReaderCallbacks_SetMpiRequestCancelledCallback(to, on<&Rank::cancelled>);
      OTF2_EvtReaderCallbacks_SetMpiCollectiveEndCallback(to, on<&Rank::collective>);
      OTF2_EvtReaderCallbacks_SetNonBlockingCollectiveCompleteCallback(to, on<&Rank::collective_done>);
      return to;
    }();
    return *kAll;
  }
};

Rank::Rank(const Definitions& definitions, Archive& archive, uint64_t location, uint32_t rank,
           const Algorithms& algorithms, const Sites& sites, Sites* new_sites)
    : CallReader(rank, algorithms, definitions.ns_per_tick),
      definitions_(definitions),
      archive_(archive),
      location_(location),
      sites_(sites),
      new_sites_(new_sites) {
  self_.ranks = {rank};
  self_.definition.size = 1;
}

void Rank::scan() {
  trace::CallView view{};
  while (next_call(view)) {
  }
  archive_.close(events_);
  if (const uint64_t events = definitions_.events.at(location_); read_ != events)
    refuse("location {}: it has {} events of {}: its file is truncated", location_, read_, events);
}

const Members& Rank::group(uint32_t communicator) {
  auto found = groups_.find(communicator);
  if (found == groups_.end())
    found = groups_.emplace(communicator, definitions_.members(communicator, rank(), self_)).first;
  return found->second;
}

std::string Rank::name(const Record& call) const {
  if (call.kind != Kind::kOpaque) return CallReader::name(call);
  return definitions_.regions.at(call.request).name;
}

bool Rank::next_call(trace::CallView& view) {
  while (calls_.empty() || calls_.front().open) {
    if (!ended_ && calls_.size() < kLookAhead) {
      read();
    } else if (calls_.empty()) {
      return false;
    } else {
      give_up(calls_.front());
    }
  }
  current_ = std::move(calls_.front());
  calls_.pop_front();
  ++first_;
  view = {.call = &current_.record,
          .matches = std::move(current_.matches),
          .ids = std::move(current_.ids),
          .sent = std::move(current_.sent),
          .received = std::move(current_.received),
          .words = {}};
  return true;
}

void Rank::read() {
  if (events_ == nullptr) events_ = archive_.events(location_, Handlers::callbacks(), this);
  const uint64_t count = archive_.read(events_, caught_);
  ended_ = count < Archive::kBatch;
  read_ += count;
}

// It counts as computation, under its name.
void Rank::give_up(Call& call) {
  call.open = false;
  call.record.flags |= Flag::kFailed;
  std::erase_if(requests_, [&](const auto& one) { return one.second.number == call.record.request; });
}

void Rank::at(uint64_t time) {
  if (time < time_) refuse("{}: time goes back from tick {} to {}", who(), time_, time);
  if (time_ == 0) start_ = time;
  time_ = time;
}

void Rank::enter(uint32_t region) {
  if (depth_ > 0) {  // a call that MPI makes itself
    ++depth_;
    return;
  }
  const auto found = definitions_.regions.find(region);
  if (found == definitions_.regions.end())
    refuse("{}: enters region {}, which is not defined", who(), region);
  const uint32_t from = regions_.empty() ? OTF2_UNDEFINED_REGION : regions_.back();
  if (!found->second.is_call) {
    if (regions_.size() == kDeepest) refuse("{}: {} regions within each other", who(), kDeepest);
    regions_.push_back(region);
    return;
  }
  if (rank() == kNone)
    refuse("location {}, a thread that is no rank, calls {}; a rank of the model is one processor",
           location_, found->second.name);
  depth_ = 1;
  function_ = region;
  kind_ = found->second.kind;
  if (!begun_ && kind_ != Kind::kInit)  // recorded from somewhere behind MPI_Init on
    calls_.emplace_back().record = tracer(start_, start_);
  begun_ = true;
  begin_ = time_;
  is_placed_ = from != OTF2_UNDEFINED_REGION || !found->second.place.empty();
  site_ = new_sites_ != nullptr ? new_sites_->add(region, from) : sites_.find(region, from);
}

void Rank::leave(uint32_t region) {
  if (depth_ > 1) {
    --depth_;
    return;
  }
  if (depth_ == 0) return leave_own(region);
  if (function_ != region) refuse("{}: leaves region {}, in which it is not", who(), region);
  depth_ = 0;
  finish_call();
}

// The program's own regions need not be nested: they only say where calls of MPI stand.
void Rank::leave_own(uint32_t region) {
  const auto entered = std::ranges::find(regions_.rbegin(), regions_.rend(), region);
  if (entered != regions_.rend()) {
    regions_.erase(std::next(entered).base());
    return;
  }
  const auto found = definitions_.regions.find(region);
  if (found == definitions_.regions.end() || found->second.is_call)
    refuse("{}: leaves region {}, in which it is not", who(), region);
}

// A thread that is no rank has no number.
std::string Rank::who() const {
  return rank() == kNone ? fmt::format("location {}", location_) : fmt::format("rank {}", rank());
}

// Writing the trace took this time.
void Rank::flush(uint64_t stop) {
  if (depth_ > 0 || !begun_ || stop < time_) return;
  calls_.emplace_back().record = tracer(time_, stop);
  time_ = stop;
}

void Rank::require_call() const {
  if (depth_ == 0)
    refuse(
        "rank {}: a record of MPI outside of all of MPI's functions: how long they took is not known",
        rank());
}

void Rank::context(uint32_t /*context*/, uint32_t /*distance*/) {
  refuse("rank {}: its regions are calling contexts, as in sampled traces; record it instrumented",
         rank());
}

void Rank::level(uint32_t parameter, int64_t value) {
  this->parameter(parameter, static_cast<uint64_t>(value));
}

void Rank::parameter(uint32_t parameter, uint64_t value) {
  const auto found = definitions_.parameters.find(parameter);
  if (depth_ == 0 || found == definitions_.parameters.end()) return;
  if (found->second == Parameter::level) level_ = static_cast<int32_t>(value);
  if (found->second == Parameter::found) found_ = value != 0;
  if (found->second == Parameter::bytes_to) bytes_to_.push_back(value);
  if (found->second == Parameter::bytes_from) bytes_from_.push_back(value);
}

Kind Rank::kind_or(Group group, Kind other) const {
  return trace::group_of(kind_) == group ? kind_ : other;
}

Record Rank::message(Kind kind, uint32_t peer, uint32_t communicator, uint32_t tag,
                     uint64_t bytes) const {
  require_call();
  Record out = record_of(kind);
  out.bytes = bytes;
  out.peer = small(peer);
  out.tag = small(tag);
  out.comm = communicator;
  return out;
}

Rank::Call& Rank::make(const Record& record) {
  Call& call = made_.emplace_back();
  call.record = record;
  return call;
}

void Rank::send(uint32_t peer, uint32_t communicator, uint32_t tag, uint64_t bytes) {
  sends_.push_back(message(kind_or(Group::kSend, Kind::kSend), peer, communicator, tag, bytes));
}

void Rank::receive(uint32_t peer, uint32_t communicator, uint32_t tag, uint64_t bytes) {
  receives_.push_back(message(kind_or(Group::kReceive, Kind::kRecv), peer, communicator, tag, bytes));
}

// The call that is made next posts it.
uint32_t Rank::open_request(uint64_t request) {
  requests_[request] = {++posted_, first_ + calls_.size() + made_.size()};
  return posted_;
}

void Rank::post_send(uint32_t peer, uint32_t communicator, uint32_t tag, uint64_t bytes,
                     uint64_t request) {
  Record record = message(kind_or(Group::kPostSend, Kind::kIsend), peer, communicator, tag, bytes);
  record.request = open_request(request);
  make(record);
}

void Rank::post(uint64_t request) {
  require_call();
  const Group group = trace::group_of(kind_);
  const bool collective = group == Group::kPostCollective || group == Group::kCommunicator;
  const uint32_t number = open_request(request);
  Call& call = make(record_of(collective ? kind_ : Kind::kIrecv, number));
  call.open = true;
  call.sent = std::move(bytes_to_);
  call.received = std::move(bytes_from_);
}

Rank::Call* Rank::find_open(uint64_t request) {
  const auto found = requests_.find(request);
  if (found == requests_.end() || found->second.place < first_) return nullptr;
  const uint64_t place = found->second.place - first_;
  Call& call = place < calls_.size() ? calls_[place] : made_[place - calls_.size()];
  return call.open ? &call : nullptr;
}

void Rank::complete(uint64_t request) {
  require_call();
  const auto found = requests_.find(request);
  if (found == requests_.end()) return;
  completed_.push_back(found->second.number);
  requests_.erase(found);
}

void Rank::sent(uint64_t request) { complete(request); }

void Rank::received(uint32_t peer, uint32_t communicator, uint32_t tag, uint64_t bytes,
                    uint64_t request) {
  Record record = message(Kind::kIrecv, peer, communicator, tag, bytes);
  Call* call = find_open(request);
  if (call == nullptr) {
    const uint32_t number = open_request(request);
    call = &make(record_of(Kind::kIrecv, number));
  }
  record.begin = call->record.begin;
  record.end = call->record.end;
  record.site = call->record.site;
  record.request = call->record.request;
  call->record = record;
  call->open = false;
  complete(request);
}

void Rank::cancelled(uint64_t request) {
  require_call();
  if (Call* const call = find_open(request)) {
    call->open = false;
    call->record.kind = Kind::kTracer;
  }
  requests_.erase(request);
}

Record Rank::collective_record(OTF2_CollectiveOp operation, uint32_t communicator, uint32_t root,
                               uint64_t sent, uint64_t received) {
  require_call();
  const auto kind = kind_of(operation);
  if (!kind) {
    Record unknown = record_of(kind_, function_);
    unknown.flags = Flag::kFailed;
    return unknown;
  }
  const Members& of = group(communicator);
  int32_t peer = trace::kIntercommRoot;
  if (root == OTF2_COLLECTIVE_ROOT_NONE) peer = trace::kNoPeer;
  if (root < OTF2_COLLECTIVE_ROOT_THIS_GROUP) peer = small(root);
  const Part part{*kind, of.rank, of.size, peer < 0 ? 0 : root};
  Record out = record_of(*kind);
  out.bytes = bytes_of(part, {sent, received});
  out.peer = peer;
  out.comm = communicator;
  return out;
}

void Rank::collective(OTF2_CollectiveOp operation, uint32_t communicator, uint32_t root, uint64_t sent,
                      uint64_t received) {
  Call& call = make(collective_record(operation, communicator, root, sent, received));
  call.sent = std::move(bytes_to_);
  call.received = std::move(bytes_from_);
}

void Rank::collective_done(OTF2_CollectiveOp operation, uint32_t communicator, uint32_t root,
                           uint64_t sent, uint64_t received, uint64_t request) {
  const Record record = collective_record(operation, communicator, root, sent, received);
  if (Call* const call = find_open(request)) {
    call->open = false;
    call->record.flags |= record.flags;
    if (record.flags == 0) call->record.kind = nonblocking(record.kind);
    call->record.bytes = record.bytes;
    call->record.peer = record.peer;
    call->record.comm = record.comm;
  }
  complete(request);
}

// A call without a record is one with MPI_PROC_NULL, a test that found nothing, or one that only its name tells of.
void Rank::finish_call() {
  const bool both = kind_ == Kind::kSendrecv || kind_ == Kind::kSendrecvReplace;
  if (sends_.size() <= 1 && receives_.size() <= 1 &&
      sends_.size() + receives_.size() > (both ? 0 : 1)) {
    Record nobody{};
    nobody.peer = trace::kProcNull;
    if (sends_.empty()) nobody.comm = receives_.front().comm;
    Call& call = make(sends_.empty() ? nobody : sends_.front());
    call.record.kind = Kind::kSendrecv;
    call.matches = {receives_.empty() ? nobody : receives_.front()};
  } else {
    for (const auto* several : {&sends_, &receives_})
      for (const Record& record : *several) make(record);
  }
  if (completed_.size() == 1) {
    make(record_of(Kind::kWait, completed_.front()));
  } else if (!completed_.empty()) {
    Call& call = make(record_of(Kind::kWaitall));
    call.record.flags = Flag::kSeveral;
    call.ids = std::move(completed_);
  }
  if (made_.empty()) {
    const Group group = trace::group_of(kind_);
    Record record = record_of(kind_, kind_ == Kind::kOpaque ? function_ : 0);
    record.tag = level_;
    if (found_) record.flags = Flag::kCompleted;
    if (group == Group::kCollective || group == Group::kPostCollective) record.flags = Flag::kFailed;
    // A test or a probe stays one where it is known in which loop it may be.
    const bool looks = is_placed_ && (group == Group::kProbe || group == Group::kComplete);
    if (!looks && group >= Group::kSend && group <= Group::kRequest) record.kind = Kind::kTracer;
    make(record);
  }
  uint64_t begin = begin_;
  for (Call& call : made_) {
    call.record.begin = begin;
    call.record.end = begin = time_;
    call.record.site = site_;
    calls_.push_back(std::move(call));
  }
  made_.clear();
  sends_.clear();
  receives_.clear();
  completed_.clear();
  bytes_to_.clear();
  bytes_from_.clear();
  level_ = kNoLevel;
  found_ = false;
}

}  // namespace ompl::model::otf2
