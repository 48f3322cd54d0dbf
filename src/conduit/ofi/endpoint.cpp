// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/ofi/endpoint.hpp"

#include <algorithm>
#include <thread>

#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::conduit::ofi {
namespace {

constexpr int kBatch = 16;  // completions read at once
// How often connection events are looked for while nothing is connecting.
constexpr int64_t kEventsEveryMs = 4;
constexpr uint32_t kPollsPerClock = 16;
constexpr int64_t kGoodbyeMs = 100;

Post retry(Post::Reason reason) { return {.state = Post::State::retry, .reason = reason}; }

// The answer to a post on a link that is not up.
Post refusal(const Link& link) {
  if (link.failure == OMPL_OK) return retry(Post::Reason::connecting);
  return {.state = Post::State::failed,
          .code = fail(link.failure, "no connection to rank {}: {}", link.rank, link.why)};
}

}  // namespace

OfiEndpoint::OfiEndpoint(const Site& site, uint32_t slot)
    : site_(site),
      slot_(slot),
      copy_limit_(site.info->tx_attr->inject_size),
      connections_(site, resources_, slot),
      wait_set_(resources_) {}

OfiEndpoint::~OfiEndpoint() {
  if (resources_.queue) say_goodbye();
  connections_.close();
}

// Tells the others that this end is meant, and waits for them to say so too, at most 100 ms: they have
// then read what was sent last. A socket closed earlier may reset its connection and take that with it.
void OfiEndpoint::say_goodbye() {
  const Message goodbye{.offset = slot_, .source = site_.job->rank, .op = kGoodbye};
  connections_.for_each_up([&](Link& link) { send(link, goodbye); });
  struct Nobody final : Sink {
    void signal(uint32_t /*source*/, const Signal& /*record*/) override {}
  } nobody;
  const int64_t limit = now_ms() + kGoodbyeMs;
  bool awaited = true;
  while (awaited && progress(nobody, kBatch) >= 0 && now_ms() < limit) {
    std::this_thread::yield();
    awaited = operations_.outstanding() > 0;
    connections_.for_each_up([&](const Link& link) { awaited = awaited || !link.goodbye; });
  }
}

int OfiEndpoint::open(uint64_t key, Address* address) {
  const int result = resources_.open(*site_.library, site_.info, *site_.job, key);
  if (result != OMPL_OK) return result;

  sockaddr_storage listener{};
  std::size_t length = sizeof listener;
  Address::Slot slot;
  if (fi_getname(&resources_.listener->fid, &listener, &length) != 0 ||
      !address->take(listener, &slot)) {
    return fail(OMPL_ERR_SYSTEM, "provider {} does not tell its listener's address",
                site_.info->fabric_attr->prov_name);
  }
  slot.key = fi_mr_key(resources_.segment.get());
  address->slots.push_back(slot);

  for (Receive& receive : receives_) {
    if (!post_receive(&receive))
      return fail(OMPL_ERR_MEMORY, "no room for receive buffers of endpoint {}", slot_);
  }
  return wait_set_.open();
}

// --- Posting -------------------------------------------------------------------------------------------

Post OfiEndpoint::put(uint32_t rank, const void* source, uint64_t offset, std::size_t length) {
  Post answer;
  Link* link = ready(rank, &answer);
  return link != nullptr ? write(*link, source, offset, length, 0, 0) : answer;
}

Post OfiEndpoint::signal(uint32_t rank, const Signal& record) {
  Post answer;
  Link* link = ready(rank, &answer);
  if (link == nullptr) return answer;
  if (!fits_immediate(record)) return send(*link, to_message(site_.job->rank, record));
  return write(*link, nullptr, record.offset, 0, FI_REMOTE_CQ_DATA,
               to_immediate(site_.job->rank, record));
}

Post OfiEndpoint::put_signal(uint32_t rank, const void* source, uint64_t offset, std::size_t length,
                             const Signal& record, bool* signalled) {
  if (!fits_immediate(record))
    return Endpoint::put_signal(rank, source, offset, length, record, signalled);
  Post answer;
  Link* link = ready(rank, &answer);
  if (link != nullptr) {
    answer =
        write(*link, source, offset, length, FI_REMOTE_CQ_DATA, to_immediate(site_.job->rank, record));
  }
  *signalled = answer.state == Post::State::done || answer.state == Post::State::pending;
  return answer;
}

Post OfiEndpoint::get(uint32_t rank, void* target, uint64_t offset, std::size_t length) {
  Post answer;
  Link* link = ready(rank, &answer);
  if (link == nullptr) return answer;
  Operation* operation = nullptr;
  uint64_t flags = 0;
  if (!begin(*link, Kind::in_place, &operation, &flags)) return retry(Post::Reason::queue_full);

  const iovec local{target, length};
  const fi_rma_iov from = remote(*link, offset, length);
  fi_msg_rma message{};
  message.msg_iov = &local;
  message.iov_count = 1;
  message.rma_iov = &from;
  message.rma_iov_count = 1;
  message.context = operation;
  return end(*link, Kind::in_place, operation, fi_readmsg(link->endpoint.get(), &message, flags));
}

// A put, a put with its signal, or a signal alone (length 0).
Post OfiEndpoint::write(Link& link, const void* source, uint64_t offset, std::size_t length,
                        uint64_t flags, uint64_t data) {
  const Kind kind = length <= copy_limit_ ? Kind::copied : Kind::in_place;
  Operation* operation = nullptr;
  if (!begin(link, kind, &operation, &flags)) return retry(Post::Reason::queue_full);

  const iovec local{const_cast<void*>(source), length};
  const fi_rma_iov to = remote(link, offset, length);
  fi_msg_rma message{};
  message.msg_iov = &local;
  message.iov_count = 1;
  message.rma_iov = &to;
  message.rma_iov_count = 1;
  message.context = operation;
  message.data = data;
  return end(link, kind, operation, fi_writemsg(link.endpoint.get(), &message, flags));
}

Post OfiEndpoint::send(Link& link, const Message& record) {
  Operation* operation = nullptr;
  uint64_t flags = 0;
  if (!begin(link, Kind::copied, &operation, &flags)) return retry(Post::Reason::queue_full);

  const iovec local{const_cast<Message*>(&record), sizeof record};
  fi_msg message{};
  message.msg_iov = &local;
  message.iov_count = 1;
  message.context = operation;
  return end(link, Kind::copied, operation, fi_sendmsg(link.endpoint.get(), &message, flags));
}

// The connection to `rank` if it can be posted on, else null and the answer to give.
Link* OfiEndpoint::ready(uint32_t rank, Post* answer) {
  Link& link = connections_.use(rank);
  if (link.up && !link.goodbye) return &link;
  *answer = refusal(link);
  return nullptr;
}

// Sees that there is room and adds to the flags of the request. False: the queue is full.
bool OfiEndpoint::begin(Link& link, Kind kind, Operation** operation, uint64_t* flags) {
  const bool copied = kind == Kind::copied;
  if (copied ? !link.may_copy() : link.window.full()) return false;
  if (copied) *flags |= FI_INJECT;
  if (copied && !link.mark_is_due()) return true;
  *flags |= FI_COMPLETION;
  *operation = operations_.take();
  if (*operation == nullptr) return false;
  (*operation)->link = &link;
  (*operation)->ticket = copied ? 0 : link.window.next();
  (*operation)->mark = link.copied + 1;
  return true;
}

// The answer to a request that begin() prepared and libfabric took or not.
Post OfiEndpoint::end(Link& link, Kind kind, Operation* operation, ssize_t result) {
  if (result == 0) {
    if (kind == Kind::in_place) return {.state = Post::State::pending, .ticket = link.window.issue()};
    ++link.copied;
    return {};
  }
  if (operation != nullptr) operations_.give_back(operation);
  if (result == -FI_EAGAIN) return retry(Post::Reason::queue_full);
  connections_.lost(link, site_.library->text(result));
  return refusal(link);
}

fi_rma_iov OfiEndpoint::remote(const Link& link, uint64_t offset, std::size_t length) const {
  const Address& to = peer(link);
  return {.addr = to.base + offset, .len = length, .key = to.slots[link.slot].key};
}

// --- Progress ------------------------------------------------------------------------------------------

int OfiEndpoint::progress(Sink& sink, int budget) {
  wait_set_.disarm();
  int taken = 0;
  while (taken < budget) {
    std::array<fi_cq_data_entry, kBatch> entries;
    const int wanted = std::min(budget - taken, kBatch);
    const ssize_t got =
        fi_cq_read(resources_.queue.get(), entries.data(), static_cast<std::size_t>(wanted));
    if (got == -FI_EAGAIN) break;
    if (got == -FI_EAVAIL) {
      if (take_error()) ++taken;
      continue;
    }
    if (got < 0)
      return fail(OMPL_ERR_LINK, "endpoint {} is broken: {}", slot_, site_.library->text(got));
    for (ssize_t i = 0; i < got; ++i) take_in(sink, entries[static_cast<std::size_t>(i)]);
    taken += static_cast<int>(got);
    if (got < wanted) break;
  }
  return taken + poll_connections();
}

// Looking for events costs a system call of the provider's: done while connecting, and now and then.
int OfiEndpoint::poll_connections() {
  if (!connections_.connecting()) {
    if (++polls_ % kPollsPerClock != 0) return 0;
    const int64_t now = now_ms();
    if (now - events_looked_at_ < kEventsEveryMs) return 0;
    events_looked_at_ = now;
  }
  return connections_.progress();
}

void OfiEndpoint::take_in(Sink& sink, const fi_cq_data_entry& entry) {
  // Some providers set FI_REMOTE_CQ_DATA on the sender's completion too.
  if ((entry.flags & FI_REMOTE_WRITE) != 0 && (entry.flags & FI_REMOTE_CQ_DATA) != 0) {
    sink.signal(immediate_source(entry.data), from_immediate(entry.data));
  } else if ((entry.flags & FI_RECV) != 0) {
    auto* receive = static_cast<Receive*>(entry.op_context);
    const Message message = receive->message;
    post_receive(receive);
    if (entry.len != sizeof message) {
      log::warn("ofi: dropped a message of {} bytes", entry.len);
    } else if (message.op == kGoodbye) {
      connections_.said_goodbye(message.source, message.offset);
    } else {
      sink.signal(message.source, from_message(message));
    }
  } else if (entry.op_context != nullptr) {
    auto* operation = static_cast<Operation*>(entry.op_context);
    complete(*operation);
    operations_.give_back(operation);
  }
}

void OfiEndpoint::complete(const Operation& operation) {
  Link& link = *operation.link;
  if (operation.ticket != 0) {
    link.window.complete(operation.ticket);
  } else {
    link.confirmed = operation.mark;
  }
}

// An operation failed, and with it its connection. False if there was no error to read.
bool OfiEndpoint::take_error() {
  fi_cq_err_entry error{};
  if (fi_cq_readerr(resources_.queue.get(), &error, 0) <= 0) return false;
  if (error.op_context == nullptr) return true;  // without a completion: the event queue tells
  if ((error.flags & FI_RECV) != 0) {
    post_receive(static_cast<Receive*>(error.op_context));
    return true;
  }
  auto* operation = static_cast<Operation*>(error.op_context);
  connections_.progress();  // which knows more than "canceled", if the connection ended
  connections_.lost(*operation->link, site_.library->strerror(error.err));
  operations_.give_back(operation);
  return true;
}

bool OfiEndpoint::post_receive(Receive* receive) {
  return fi_recv(resources_.receiver.get(), &receive->message, sizeof receive->message, nullptr,
                 FI_ADDR_UNSPEC, receive) == 0;
}

// --- State ---------------------------------------------------------------------------------------------

uint64_t OfiEndpoint::completed(uint32_t rank) const {
  const Link* link = connections_.find(rank);
  return link != nullptr ? link->window.completed() : 0;
}

int OfiEndpoint::failure(uint32_t rank) const {
  const Link* link = connections_.find(rank);
  return link != nullptr ? link->failure.load(std::memory_order_acquire) : OMPL_OK;
}

bool OfiEndpoint::arm() { return connections_.progress() == 0 && wait_set_.arm(); }

std::string OfiEndpoint::describe() const {
  return fmt::format("{}, {} of {} operations outstanding", connections_.describe(),
                     operations_.outstanding(), Operations::kCount);
}

}  // namespace ompl::conduit::ofi
