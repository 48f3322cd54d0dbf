// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/ofi/endpoint.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "arch/clock.hpp"
#include "conduit/ofi/msg_peers.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::conduit::ofi {
namespace {

constexpr int kBatch = 16;  // completions read at once
// How often connection events are looked for while nothing is connecting.
constexpr int64_t kEventsEveryMs = 4;
constexpr uint32_t kPollsPerClock = 16;
constexpr int64_t kGoodbyeMs = 100;
// Where memory has to be registered, copying up to here is less than registering.
constexpr std::size_t kBounceSize = 4096;

// Without order each put waits for its own completion, wherever its data are.
std::size_t copy_limit(const ProviderChoice& choice) {
  if (!choice.ordered) return 0;
  const std::size_t inject = choice.info->tx_attr->inject_size;
  return choice.registers ? std::max(inject, kBounceSize) : inject;
}

uint64_t number(const FabricLink& link, const Signal* record) {
  return Numbered{.link = static_cast<uint16_t>(link.their_place),
                  .number = link.written,
                  .flag = record != nullptr ? static_cast<uint32_t>(record->offset / 4) : 0}
      .data();
}

}  // namespace

OfiEndpoint::OfiEndpoint(const SharedState& shared, uint32_t slot)
    : shared_(shared),
      slot_(slot),
      addressed_(shared.choice->addressed),
      numbered_(shared.choice->numbered),
      immediates_(shared.choice->ordered && shared.choice->immediates),
      inject_limit_(shared.choice->info->tx_attr->inject_size),
      copy_limit_(copy_limit(*shared.choice)),
      always_complete_(shared.choice->mode(FI_CONTEXT | FI_CONTEXT2)),
      in_place_flags_(shared.choice->ordered ? 0 : FI_DELIVERY_COMPLETE),
      memory_(*shared.choice, *shared.job, *shared.regions, resources_),
      wait_set_(resources_) {
  if (addressed_) {
    auto rdm_peers = std::make_unique<RdmPeers>(shared, resources_, slot, *this);
    rdm_peers_ = rdm_peers.get();
    links_ = std::move(rdm_peers);
  } else {
    links_ = std::make_unique<MsgPeers>(shared, resources_, slot);
  }
}

OfiEndpoint::~OfiEndpoint() {
  if (is_open_) say_goodbye();
  links_->close();
}

// Tells the others that this end is meant, and waits for them to say so too, at most 100 ms: they have
// then read what was sent last. A socket closed earlier may reset its connection and take that with it.
void OfiEndpoint::say_goodbye() {
  DiscardSink discard;
  const int64_t limit = arch::now_ms() + kGoodbyeMs;
  while (progress(discard, kBatch) > 0 && arch::now_ms() < limit) {
  }  // somebody's goodbye may be here
  links_->for_each_up([&](FabricLink& link) {
    if (shared_.choice->over_tcp || !link.departed)  // shm crashes on who is gone
      send_record(link, {.offset = slot_, .op = static_cast<SignalOp>(kGoodbye)});
  });
  bool progressed = false;
  drain(*this, limit, [&] {
    bool settled = std::exchange(progressed, true) && operations_.outstanding() == 0;
    links_->for_each_up([&](const FabricLink& link) { settled = settled && link.departed; });
    return settled;
  });
}

int OfiEndpoint::open(uint64_t key, Address* address) {
  int result = resources_.open(*shared_.library, *shared_.choice, *shared_.job, key);
  if (result == OMPL_OK) result = publish(address);
  if (result == OMPL_OK) result = open_receives();
  if (result == OMPL_OK) result = wait_set_.open();
  is_open_ = result == OMPL_OK;
  return result;
}

int OfiEndpoint::publish(Address* address) {
  Address::Slot slot;
  slot.key = fi_mr_key(resources_.segment.get());
  sockaddr_storage listener{};
  std::size_t length = sizeof listener;
  if (addressed_) slot.name = resources_.name();
  const bool told = addressed_ ? !slot.name.empty()
                               : fi_getname(&resources_.listener->fid, &listener, &length) == 0 &&
                                     address->take(listener, &slot);
  if (!told) {
    return fail(OMPL_ERR_SYSTEM, "provider {} does not tell its own address, or one that is too long",
                shared_.choice->name);
  }
  if (addressed_ && shared_.choice->over_tcp)
    slot.name.copy(reinterpret_cast<char*>(&listener), sizeof listener);
  if (const uint16_t port = port_of(listener); port != 0) links_->listens_at(port);
  address->slots.push_back(std::move(slot));
  return OMPL_OK;
}

int OfiEndpoint::open_receives() {
  int result = 0;
  if (addressed_) {
    const bool puts_too = numbered_ || shared_.choice->registers;
    const std::size_t room = std::max(sizeof(Greeting), puts_too ? copy_limit_ : 0);
    bounce_ = std::make_unique<std::byte[]>(FabricOperationPool::kCount * room);
    operations_.hand_out(bounce_.get(), room);
    result = memory_.open_bounce(bounce_.get(), FabricOperationPool::kCount * room);
    if (result == 0) result = memory_.open_receives(receives_.data(), sizeof receives_);
  }
  if (result != 0) {
    return fail(OMPL_ERR_MEMORY, "the buffers of endpoint {} cannot be registered: {}", slot_,
                shared_.library->text(result));
  }
  for (Receive& receive : receives_) {
    if (!post_receive(&receive))
      return fail(OMPL_ERR_MEMORY, "no room for receive buffers of endpoint {}", slot_);
  }
  return OMPL_OK;
}

// --- Posting -------------------------------------------------------------------------------------------

Post OfiEndpoint::put(uint32_t rank, const void* source, uint64_t offset, std::size_t length) {
  Post answer;
  FabricLink* link = ready(rank, &answer);
  if (link == nullptr) return answer;
  answer = write(*link, source, offset, length, nullptr);
  if (goes_unnumbered(length) && is_posted(answer)) write(*link, nullptr, offset, 0, nullptr);
  return answer;
}

Post OfiEndpoint::signal(uint32_t rank, const Signal& record) {
  Post answer;
  FabricLink* link = ready(rank, &answer);
  if (link == nullptr) return answer;
  return fits(record) ? write(*link, nullptr, record.offset, 0, &record) : send_record(*link, record);
}

Post OfiEndpoint::put_signal(uint32_t rank, const void* source, uint64_t offset, std::size_t length,
                             const Signal& record, bool* signalled) {
  if (!fits(record)) return Endpoint::put_signal(rank, source, offset, length, record, signalled);
  Post answer;
  FabricLink* link = ready(rank, &answer);
  if (link == nullptr) return answer;
  answer = write(*link, source, offset, length, &record);
  *signalled = is_posted(answer) && (!goes_unnumbered(length) ||
                                     is_posted(write(*link, nullptr, record.offset, 0, &record)));
  return answer;
}

Post OfiEndpoint::get(uint32_t rank, void* target, uint64_t offset, std::size_t length) {
  Post answer;
  FabricLink* link = ready(rank, &answer);
  if (link == nullptr) return answer;
  Request request{.link = *link, .copied = false, .access = FI_READ, .local = {target, length}};
  if (!begin(&request)) return retry(Post::Reason::queue_full);

  const fi_rma_iov from = remote(*link, offset, length);
  fi_msg_rma message{};
  message.msg_iov = &request.local;
  message.desc = &request.descriptor;
  message.iov_count = 1;
  message.addr = link->address;
  message.rma_iov = &from;
  message.rma_iov_count = 1;
  message.context = request.operation;
  return end(&request, fi_readmsg(link->endpoint, &message, request.flags));
}

// A put, a put with its signal, or a signal alone (length 0).
Post OfiEndpoint::write(FabricLink& link, const void* source, uint64_t offset, std::size_t length,
                        const Signal* record) {
  const bool copied = length <= copy_limit_;
  Request request{.link = link,
                  .copied = copied,
                  .flags = copied ? 0 : in_place_flags_,
                  .local = {const_cast<void*>(source), length}};
  if (!begin(&request)) return retry(Post::Reason::queue_full);

  const fi_rma_iov to = remote(link, offset, length);
  fi_msg_rma message{};
  message.msg_iov = &request.local;
  message.desc = &request.descriptor;
  message.iov_count = 1;
  message.addr = link.address;
  message.rma_iov = &to;
  message.rma_iov_count = 1;
  message.context = request.operation;
  const bool counts = numbered_ && !goes_unnumbered(length);
  if (counts) {
    message.data = number(link, record);
    request.flags |= FI_REMOTE_CQ_DATA;
  } else if (record != nullptr && !numbered_) {
    message.data = to_immediate(shared_.job->rank, *record);
    request.flags |= FI_REMOTE_CQ_DATA;
  }
  const Post answer = end(&request, fi_writemsg(link.endpoint, &message, request.flags));
  if (counts && is_posted(answer)) ++link.written;
  return answer;
}

Post OfiEndpoint::send_record(FabricLink& link, const Signal& record) {
  const Message message = to_message(shared_.job->rank, record);
  if (!addressed_) return send(link, &message, sizeof message, 0);
  const Sealed sealed = RdmPeers::seal(link, message);
  const Post answer = send(link, &sealed, sizeof sealed, 0);
  if (is_posted(answer)) ++link.sent;
  return answer;
}

// Errors of these messages are wanted.
bool OfiEndpoint::send_message(FabricLink& link, const void* bytes, std::size_t length) {
  return is_posted(send(link, bytes, length, FI_COMPLETION));
}

Post OfiEndpoint::send(FabricLink& link, const void* bytes, std::size_t length, uint64_t flags) {
  Request request{
      .link = link, .copied = true, .flags = flags, .local = {const_cast<void*>(bytes), length}};
  if (!begin(&request)) return retry(Post::Reason::queue_full);

  fi_msg message{};
  message.msg_iov = &request.local;
  message.desc = &request.descriptor;
  message.iov_count = 1;
  message.addr = link.address;
  message.context = request.operation;
  return end(&request, fi_sendmsg(link.endpoint, &message, request.flags));
}

// Sees that there is room, and takes what the request needs. False: the queue is full.
bool OfiEndpoint::begin(Request* request) {
  if (request->copied) return begin_copy(request);
  FabricLink& link = request->link;
  if (link.window.full()) return false;
  request->operation = operations_.take();
  if (request->operation == nullptr) return false;
  if (!memory_.find(request->local.iov_base, request->local.iov_len, request->access,
                    request->operation, &request->descriptor)) {
    operations_.give_back(request->operation);
    return false;
  }
  request->flags |= FI_COMPLETION;
  request->operation->link = &link;
  request->operation->ticket = link.window.next();
  return true;
}

// Copied by the provider; or here, if it does not take so much, or would not say what became of it.
bool OfiEndpoint::begin_copy(Request* request) {
  FabricLink& link = request->link;
  if (!link.may_copy()) return false;
  const bool inject = !numbered_ && request->local.iov_len <= inject_limit_;
  if (inject) request->flags |= FI_INJECT;
  const bool asked = (request->flags & FI_COMPLETION) != 0;
  if (inject && !always_complete_ && !asked && !link.mark_is_due()) return true;
  request->flags |= FI_COMPLETION;
  request->operation = operations_.take();
  if (request->operation == nullptr) return false;
  request->operation->link = &link;
  request->operation->ticket = 0;
  request->operation->mark = link.copied + 1;
  if (inject) return true;
  std::byte* const bounce = request->operation->bounce;
  std::copy_n(static_cast<const std::byte*>(request->local.iov_base), request->local.iov_len, bounce);
  request->local.iov_base = bounce;
  request->descriptor = memory_.bounce();
  return true;
}

// The answer to a request that begin() prepared and libfabric took or not.
Post OfiEndpoint::end(Request* request, ssize_t result) {
  FabricLink& link = request->link;
  if (result == 0) {
    if (!request->copied) return {.state = Post::State::pending, .ticket = link.window.issue()};
    ++link.copied;
    return {};
  }
  if (request->operation != nullptr) operations_.give_back(request->operation);
  if (result == -FI_EAGAIN) return retry(Post::Reason::queue_full);
  links_->lost(link, shared_.library->text(result));
  return refusal(link);
}

fi_rma_iov OfiEndpoint::remote(const FabricLink& link, uint64_t offset, std::size_t length) const {
  const Address& to = peer(link);
  return {.addr = to.base + offset, .len = length, .key = to.slots[link.slot].key};
}

// --- Progress ------------------------------------------------------------------------------------------

int OfiEndpoint::progress(Sink& sink, int budget) {
  wait_set_.disarm();
  if (unposted_count_ > 0) [[unlikely]]
    post_unposted();
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
      return fail(OMPL_ERR_LINK, "endpoint {} is broken: {}", slot_, shared_.library->text(got));
    for (ssize_t i = 0; i < got; ++i) take_in(sink, entries[static_cast<std::size_t>(i)]);
    taken += static_cast<int>(got);
    if (got < wanted) break;
  }
  return taken + poll_links();
}

// Looking for events costs a system call of the provider's: done while connecting, and now and then.
int OfiEndpoint::poll_links() {
  if (!links_->connecting()) {
    if (++polls_ % kPollsPerClock != 0) return 0;
    const int64_t now = arch::now_ms();
    if (now - events_looked_at_ < kEventsEveryMs) return 0;
    events_looked_at_ = now;
  }
  return links_->progress();
}

void OfiEndpoint::take_in(Sink& sink, const fi_cq_data_entry& entry) {
  // Some providers set FI_REMOTE_CQ_DATA on the sender's completion too.
  if ((entry.flags & FI_REMOTE_WRITE) != 0 && (entry.flags & FI_REMOTE_CQ_DATA) != 0) {
    uint32_t source = 0;
    Signal record;
    if (!addressed_) {
      sink.signal(immediate_source(entry.data), from_immediate(entry.data));
    } else if (rdm_peers_->take_in(entry.data, &source, &record)) {
      sink.signal(source, record);
    }
  } else if ((entry.flags & FI_RECV) != 0) {
    auto* receive = static_cast<Receive*>(entry.op_context);
    take_message(sink, *receive, entry.len);
    post_again(receive);
  } else if (entry.op_context != nullptr) {
    auto* operation = static_cast<FabricOperation*>(entry.op_context);
    complete(*operation);
    operations_.give_back(operation);
  }
}

void OfiEndpoint::take_message(Sink& sink, const Receive& receive, std::size_t length) {
  if (addressed_) {
    uint32_t source = 0;
    Signal record;
    if (rdm_peers_->take_in(receive.bytes.data(), length, &source, &record))
      sink.signal(source, record);
    return;
  }
  Message message;
  if (length != sizeof message) {
    log::warn("ofi: dropped a message of {} bytes", length);
    return;
  }
  std::memcpy(&message, receive.bytes.data(), sizeof message);
  if (message.op == kGoodbye) {
    links_->said_goodbye(message.source, message.offset);
  } else {
    sink.signal(message.source, from_message(message));
  }
}

void OfiEndpoint::complete(const FabricOperation& operation) {
  FabricLink& link = *operation.link;
  if (operation.ticket != 0) {
    link.window.complete(operation.ticket);
    links_->note_complete(link);
  } else if (static_cast<int32_t>(operation.mark - link.confirmed) > 0) {
    link.confirmed = operation.mark;
  }
}

// An operation failed, and with it its connection. False if there was no error to read.
bool OfiEndpoint::take_error() {
  fi_cq_err_entry error{};
  if (fi_cq_readerr(resources_.queue.get(), &error, 0) <= 0) return false;
  if (error.op_context == nullptr) return true;  // without a completion: the event queue tells
  if ((error.flags & FI_RECV) != 0) {
    post_again(static_cast<Receive*>(error.op_context));
    return true;
  }
  auto* operation = static_cast<FabricOperation*>(error.op_context);
  links_->progress();  // which knows more than "canceled", if the connection ended
  links_->lost(*operation->link, shared_.library->strerror(error.err));
  if (operation->ticket == 0) complete(*operation);  // it makes room all the same
  operations_.give_back(operation);
  return true;
}

bool OfiEndpoint::post_receive(Receive* receive) {
  const std::size_t room = addressed_ ? sizeof(Greeting) : sizeof(Message);
  return fi_recv(resources_.receiver.get(), receive->bytes.data(), room, memory_.receives(),
                 FI_ADDR_UNSPEC, receive) == 0;
}

// Those that libfabric does not take now are posted by the next progress.
void OfiEndpoint::post_again(Receive* receive) {
  if (!post_receive(receive)) unposted_[unposted_count_++] = receive;
}

void OfiEndpoint::post_unposted() {
  while (unposted_count_ > 0 && post_receive(unposted_[unposted_count_ - 1])) --unposted_count_;
}

// --- State ---------------------------------------------------------------------------------------------

std::string OfiEndpoint::reason(uint32_t rank) const {
  return failure(rank) != OMPL_OK ? links_->find(rank)->why : links_->losses().why(rank);
}

bool OfiEndpoint::arm() {
  return unposted_count_ == 0 && links_->progress() == 0 && !links_->is_seeking() &&
         wait_set_.arm(links_->connecting());
}

std::string OfiEndpoint::describe() const {
  return fmt::format("{}, {} of {} operations outstanding", links_->describe(),
                     operations_.outstanding(), FabricOperationPool::kCount);
}

}  // namespace ompl::conduit::ofi
