// SPDX-License-Identifier: BSD-3-Clause
// The rest of the endpoint: what comes in. PSM2 calls the handlers from psm2_poll(), or from whatever else of it finds no room
// or waits, with all that has come: records beyond the budget of progress() are kept, and those that come outside of it.
#include <algorithm>
#include <cstring>
#include <new>

#include "arch/clock.hpp"
#include "conduit/psm2/endpoint.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::conduit::psm2 {
namespace {

constexpr uint32_t kTurnsPerClock = 64;
constexpr int64_t kLookMs = 500;
constexpr uint32_t kReplyHandler = 1;

}  // namespace

int Psm2Endpoint::progress(Sink& sink, int budget) {
  if (connections_.is_away()) [[unlikely]] {
    const std::lock_guard lock(waiting_mutex_);
    return deliver_waiting(sink, budget);
  }
  const int waited = waiting_.empty() ? 0 : deliver_waiting(sink, budget);
  sink_ = &sink;
  budget_ = budget - waited;
  taken_ = 0;
  const PsmError error = library_.poll(endpoint_);
  sink_ = nullptr;
  if (error > kPsmNoProgress)
    return fail(OMPL_ERR_LINK, "psm2_poll() failed: {}", library_.text_of(error));
  if (awaited_.load(std::memory_order_relaxed)) {
    awaited_.store(false, std::memory_order_relaxed);
    connections_.ask_all();
  }
  if (++turns_ % kTurnsPerClock == 0) look_at_clock();
  const int taken = waited + taken_;  // before a connector begins, whose handlers count too
  return taken + connections_.progress();
}

void Psm2Endpoint::look_at_clock() noexcept {
  const int64_t now = arch::now_ms();
  if (now - looked_ < kLookMs) return;
  looked_ = now;
  connections_.look_for_silence(now);
}

// --- Requests ------------------------------------------------------------------------------------------

Psm2Endpoint::Incoming Psm2Endpoint::incoming(PsmToken token, const uint64_t* arguments, int count,
                                              const void* data, uint32_t length) {
  Incoming message{.token = token, .head = {}, .arguments = {}, .data = data, .length = length};
  std::copy_n(arguments, std::clamp(count, 0, kMostArguments), message.arguments.begin());
  message.head = to_head(message.arguments[0]);
  return message;
}

int Psm2Endpoint::on_request(PsmToken token, uint64_t* arguments, int count, void* data,
                             uint32_t length, void* endpoint) {
  auto& self = *static_cast<Psm2Endpoint*>(endpoint);
  std::unique_lock lock(self.waiting_mutex_, std::defer_lock);
  if (self.connections_.is_away()) lock.lock();
  ++self.taken_;
  self.take_request(incoming(token, arguments, count, data, length));
  return 0;
}

void Psm2Endpoint::take_request(const Incoming& message) noexcept {
  if (message.head.op == kHello) return take_hello(message);
  Psm2Link* const link = connections_.admit(message.head);
  if (link == nullptr) {
    if (!std::exchange(warned_, true))
      log::warn("psm2: dropped a message that does not belong to this job");
    return;
  }
  ++link->heard;
  if (message.head.op == kGoodbye) {
    const bool kept = deliver_or_keep({.link = link, .record = {}, .goodbye = true});
    if (kept) reply_taken(*link, message.token, kHeard);
  } else if (link->failure != OMPL_OK) {
    return;  // it was on its way when the link broke
  } else if (message.head.op == kReady) {
    connections_.came_up(*link);
  } else if (message.head.op == kAsk) {
    reply_taken(*link, message.token, kAnswer);
  } else {
    take_counted(*link, message);
  }
}

void Psm2Endpoint::take_counted(Psm2Link& link, const Incoming& message) noexcept {
  ++link.seen;
  bool makes_sense = false;
  if (message.head.op == kGet) {
    if (link.waiting == 0) link.taken = link.seen;
    makes_sense = answer_get(link, message);
  } else {
    makes_sense =
        message.head.op == kPut ? take_data(message, message.arguments[1]) : take_record(link, message);
    if (link.waiting == 0) link.taken = link.seen;
    const bool due = link.taken - link.told >= link.tell_at && !is_budget_spent();
    if (makes_sense && due && link.failure == OMPL_OK) reply_taken(link, message.token, kTaken);
  }
  if (!makes_sense) connections_.lost(link, "it sent what no rank sends");
}

bool Psm2Endpoint::take_data(const Incoming& message, uint64_t offset) noexcept {
  if (!is_in_segment(offset, message.length)) return false;
  std::memcpy(shared_.job->segment + offset, message.data, message.length);
  return true;
}

bool Psm2Endpoint::take_record(Psm2Link& link, const Incoming& message) noexcept {
  const Head head = message.head;
  if (head.op > static_cast<uint8_t>(SignalOp::news) ||
      head.function > static_cast<uint8_t>(kLastFunction))
    return false;
  const bool with_data = message.length > 0;
  if (with_data && !take_data(message, message.arguments[3])) return false;
  return deliver_or_keep({.link = &link,
                          .record = {.offset = message.arguments[1],
                                     .value = message.arguments[2],
                                     .compare = message.arguments[4],
                                     .token = with_data ? 0 : message.arguments[3],
                                     .op = static_cast<SignalOp>(head.op),
                                     .function = static_cast<Function>(head.function)},
                          .number = link.seen});
}

bool Psm2Endpoint::answer_get(Psm2Link& link, const Incoming& message) noexcept {
  const uint64_t offset = message.arguments[1];
  const uint64_t length = message.arguments[3];
  if (length > max_data_ || !is_in_segment(offset, length)) return false;
  const uint64_t arguments[] = {head_for(link.theirs, kData), link.told, message.arguments[2]};
  reply(message.token, arguments, 3, shared_.job->segment + offset, length);
  return true;
}

void Psm2Endpoint::take_hello(const Incoming& message) noexcept {
  const auto& words = message.arguments;
  const auto hello = std::bit_cast<Hello>(std::array{words[1], words[2], words[3]});
  PsmAddress* from = nullptr;
  if (library_.am_get_source(message.token, &from) != kPsmOk || from == nullptr) return;
  Psm2Link* link = nullptr;
  const uint8_t answer = connections_.greeted(hello, from, &link);
  restore_signal_actions();  // PSM2 has just mapped the other side's memory
  if (answer == 0) return;
  const uint64_t own = link == nullptr ? 0 : to_argument({.key = link->key, .place = link->place});
  const uint64_t arguments[] = {head_for(hello.head, answer), own};
  reply(message.token, arguments, 2);
}

// False: there is no memory for it.
bool Psm2Endpoint::deliver_or_keep(const WaitingRecord& record) noexcept {
  if (sink_ != nullptr && waiting_.empty() && !is_budget_spent()) [[likely]] {
    ++record.link->waiting;
    deliver(*sink_, record);
    return true;
  }
  try {
    waiting_.push_back(record);
    ++record.link->waiting;
    return true;
  } catch (const std::bad_alloc&) {
    connections_.lost(*record.link, kNoMemoryForText);
    return false;
  }
}

void Psm2Endpoint::deliver(Sink& sink, const WaitingRecord& record) noexcept {
  Psm2Link& link = *record.link;
  --link.waiting;
  if (record.goodbye) return connections_.said_goodbye(link);
  sink.signal(link.rank, record.record);
  link.taken = link.waiting == 0 ? link.seen : record.number;
}

int Psm2Endpoint::deliver_waiting(Sink& sink, int budget) noexcept {
  int delivered = 0;
  for (; delivered < budget && !waiting_.empty(); ++delivered) {
    const WaitingRecord record = waiting_.front();
    waiting_.pop_front();
    deliver(sink, record);
  }
  return delivered;
}

// --- Answers -------------------------------------------------------------------------------------------

void Psm2Endpoint::reply(PsmToken token, const uint64_t* arguments, int count, const void* data,
                         std::size_t length) noexcept {
  library_.am_reply(token, kReplyHandler, arguments, count, data, length, 0, nullptr, nullptr);
}

// Beyond the budget of progress() nobody learns that there is room again: psm2_poll() goes on until nothing comes.
void Psm2Endpoint::reply_taken(Psm2Link& link, PsmToken token, uint8_t op) noexcept {
  if (!is_budget_spent()) link.told = link.taken;
  const uint64_t arguments[] = {head_for(link.theirs, op), link.told};
  reply(token, arguments, 2);
}

int Psm2Endpoint::on_reply(PsmToken token, uint64_t* arguments, int count, void* data, uint32_t length,
                           void* endpoint) {
  auto& self = *static_cast<Psm2Endpoint*>(endpoint);
  std::unique_lock lock(self.waiting_mutex_, std::defer_lock);
  if (self.connections_.is_away()) lock.lock();
  ++self.taken_;
  self.take_reply(incoming(token, arguments, count, data, length));
  return 0;
}

void Psm2Endpoint::take_reply(const Incoming& message) noexcept {
  Psm2Link* const link = connections_.admit(message.head);
  if (link == nullptr) return;
  ++link->heard;
  if (message.head.op == kHeard) link->goodbye_heard = true;
  if (link->failure == OMPL_OK) take_answer(*link, message);
}

void Psm2Endpoint::take_answer(Psm2Link& link, const Incoming& message) noexcept {
  switch (message.head.op) {
    case kWelcome:
    case kRefuse:
    case kLater:
      return connections_.answered(link, message.head.op, message.arguments[1]);
    case kData: {
      auto* const operation = connections_.gets().find(message.arguments[2], link);
      if (operation == nullptr || operation->length != message.length)
        return connections_.lost(link, "it answered a get that nobody asked for");
      std::memcpy(operation->target, message.data, message.length);
      link.window.complete(operation->ticket);
      connections_.gets().give_back(operation);
      break;
    }
    case kAnswer:
      link.asked = false;
      break;
    default:
      break;
  }
  const uint64_t sent = link.window.next() - 1;
  if (message.arguments[1] <= sent) link.taken_there(message.arguments[1]);
}

}  // namespace ompl::conduit::psm2
