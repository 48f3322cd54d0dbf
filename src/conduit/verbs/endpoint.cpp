// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/verbs/endpoint.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "arch/clock.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::conduit::verbs {
namespace {

constexpr int64_t kGoodbyeMs = 200;

uint64_t number_of(const QueuePairLink& link, uint64_t ticket) {
  return link.number | static_cast<uint32_t>(ticket);
}

}  // namespace

VerbsEndpoint::VerbsEndpoint(const SharedState& shared, uint32_t slot)
    : shared_(shared),
      segment_version_(shared.segment->version()),
      slot_(slot),
      connections_(shared, resources_, slot),
      wait_set_(shared, resources_) {
  immediate_.work.sg_list = &immediate_.data;
  immediate_.work.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  immediate_.work.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
}

VerbsEndpoint::~VerbsEndpoint() {
  if (resources_.end != 0) say_goodbye();
}

// Tells the others that this end is meant, and waits until their devices have it.
void VerbsEndpoint::say_goodbye() {
  int64_t limit = arch::now_ms() + kGoodbyeMs;
  for (std::size_t i = 0; i < connections_.count(); ++i) {
    QueuePairLink& link = connections_.at(i);
    Request request;
    Post answer;
    drain(*this, limit, [&] { return !link.sends() || can_post(link); });
    if (can_post(link) && use_message({.op = kGoodbye}, &request, &answer)) post(link, request);
  }
  limit = arch::now_ms() + kGoodbyeMs;
  drain(*this, limit, [this] { return outstanding_ == 0; });
}

int VerbsEndpoint::open(Address* address) {
  if (const int code = resources_.open(shared_); code != OMPL_OK) return code;
  address->slots.push_back(resources_.end);
  if (shared_.transport == Transport::xrc) {
    uint32_t number = 0;
    if (const int error = ibv_get_srq_num(resources_.queue.get(), &number); error != 0)
      return fail(OMPL_ERR_SYSTEM, "ibv_get_srq_num of {} failed: {}", shared_.device->name,
                  error_text(error));
    address->queues.push_back(number);
  }
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
  QueuePairLink* link = ready(rank, 1, &answer);
  return link != nullptr ? write(*link, IBV_WR_RDMA_WRITE, source, offset, length, nullptr) : answer;
}

Post VerbsEndpoint::signal(uint32_t rank, const Signal& record) {
  if (fits_immediate(record)) return put_with_immediate(rank, nullptr, 0, 0, record.offset);
  Post answer;
  QueuePairLink* link = ready(rank, 1, &answer);
  if (link == nullptr) return answer;
  Request request;
  return use_message(to_message<Message>(record), &request, &answer) ? post(*link, request) : answer;
}

// One request if the record fits into its immediate, else two in one list.
Post VerbsEndpoint::put_signal(uint32_t rank, const void* source, uint64_t offset, std::size_t length,
                               const Signal& record, bool* signalled) {
  Post answer;
  if (length <= resources_.inline_limit && fits_immediate(record)) {
    answer = put_with_immediate(rank, source, offset, length, record.offset);
  } else if (QueuePairLink* link = ready(rank, 2, &answer); link != nullptr) {
    return write(*link, IBV_WR_RDMA_WRITE_WITH_IMM, source, offset, length, &record, signalled);
  }
  *signalled = is_posted(answer);
  return answer;
}

// The commonest request and no more: a write with immediate of data that travel in the request, or of none.
Post VerbsEndpoint::put_with_immediate(uint32_t rank, const void* source, uint64_t offset,
                                       std::size_t length, uint64_t flag) {
  QueuePairLink* link = connections_.known(rank);
  if (link == nullptr || !has_room(*link, 1) ||
      (length != 0 && !link->aim.covers(offset, length, segment_version_))) [[unlikely]]
    return prepare_put_with_immediate(rank, source, offset, length, flag);
  const uint64_t number = link->posted + 1;
  ibv_send_wr& work = immediate_.work;
  work.wr_id = number_of(*link, number);
  work.num_sge = length != 0 ? 1 : 0;
  work.imm_data = htonl(static_cast<uint32_t>(flag / 4));
  work.wr.rdma.remote_addr = link->aim.base + offset;
  work.wr.rdma.rkey = link->aim.key;
  immediate_.data.addr = reinterpret_cast<uint64_t>(source);
  immediate_.data.length = static_cast<uint32_t>(length);
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(link->pair.get(), &work, &bad);
  if (error != 0) [[unlikely]]
    return refused(*link, error, true);
  ++outstanding_;
  link->posted = number;
  return {.ticket = number};
}

// Until put_with_immediate() can post; over XRC and DC it never can.
[[gnu::noinline]] Post VerbsEndpoint::prepare_put_with_immediate(uint32_t rank, const void* source,
                                                                 uint64_t offset, std::size_t length,
                                                                 uint64_t flag) {
  Post answer;
  QueuePairLink* link = ready(rank, 1, &answer);
  if (link == nullptr) return answer;
  const bool aimed = length == 0 || link->aim.covers(offset, length, segment_version_) ||
                     aim_anew(*link, offset, length, &answer);
  if (!aimed) return answer;
  if (link->limit != 0) return put_with_immediate(rank, source, offset, length, flag);
  Request request;
  request.work.wr.rdma = {.remote_addr = link->aim.base + offset, .rkey = link->aim.key};
  if (length != 0) use_inline(source, length, &request);
  request.work.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  request.work.imm_data = htonl(static_cast<uint32_t>(flag / 4));
  return post(*link, request);
}

Post VerbsEndpoint::get(uint32_t rank, void* target, uint64_t offset, std::size_t length) {
  Post answer;
  QueuePairLink* link = ready(rank, 1, &answer);
  Request request;
  if (link == nullptr || !aim(*link, offset, length, &request, &answer)) return answer;
  if (!use_region(target, length, &request)) {
    if (length <= kBounce) {
      if (!use_bounce(length, &request, &answer)) return answer;
      request.in_flight.target = target;
    } else if (!register_for(target, length, IBV_ACCESS_LOCAL_WRITE, &request, &answer)) {
      return answer;
    }
  }
  request.work.opcode = IBV_WR_RDMA_READ;
  request.state = Post::State::pending;
  return post(*link, request);
}

// A put, alone or with the signal that follows it; then *signalled tells whether that was posted too.
Post VerbsEndpoint::write(QueuePairLink& link, ibv_wr_opcode opcode, const void* source,
                          uint64_t offset, std::size_t length, const Signal* record, bool* signalled) {
  Post answer;
  Request request;
  if (!aim(link, offset, length, &request, &answer) || !load(source, length, &request, &answer))
    return answer;
  request.work.opcode = opcode;
  if (record == nullptr) return post(link, request);
  if (fits_immediate(*record)) {
    request.work.imm_data = htonl(static_cast<uint32_t>(record->offset / 4));
    answer = post(link, request);
    *signalled = is_posted(answer);
    return answer;
  }
  request.work.opcode = IBV_WR_RDMA_WRITE;
  Request message;
  if (!use_message(to_message<Message>(*record), &message, &answer)) {
    give_back(request.in_flight);
    return answer;
  }
  message.state = request.state;
  const uint64_t before = link.posted;
  answer = post(link, message, &request);
  *signalled = link.posted == before + 2;
  return answer;
}

// XRC, DC: whether so many requests can be posted now by the link's initiator. Over DC it is lent one.
bool VerbsEndpoint::borrows(QueuePairLink& link, uint64_t requests) {
  return shared_.transport != Transport::rc && outstanding_ < kOutstanding - requests &&
         connections_.borrows(link, requests + 1) && introduce(link);
}

// DC: the first message of a link.
bool VerbsEndpoint::introduce(QueuePairLink& link) {
  if (link.introduced || shared_.transport != Transport::dc) return true;
  Request request;
  Post answer;
  link.introduced =
      use_message({.op = kHello}, &request, &answer) && post(link, request).state == Post::State::done;
  return link.introduced;
}

// The connection to `rank` if so many requests can be posted on it, else null and the answer to give.
QueuePairLink* VerbsEndpoint::ready(uint32_t rank, uint64_t requests, Post* answer) {
  QueuePairLink& link = connections_.use(rank);
  if (has_room(link, requests) || borrows(link, requests)) return &link;
  if (link.sends()) untold_ += std::max(take_in_sent(kBatch), 0);
  if (has_room(link, requests) || borrows(link, requests)) return &link;
  *answer = link.sends() ? retry(Post::Reason::queue_full) : refusal(link);
  return nullptr;
}

// The request's place at the other side.
bool VerbsEndpoint::aim(QueuePairLink& link, uint64_t offset, std::size_t length, Request* request,
                        Post* answer) {
  if (!link.aim.covers(offset, length, segment_version_) && !aim_anew(link, offset, length, answer))
    return false;
  request->work.wr.rdma.remote_addr = link.aim.base + offset;
  request->work.wr.rdma.rkey = link.aim.key;
  return true;
}

// Lets link.aim cover a place at the other side. Its key is fetched on first use.
bool VerbsEndpoint::aim_anew(QueuePairLink& link, uint64_t offset, std::size_t length, Post* answer) {
  const uint64_t version = segment_version_;
  link.region = shared_.segment->find(offset, length, link.region);
  if (link.region == PinnedRegions::kNone) {
    link.region = 0;
    return aim_at_local(link, offset, length, answer);
  }
  const auto place = static_cast<std::size_t>(link.region);
  if (place >= link.keys.size()) link.keys.resize(place + 1);
  const PeerKey& key = link.keys[place];
  if (key.state != PeerKey::State::known || key.generation != shared_.segment->generation(link.region))
      [[unlikely]] {
    ask_for_key(link, link.region);
    *answer = retry(Post::Reason::connecting);
    return false;
  }
  const uint64_t begin = shared_.segment->begin(link.region);
  link.aim = {.begin = begin,
              .length = shared_.segment->end(link.region) - begin,
              .version = version,
              .base = (*shared_.peers)[link.rank].segment,
              .key = key.key};
  return true;
}

// The same of memory that the peer has taken alone.
bool VerbsEndpoint::aim_at_local(QueuePairLink& link, uint64_t offset, std::size_t length,
                                 Post* answer) {
  using State = PeerLocalKey::State;
  const uint64_t version = segment_version_;
  const uint64_t piece = offset / shared_.local_piece;
  PeerLocalKey& key = link.local_keys[piece];
  const State state = key.state;
  if (state == State::fresh) key.state = State::known;
  if (state != State::asked && key.covers(offset, length)) {
    link.aim = {.begin = key.begin,
                .length = key.end - key.begin,
                .version = version,
                .base = (*shared_.peers)[link.rank].segment,
                .key = key.key};
    return true;
  }
  if (state == State::fresh || piece >= kLocalPieces) {
    *answer = {.state = Post::State::failed,
               .code = fail(OMPL_ERR_OFFSET, "{} bytes at {:#x} of rank {} are not allocated there",
                            length, offset, link.rank)};
    return false;
  }
  if (state != State::asked && fetch_key(link, PinnedRegions::kMax + static_cast<int>(piece)))
    key.state = State::asked;
  *answer = retry(Post::Reason::connecting);
  return false;
}

void VerbsEndpoint::ask_for_key(QueuePairLink& link, int place) {
  PeerKey& key = link.keys[static_cast<std::size_t>(place)];
  const uint32_t generation = shared_.segment->generation(place);
  if (key.state == PeerKey::State::asked && key.generation == generation) return;
  if (fetch_key(link, place)) key = {.generation = generation, .state = PeerKey::State::asked};
}

// From that place of the peer's table.
bool VerbsEndpoint::fetch_key(QueuePairLink& link, int place) {
  Request request;
  Post answer;
  if (!use_bounce(sizeof(PublishedKey), &request, &answer)) return false;
  const Address& peer = (*shared_.peers)[link.rank];
  request.in_flight.place = place;
  request.work.opcode = IBV_WR_RDMA_READ;
  request.work.wr.rdma.remote_addr = peer.keys + static_cast<uint64_t>(place) * sizeof(PublishedKey);
  request.work.wr.rdma.rkey = peer.keys_key;
  return post(link, request).state == Post::State::done;
}

// The data of a put: in the request itself; copied to a bounce slot while there is one, so that the caller need not wait
// for the other side; from registered memory; or registered for this.
bool VerbsEndpoint::load(const void* source, std::size_t length, Request* request, Post* answer) {
  if (length <= resources_.inline_limit) {
    use_inline(source, length, request);
    return true;
  }
  const bool bounces = length <= kBounce;
  if (bounces && use_bounce(length, request, answer)) {
    std::memcpy(resources_.block->bounces[request->in_flight.bounce].data(), source, length);
    return true;
  }
  request->state = Post::State::pending;
  return use_region(source, length, request) ||
         (!bounces && register_for(source, length, 0, request, answer));
}

void VerbsEndpoint::use_inline(const void* data, std::size_t length, Request* request) const {
  request->data = {
      .addr = reinterpret_cast<uint64_t>(data), .length = static_cast<uint32_t>(length), .lkey = 0};
  request->work.num_sge = 1;
  request->work.send_flags = IBV_SEND_INLINE;
}

bool VerbsEndpoint::use_region(const void* memory, std::size_t length, Request* request) {
  const auto address = reinterpret_cast<uint64_t>(memory);
  const uint64_t offset = address - reinterpret_cast<uint64_t>(shared_.job->segment);
  const bool own = offset < shared_.job->capacity;
  if (!own && length <= kBounce) return false;
  const PinnedRegions* regions = own ? shared_.segment : shared_.registered;
  int place = regions->find(own ? offset : address, length, own ? source_region_ : 0);
  if (own && place != PinnedRegions::kNone) source_region_ = place;
  if (own && place == PinnedRegions::kNone) {
    regions = shared_.local;
    place = regions->find(offset, length, 0);
  }
  if (place == PinnedRegions::kNone) return false;
  request->data = {
      .addr = address, .length = static_cast<uint32_t>(length), .lkey = regions->local_key(place)};
  request->work.num_sge = 1;
  return true;
}

bool VerbsEndpoint::use_bounce(std::size_t length, Request* request, Post* answer) {
  if (bounces_.empty()) {
    *answer = retry(Post::Reason::no_memory);
    return false;
  }
  request->in_flight.bounce = bounces_.back();
  request->in_flight.length = static_cast<uint32_t>(length);
  bounces_.pop_back();
  request->data = {
      .addr = reinterpret_cast<uint64_t>(resources_.block->bounces[request->in_flight.bounce].data()),
      .length = static_cast<uint32_t>(length),
      .lkey = resources_.memory->lkey};
  request->work.num_sge = 1;
  return true;
}

bool VerbsEndpoint::register_for(const void* memory, std::size_t length, int access, Request* request,
                                 Post* answer) {
  ibv_mr* const region =
      shared_.library->reg_mr(shared_.device->domain.get(), const_cast<void*>(memory), length, access);
  if (region == nullptr) {
    *answer = {
        .state = Post::State::failed,
        .code = fail(
            OMPL_ERR_MEMORY,
            "cannot register {} bytes at {} for a put or get: {}; raise the limit of locked memory "
            "(ulimit -l), or use memory of the segment",
            length, memory, error_text(errno))};
    return false;
  }
  request->in_flight.memory = region;
  request->data = {.addr = reinterpret_cast<uint64_t>(memory),
                   .length = static_cast<uint32_t>(length),
                   .lkey = region->lkey};
  request->work.num_sge = 1;
  return true;
}

bool VerbsEndpoint::use_message(const Message& message, Request* request, Post* answer) {
  request->work.opcode = IBV_WR_SEND;
  request->message = message;
  request->message.slot = static_cast<uint16_t>(slot_);
  request->message.rank = shared_.job->rank;
  if (sizeof message <= resources_.inline_limit) {
    use_inline(&request->message, sizeof message, request);
    return true;
  }
  if (!use_bounce(sizeof message, request, answer)) return false;
  std::memcpy(resources_.block->bounces[request->in_flight.bounce].data(), &request->message,
              sizeof message);
  return true;
}

void VerbsEndpoint::give_back(const InFlightResources& in_flight) {
  if (in_flight.bounce != InFlightResources::kNoBounce) bounces_.push_back(in_flight.bounce);
  if (in_flight.memory != nullptr) shared_.library->dereg_mr(in_flight.memory);
}

// One ring of the doorbell. The last request reports its completion, and with it that of all before it.
Post VerbsEndpoint::post(QueuePairLink& link, Request& last, Request* first) {
  const uint64_t number = link.posted + (first != nullptr ? 2 : 1);
  last.work.wr_id = number_of(link, number);
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
  const int error = send(link, list, &bad);
  if (error != 0) [[unlikely]] {
    give_back(last.in_flight);
    if (first != nullptr && bad == &last.work) return posted_alone(link, *first, error);
    if (first != nullptr) give_back(first->in_flight);
    return refused(link, error, bad == list);
  }
  if (first != nullptr) posted(link, *first);
  posted(link, last);
  return {.state = last.state, .ticket = number};
}

// The device has it.
void VerbsEndpoint::posted(QueuePairLink& link, const Request& request) {
  ++link.posted;
  if (request.in_flight.any()) in_flight_.keep(link, link.posted, request.in_flight);
  ++outstanding_;
  if (link.initiator != nullptr) ++link.initiator->outstanding;
}

// Of two requests the device has taken the first alone, which asks for no completion: with the end of its queue pair it gets one,
// and until then it reads its memory.
Post VerbsEndpoint::posted_alone(QueuePairLink& link, const Request& first, int error) {
  posted(link, first);
  const Post answer{.state = first.state, .ticket = link.posted};
  connections_.broke(link, in_words([error] {
                       return fmt::format("the second of two requests was refused: {}",
                                          error_text(error));
                     }));
  return answer;
}

int VerbsEndpoint::send(const QueuePairLink& link, ibv_send_wr* list, ibv_send_wr** bad) const {
  if (link.initiator == nullptr) return ibv_post_send(link.pair.get(), list, bad);
  *bad = list;
  if (shared_.transport == Transport::dc) return resources_.dc.post(link, list);
  for (ibv_send_wr* work = list; work != nullptr; work = work->next)
    work->qp_type.xrc.remote_srqn = link.queue;
  return ibv_post_send(link.initiator->pair.get(), list, bad);
}

// Nothing was taken, or not all.
Post VerbsEndpoint::refused(QueuePairLink& link, int error, bool all) {
  if (error == ENOMEM && all) return retry(Post::Reason::queue_full);
  connections_.broke(link, in_words([error] { return error_text(error); }));
  return refusal(link);
}

}  // namespace ompl::conduit::verbs
