// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/verbs/endpoint.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <system_error>
#include <thread>

#include "arch/clock.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::conduit::verbs {
namespace {

constexpr unsigned kTicketBits = 40;
constexpr uint64_t kTicketMask = (uint64_t{1} << kTicketBits) - 1;
constexpr std::size_t kRefill = 32;  // receive requests posted at once
constexpr uint32_t kPollsPerClock = 16;
constexpr int64_t kTickMs = 4;
constexpr int64_t kBeatMs = 1000;
constexpr int64_t kGoodbyeMs = 200;

Post retry(Post::Reason reason) { return {.state = Post::State::retry, .reason = reason}; }

// The answer to a post on a link that is not up.
Post refusal(const Link& link) {
  if (link.failure == OMPL_OK) return retry(Post::Reason::connecting);
  return {.state = Post::State::failed,
          .code = fail(link.failure, "no connection to rank {}: {}", link.rank, link.why)};
}

}  // namespace

VerbsEndpoint::VerbsEndpoint(const Site& site, uint32_t slot)
    : site_(site), slot_(slot), connections_(site, resources_, slot), wait_set_(site, resources_) {}

VerbsEndpoint::~VerbsEndpoint() {
  if (resources_.datagrams) say_goodbye();
}

// Tells the others that this end is meant, and waits until their devices have it.
void VerbsEndpoint::say_goodbye() {
  struct Nobody final : Sink {
    void signal(uint32_t /*source*/, const Signal& /*record*/) override {}
  } nobody;
  for (std::size_t i = 0; i < connections_.count(); ++i) {
    Link& link = connections_.at(i);
    if (link.state != Link::State::up || link.left) continue;
    Request request;
    Post answer;
    if (use_message({.op = kGoodbye}, &request, &answer)) post(link, request);
  }
  const int64_t limit = arch::now_ms() + kGoodbyeMs;
  while (outstanding_ > 0 && progress(nobody, kBatch) >= 0 && arch::now_ms() < limit)
    std::this_thread::yield();
}

int VerbsEndpoint::open(Address* address) {
  if (const int code = resources_.open(site_); code != OMPL_OK) return code;
  address->slots.push_back(resources_.datagrams->qp_num);
  bounces_.resize(kBounces);
  std::iota(bounces_.begin(), bounces_.end(), 0U);
  receives_.resize(kReceives);
  std::iota(receives_.begin(), receives_.end(), 0U);
  while (!receives_.empty()) refill();
  connections_.open();
  return wait_set_.open();
}

// --- Posting -------------------------------------------------------------------------------------------

Post VerbsEndpoint::put(uint32_t rank, const void* source, uint64_t offset, std::size_t length) {
  Post answer;
  Link* link = ready(rank, 1, &answer);
  return link != nullptr ? write(*link, IBV_WR_RDMA_WRITE, source, offset, length, nullptr) : answer;
}

Post VerbsEndpoint::signal(uint32_t rank, const Signal& record) {
  Post answer;
  Link* link = ready(rank, 1, &answer);
  if (link == nullptr) return answer;
  Request request;
  if (fits_immediate(record)) {
    request.work.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    request.work.imm_data = htonl(static_cast<uint32_t>(record.offset / 4));
  } else if (!use_message(to_message<Message>(record), &request, &answer)) {
    return answer;
  }
  return post(*link, request);
}

// One request if the record fits into its immediate, else two in one list.
Post VerbsEndpoint::put_signal(uint32_t rank, const void* source, uint64_t offset, std::size_t length,
                               const Signal& record, bool* signalled) {
  Post answer;
  Link* link = ready(rank, 2, &answer);
  if (link != nullptr)
    answer = write(*link, IBV_WR_RDMA_WRITE_WITH_IMM, source, offset, length, &record);
  *signalled = answer.state == Post::State::done || answer.state == Post::State::pending;
  return answer;
}

Post VerbsEndpoint::get(uint32_t rank, void* target, uint64_t offset, std::size_t length) {
  Post answer;
  Link* link = ready(rank, 1, &answer);
  Request request;
  if (link == nullptr || !aim(*link, offset, length, &request, &answer)) return answer;
  if (!use_region(target, length, &request)) {
    if (length <= kBounce) {
      if (!use_bounce(length, &request, &answer)) return answer;
      request.held.target = target;
    } else if (!register_for(target, length, IBV_ACCESS_LOCAL_WRITE, &request, &answer)) {
      return answer;
    }
  }
  request.work.opcode = IBV_WR_RDMA_READ;
  request.state = Post::State::pending;
  return post(*link, request);
}

// A put, alone or with the signal that follows it.
Post VerbsEndpoint::write(Link& link, ibv_wr_opcode opcode, const void* source, uint64_t offset,
                          std::size_t length, const Signal* record) {
  Post answer;
  Request request;
  if (!aim(link, offset, length, &request, &answer) || !load(source, length, &request, &answer))
    return answer;
  request.work.opcode = opcode;
  if (record == nullptr) return post(link, request);
  if (fits_immediate(*record)) {
    request.work.imm_data = htonl(static_cast<uint32_t>(record->offset / 4));
    return post(link, request);
  }
  request.work.opcode = IBV_WR_RDMA_WRITE;
  Request message;
  if (!use_message(to_message<Message>(*record), &message, &answer)) {
    give_back(request.held);
    return answer;
  }
  message.state = request.state;
  return post(link, message, &request);
}

// The connection to `rank` if so many requests can be posted on it, else null and the answer to give.
Link* VerbsEndpoint::ready(uint32_t rank, uint64_t requests, Post* answer) {
  Link& link = connections_.use(rank);
  if (link.state == Link::State::up && !link.left) [[likely]] {
    if (!link.full(requests) && outstanding_ + requests <= kOutstanding) [[likely]]
      return &link;
    *answer = retry(Post::Reason::queue_full);
  } else {
    *answer = refusal(link);
  }
  return nullptr;
}

// The request's place at the other side. Its key is fetched on first use.
bool VerbsEndpoint::aim(Link& link, uint64_t offset, std::size_t length, Request* request,
                        Post* answer) {
  link.region = site_.segment->find(offset, length, link.region);
  if (link.region == Regions::kNone) {
    link.region = 0;
    *answer = {.state = Post::State::failed,
               .code = fail(OMPL_ERR_OFFSET,
                            "{} bytes at {:#x} of rank {} are not in one registered allocation", length,
                            offset, link.rank)};
    return false;
  }
  const auto place = static_cast<std::size_t>(link.region);
  if (place >= link.keys.size()) link.keys.resize(place + 1);
  const PeerKey& key = link.keys[place];
  if (key.state != PeerKey::State::known || key.generation != site_.segment->generation(link.region))
      [[unlikely]] {
    ask_for_key(link, link.region);
    *answer = retry(Post::Reason::connecting);
    return false;
  }
  request->work.wr.rdma.remote_addr = (*site_.peers)[link.rank].segment + offset;
  request->work.wr.rdma.rkey = key.key;
  return true;
}

void VerbsEndpoint::ask_for_key(Link& link, int place) {
  PeerKey& key = link.keys[static_cast<std::size_t>(place)];
  const uint32_t generation = site_.segment->generation(place);
  if (key.state == PeerKey::State::asked && key.generation == generation) return;
  Request request;
  Post answer;
  if (!use_bounce(sizeof(PublishedKey), &request, &answer)) return;
  const Address& peer = (*site_.peers)[link.rank];
  request.held.place = place;
  request.work.opcode = IBV_WR_RDMA_READ;
  request.work.wr.rdma.remote_addr = peer.keys + static_cast<uint64_t>(place) * sizeof(PublishedKey);
  request.work.wr.rdma.rkey = peer.keys_key;
  if (post(link, request).state == Post::State::done)
    key = {.generation = generation, .state = PeerKey::State::asked};
}

// The data of a put: in the request itself, from registered memory, through a bounce slot, or registered for this.
bool VerbsEndpoint::load(const void* source, std::size_t length, Request* request, Post* answer) {
  if (length <= resources_.inline_limit) {
    use_inline(source, length, request);
    return true;
  }
  if (use_region(source, length, request)) {
    request->state = Post::State::pending;
    return true;
  }
  if (length <= kBounce) {
    if (!use_bounce(length, request, answer)) return false;
    std::memcpy(resources_.block->bounces[request->held.bounce].data(), source, length);
    return true;
  }
  request->state = Post::State::pending;
  return register_for(source, length, 0, request, answer);
}

void VerbsEndpoint::use_inline(const void* data, std::size_t length, Request* request) const {
  request->data = {
      .addr = reinterpret_cast<uint64_t>(data), .length = static_cast<uint32_t>(length), .lkey = 0};
  request->work.num_sge = 1;
  request->work.send_flags = IBV_SEND_INLINE;
}

bool VerbsEndpoint::use_region(const void* memory, std::size_t length, Request* request) {
  const auto address = reinterpret_cast<uint64_t>(memory);
  const uint64_t offset = address - reinterpret_cast<uint64_t>(site_.job->segment);
  const bool own = offset < site_.job->capacity;
  if (!own && length <= kBounce) return false;
  const Regions& regions = own ? *site_.segment : *site_.registered;
  const int place = regions.find(own ? offset : address, length, own ? source_region_ : 0);
  if (place == Regions::kNone) return false;
  if (own) source_region_ = place;
  request->data = {
      .addr = address, .length = static_cast<uint32_t>(length), .lkey = regions.local_key(place)};
  request->work.num_sge = 1;
  return true;
}

bool VerbsEndpoint::use_bounce(std::size_t length, Request* request, Post* answer) {
  if (bounces_.empty()) {
    *answer = retry(Post::Reason::no_memory);
    return false;
  }
  request->held.bounce = bounces_.back();
  request->held.length = static_cast<uint32_t>(length);
  bounces_.pop_back();
  request->data = {
      .addr = reinterpret_cast<uint64_t>(resources_.block->bounces[request->held.bounce].data()),
      .length = static_cast<uint32_t>(length),
      .lkey = resources_.memory->lkey};
  request->work.num_sge = 1;
  return true;
}

bool VerbsEndpoint::register_for(const void* memory, std::size_t length, int access, Request* request,
                                 Post* answer) {
  ibv_mr* const region =
      site_.library->reg_mr(site_.device->domain.get(), const_cast<void*>(memory), length, access);
  if (region == nullptr) {
    *answer = {
        .state = Post::State::failed,
        .code = fail(
            OMPL_ERR_MEMORY,
            "cannot register {} bytes at {} for a put or get: {}; raise the limit of locked memory "
            "(ulimit -l), or use memory of the segment",
            length, memory, std::generic_category().message(errno))};
    return false;
  }
  request->held.memory = region;
  request->data = {.addr = reinterpret_cast<uint64_t>(memory),
                   .length = static_cast<uint32_t>(length),
                   .lkey = region->lkey};
  request->work.num_sge = 1;
  return true;
}

bool VerbsEndpoint::use_message(const Message& message, Request* request, Post* answer) {
  request->work.opcode = IBV_WR_SEND;
  request->message = message;
  if (sizeof message <= resources_.inline_limit) {
    use_inline(&request->message, sizeof message, request);
    return true;
  }
  if (!use_bounce(sizeof message, request, answer)) return false;
  std::memcpy(resources_.block->bounces[request->held.bounce].data(), &message, sizeof message);
  return true;
}

void VerbsEndpoint::give_back(const Held& held) {
  if (held.bounce != Held::kNoBounce) bounces_.push_back(held.bounce);
  if (held.memory != nullptr) site_.library->dereg_mr(held.memory);
}

// One ring of the doorbell. The last request reports its completion, and with it that of all before it.
Post VerbsEndpoint::post(Link& link, Request& last, Request* first) {
  const uint64_t number = link.posted + (first != nullptr ? 2 : 1);
  last.work.wr_id = uint64_t{link.index} << kTicketBits | (number & kTicketMask);
  last.work.send_flags |= IBV_SEND_SIGNALED;
  last.work.sg_list = &last.data;
  ibv_send_wr* list = &last.work;
  if (first != nullptr) {
    first->work.wr_id = last.work.wr_id - 1;
    first->work.sg_list = &first->data;
    first->work.next = &last.work;
    list = &first->work;
  }
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(link.pair.get(), list, &bad);
  if (error != 0) [[unlikely]] {
    give_back(last.held);
    if (first != nullptr) give_back(first->held);
    if (error == ENOMEM && bad == list) return retry(Post::Reason::queue_full);
    connections_.broke(link, std::generic_category().message(error));
    return refusal(link);
  }
  if (first != nullptr) link.held[(number - 1) % kSends] = first->held;
  link.held[number % kSends] = last.held;
  outstanding_ += static_cast<uint32_t>(number - link.posted);
  link.posted = number;
  return {.state = last.state, .ticket = number};
}

// --- Progress ------------------------------------------------------------------------------------------

int VerbsEndpoint::take(ibv_cq* queue, Taken* into, int most) {
  if (into->count == 0)
    into->count = ibv_poll_cq(queue, std::min(most, kBatch), into->completions.data());
  if (into->count < 0)
    return fail(OMPL_ERR_LINK, "endpoint {} is broken: its completion queue fails", slot_);
  return std::exchange(into->count, 0);
}

int VerbsEndpoint::progress(Sink& sink, int budget) {
  wait_set_.disarm();
  const int received = take(resources_.receives.get(), &received_, budget);
  for (int i = 0; i < received; ++i) arrived(sink, received_.completions[static_cast<std::size_t>(i)]);
  const int sent = take(resources_.sends.get(), &sent_, budget);
  for (int i = 0; i < sent; ++i) finished(sent_.completions[static_cast<std::size_t>(i)]);
  if (received < 0 || sent < 0) return OMPL_ERR_LINK;
  if (receives_.size() >= kRefill) refill();
  if (connections_.waiting() || ++polls_ % kPollsPerClock == 0) look_at_clock();
  return received + sent;
}

void VerbsEndpoint::arrived(Sink& sink, const ibv_wc& completion) {
  if (completion.qp_num == resources_.datagrams->qp_num) {
    if (completion.status == IBV_WC_SUCCESS)
      connections_.received(completion.wr_id, completion.byte_len);
    return;
  }
  const auto buffer = static_cast<uint32_t>(completion.wr_id);
  const Message message = resources_.block->receives[buffer].message;
  receives_.push_back(buffer);
  Link* const link = connections_.find_pair(completion.qp_num);
  if (link == nullptr || completion.status != IBV_WC_SUCCESS) return;
  if (link->state == Link::State::replied) connections_.begun(*link);
  ++link->arrivals;
  if (completion.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
    sink.signal(link->rank, {.offset = uint64_t{ntohl(completion.imm_data)} * 4});
  } else if (completion.byte_len != sizeof message) {
    log::warn("verbs: dropped a message of {} bytes", completion.byte_len);
  } else if (message.op == kGoodbye) {
    connections_.said_goodbye(*link);
  } else {
    sink.signal(link->rank, from_message(message));
  }
}

void VerbsEndpoint::finished(const ibv_wc& completion) {
  if (completion.wr_id == kDatagramNumber) return connections_.sent();
  Link& link = connections_.at(completion.wr_id >> kTicketBits);
  const bool good = completion.status == IBV_WC_SUCCESS;
  reap(link, link.reaped + ((completion.wr_id - link.reaped) & kTicketMask), good);
  if (!good) connections_.broke(link, site_.library->status_text(completion.status));
}

void VerbsEndpoint::reap(Link& link, uint64_t number, bool good) {
  outstanding_ -= static_cast<uint32_t>(number - link.reaped);
  while (link.reaped < number) {
    Held& held = link.held[++link.reaped % kSends];
    if (held.bounce == Held::kNoBounce && held.memory == nullptr) continue;
    if (good && held.target != nullptr)
      std::memcpy(held.target, resources_.block->bounces[held.bounce].data(), held.length);
    if (good && held.place != Held::kNoPlace) fetched(link, held);
    give_back(held);
    held = {};
  }
  if (good && link.failure.load(std::memory_order_relaxed) == OMPL_OK)
    link.done.store(number, std::memory_order_seq_cst);
}

void VerbsEndpoint::fetched(Link& link, const Held& held) {
  PublishedKey published;
  std::memcpy(&published, resources_.block->bounces[held.bounce].data(), sizeof published);
  PeerKey& key = link.keys[static_cast<std::size_t>(held.place)];
  if (key.generation != site_.segment->generation(held.place)) return;  // freed meanwhile
  if (published.valid == 0 || published.begin != site_.segment->begin(held.place)) {
    key.state = PeerKey::State::unknown;
    return connections_.broke(link,
                              "it has no such allocation: all ranks must call ompl_alloc in one order");
  }
  key.key = published.key;
  key.state = PeerKey::State::known;
}

// In one list, as many as fit one.
void VerbsEndpoint::refill() {
  std::array<ibv_recv_wr, kRefill> requests;
  std::array<ibv_sge, kRefill> data;
  const std::size_t count = std::min(kRefill, receives_.size());
  for (std::size_t i = 0; i < count; ++i) {
    const uint32_t buffer = receives_[receives_.size() - 1 - i];
    data[i] = {.addr = reinterpret_cast<uint64_t>(&resources_.block->receives[buffer]),
               .length = sizeof(Block::Receive),
               .lkey = resources_.memory->lkey};
    requests[i] = {.wr_id = buffer,
                   .next = i + 1 < count ? &requests[i + 1] : nullptr,
                   .sg_list = &data[i],
                   .num_sge = 1};
  }
  ibv_recv_wr* bad = nullptr;
  static_cast<void>(ibv_post_srq_recv(resources_.queue.get(), requests.data(), &bad));
  const auto first = static_cast<std::size_t>(bad != nullptr ? bad - requests.data() : 0);
  receives_.resize(receives_.size() - (bad != nullptr ? first : count));
}

void VerbsEndpoint::look_at_clock() {
  const int64_t now = arch::now_ms();
  if (now - last_tick_ < kTickMs) return;
  last_tick_ = now;
  connections_.tick(now);
  if (now - last_beat_ < kBeatMs) return;
  last_beat_ = now;
  site_.pulse->answer();
  beat();
}

// Tries the connections on which nothing happened since the last beat.
void VerbsEndpoint::beat() {
  for (std::size_t i = 0; i < connections_.count(); ++i) {
    Link& link = connections_.at(i);
    if (link.state != Link::State::up || link.left) continue;
    if (link.outstanding() == 0 && link.posted + link.arrivals == link.last_beat &&
        outstanding_ < kOutstanding) {
      Request request;
      request.work.opcode = IBV_WR_RDMA_WRITE;
      post(link, request);
    }
    link.last_beat = link.posted + link.arrivals;
  }
}

// --- State ---------------------------------------------------------------------------------------------

uint64_t VerbsEndpoint::completed(uint32_t rank) const {
  const Link* link = connections_.find(rank);
  return link != nullptr ? link->done.load(std::memory_order_seq_cst) : 0;
}

int VerbsEndpoint::failure(uint32_t rank) const {
  const Link* link = connections_.find(rank);
  return link != nullptr ? link->failure.load(std::memory_order_acquire) : OMPL_OK;
}

bool VerbsEndpoint::departed(uint32_t rank) const {
  const Link* link = connections_.find(rank);
  return link != nullptr && link->left.load(std::memory_order_acquire);
}

bool VerbsEndpoint::arm() {
  if (!wait_set_.arm(connections_.waiting() ? kTickMs : kBeatMs)) return false;
  const auto look = [](ibv_cq* queue, Taken* into) {
    if (into->count == 0) into->count = ibv_poll_cq(queue, kBatch, into->completions.data());
    return into->count == 0;
  };
  const bool none_received = look(resources_.receives.get(), &received_);
  const bool none_sent = look(resources_.sends.get(), &sent_);
  return none_received && none_sent;
}

std::string VerbsEndpoint::describe() const { return connections_.describe(); }

}  // namespace ompl::conduit::verbs
