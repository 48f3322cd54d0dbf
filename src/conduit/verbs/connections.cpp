// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/verbs/connections.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "arch/clock.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::conduit::verbs {
namespace {

constexpr int64_t kLastAgainMs = 500;
constexpr int64_t kSilenceMs = 1000;  // of a request, until the other side is probed
constexpr int64_t kProbeMs = 2000;    // until an unanswered probe is given up
constexpr const char* kUnreached = "it cannot be reached";

}  // namespace

Connections::Connections(const SharedState& shared, Resources& resources, uint32_t slot)
    : shared_(shared), resources_(resources), slot_(slot), links_(shared.job->size), by_pair_(64) {}

void Connections::open() {
  if (!resources_.datagrams) return;
  for (uint64_t buffer = 0; buffer < kDatagrams; ++buffer) post_receive(buffer);
}

uint32_t Connections::target_slot(uint32_t rank) const {
  return slot_ % static_cast<uint32_t>((*shared_.peers)[rank].slots.size());
}

QueuePairLink& Connections::add(uint32_t rank, uint32_t slot) {
  losses_.make_room(count() + 1);
  return links_.add(rank, slot, static_cast<uint32_t>(count()));
}

QueuePairLink* Connections::find_pair(uint32_t queue_pair) const {
  const std::size_t mask = by_pair_.size() - 1;
  for (std::size_t place = queue_pair & mask;; place = (place + 1) & mask) {
    const auto& [number, link] = by_pair_[place];
    if (number == queue_pair || link == nullptr) return link;
  }
}

QueuePairLink& Connections::use(uint32_t rank) {
  QueuePairLink* const link = known(rank);
  if (link == nullptr || link->state == QueuePairLink::State::idle) [[unlikely]]
    return begin_first(rank);
  return *link;
}

[[gnu::noinline]] QueuePairLink& Connections::begin_first(uint32_t rank) {
  QueuePairLink* link = known(rank);
  if (link == nullptr) {
    const bool reachable = !(*shared_.peers)[rank].slots.empty();
    link = &add(rank, reachable ? target_slot(rank) : 0);
    links_.use(*link);
    if (!reachable) fail(*link, OMPL_ERR_LINK, "it is not reached by this conduit");
  }
  if (link->state == QueuePairLink::State::idle) begin(*link);
  return *link;
}

void Connections::begin(QueuePairLink& link) {
  if (shared_.transport != Transport::rc) {
    begin_shared(link);
  } else if (prepare(link)) {
    enter(link, QueuePairLink::State::requested);
    send(link, HandshakeStep::request);
  }
}

int Connections::prepare_path(QueuePairLink& link) {
  ibv_ah_attr path = shared_.device->path_to(peer(link).gid, peer(link).lid);
  link.path = {shared_.library->create_ah(shared_.device->domain.get(), &path),
               shared_.library->destroy_ah};
  return link.path ? 0 : errno;
}

// Makes the link's own side.
bool Connections::prepare(QueuePairLink& link) {
  if (link.pair) return true;
  make_room_to_find();
  link.pair = resources_.make_pair(shared_);
  int error = link.pair ? to_init(shared_, link.pair.get()) : errno;
  if (error == 0) error = prepare_path(link);
  if (error != 0) {
    fail(link, OMPL_ERR_LINK,
         in_words([error] { return fmt::format("cannot make a queue pair: {}", error_text(error)); }));
    return false;
  }
  link.first_packet = random_packet_number(*link.pair);
  enlist(link);
  return true;
}

// Half empty at least, so that searches are short.
void Connections::make_room_to_find() {
  if (count() * 2 <= by_pair_.size()) return;
  std::vector<std::pair<uint32_t, QueuePairLink*>> old(by_pair_.size() * 4);
  old.swap(by_pair_);
  for (const auto& [number, known] : old) {
    if (known != nullptr) enlist(*known);
  }
}

// For find_pair().
void Connections::enlist(QueuePairLink& link) {
  const std::size_t mask = by_pair_.size() - 1;
  std::size_t place = link.pair->qp_num & mask;
  while (by_pair_[place].second != nullptr) place = (place + 1) & mask;
  by_pair_[place] = {link.pair->qp_num, &link};
}

void Connections::enter(QueuePairLink& link, QueuePairLink::State state) {
  const bool was_waiting = link.waiting();
  link.state = state;
  link.limit = link.sends() && link.pair ? link.reaped + kSends : 0;
  if (was_waiting != link.waiting()) waiting_ += link.waiting() ? 1 : -1;
  link.began = arch::now_ms();
  link.interval = kFirstAgainMs;
  link.next = link.began + link.interval;
}

void Connections::go_up(QueuePairLink& link) {
  const int error = link.pair ? to_send(shared_, link.pair.get(), link.first_packet) : 0;
  if (error != 0)
    return fail(link, OMPL_ERR_LINK, in_words([error] {
                  return fmt::format("its queue pair cannot send: {}", error_text(error));
                }));
  link.probe.end();
  enter(link, QueuePairLink::State::up);
  up_.fetch_add(1, std::memory_order_relaxed);
  log::debug("verbs: endpoint {} is connected to endpoint {} of rank {}", slot_, link.slot, link.rank);
}

// --- Datagrams -----------------------------------------------------------------------------------------

void Connections::send(QueuePairLink& link, HandshakeStep step) {
  if (datagrams_sent_ == kDatagrams) return;  // it will be sent again
  const uint32_t place = next_datagram_ % kDatagrams;
  Datagram& datagram = resources_.block->sent_datagrams[place];
  datagram = {};
  datagram.rank = shared_.job->rank;
  datagram.slot = slot_;
  datagram.target_slot = link.slot;
  datagram.queue_pair = link.pair ? link.pair->qp_num : 0;
  datagram.first_packet = link.first_packet;
  datagram.step = step;
  if (shared_.transport == Transport::xrc && !fill_xrc(link, &datagram)) return;
  ++next_datagram_;
  datagram.mtu = static_cast<uint8_t>(shared_.device->mtu);
  datagram.proof = datagram.proof_to(link.rank, peer(link).challenge, shared_.job->secret);

  ibv_sge data{.addr = reinterpret_cast<uint64_t>(&datagram),
               .length = sizeof datagram,
               .lkey = resources_.memory->lkey};
  ibv_send_wr request{};
  ibv_send_wr* bad = nullptr;
  request.wr_id = kDatagramBit | uint64_t{place} << kTicketBits;
  request.sg_list = &data;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.ud.ah = link.path.get();
  request.wr.ud.remote_qpn = peer(link).slots[link.slot];
  request.wr.ud.remote_qkey = peer(link).qkey;
  if (link.path && ibv_post_send(resources_.datagrams.get(), &request, &bad) == 0) ++datagrams_sent_;
}

void Connections::post_receive(uint64_t buffer) {
  ibv_sge data{.addr = reinterpret_cast<uint64_t>(&resources_.block->datagrams[buffer]),
               .length = sizeof(BufferBlock::ReceivedDatagram),
               .lkey = resources_.memory->lkey};
  ibv_recv_wr request{};
  ibv_recv_wr* bad = nullptr;
  request.wr_id = buffer;
  request.sg_list = &data;
  request.num_sge = 1;
  static_cast<void>(ibv_post_recv(resources_.datagrams.get(), &request, &bad));
}

bool Connections::admit(std::string_view bytes, Datagram* out) const {
  if (bytes.size() != sizeof *out) return false;
  std::copy_n(bytes.data(), sizeof *out, reinterpret_cast<char*>(out));
  const Job& job = *shared_.job;
  return out->magic == Datagram::kMagic && out->target_slot == slot_ &&
         same_proof(out->proof, out->proof_to(job.rank, shared_.challenge, job.secret)) &&
         knows(out->rank, out->slot) && out->queue_pair <= kLargestNumber &&
         out->first_packet <= kLargestNumber && out->target <= kLargestNumber &&
         out->mtu >= IBV_MTU_256 && out->mtu <= IBV_MTU_4096;
}

bool Connections::knows(uint32_t rank, uint32_t slot) const {
  return rank < shared_.job->size && rank != shared_.job->rank &&
         slot < (*shared_.peers)[rank].slots.size();
}

// The other side wants it; this side sends on it too if it is the one it would have made.
QueuePairLink& Connections::add_from(uint32_t rank, uint32_t slot) {
  QueuePairLink& link = add(rank, slot);
  if (target_slot(rank) == slot) links_.use(link);
  return link;
}

// The link that the datagram speaks of. A request may be the first to do so.
QueuePairLink* Connections::wanted(const Datagram& datagram) {
  QueuePairLink* const link = links_.find(datagram.rank, datagram.slot);
  if (link != nullptr || datagram.step != HandshakeStep::request) return link;
  return &add_from(datagram.rank, datagram.slot);
}

void Connections::received(uint64_t buffer, uint32_t length) {
  const auto* bytes = reinterpret_cast<const char*>(&resources_.block->datagrams[buffer].datagram);
  const std::size_t size = length > kRoutingHeader ? length - kRoutingHeader : 0;
  Datagram datagram;
  const bool admitted = admit({bytes, std::min(size, sizeof(Datagram))}, &datagram);
  post_receive(buffer);
  if (!admitted) {
    log::info("verbs: endpoint {} ignored a datagram of {} bytes that is not of this job", slot_, size);
    return;
  }
  try {
    take_in(datagram);
  } catch (const std::bad_alloc&) {  // as if it was lost on the way: it is sent again
  }
}

void Connections::take_in(const Datagram& datagram) {
  QueuePairLink* link = wanted(datagram);
  if (link == nullptr) return;
  switch (datagram.step) {
    case HandshakeStep::request:
      return requested(*link, datagram);
    case HandshakeStep::reply:
      return replied(*link, datagram);
    case HandshakeStep::ready:
      return begun(*link);
    case HandshakeStep::refuse:
      if (link->state == QueuePairLink::State::requested)
        fail(*link, OMPL_ERR_LINK, "refused: it was broken before");
      return;
  }
}

Route Connections::route_of(const QueuePairLink& link, const Datagram& datagram) const {
  return {.queue_pair = datagram.queue_pair,
          .first_packet = datagram.first_packet,
          .mtu = std::min(shared_.device->mtu, static_cast<ibv_mtu>(datagram.mtu)),
          .path = shared_.device->path_to(peer(link).gid, peer(link).lid)};
}

bool Connections::route(QueuePairLink& link, const Datagram& datagram) {
  const int error = to_receive(shared_, link.pair.get(), route_of(link, datagram));
  if (error != 0)
    fail(link, OMPL_ERR_LINK, in_words([error] {
           return fmt::format("its queue pair cannot receive: {}", error_text(error));
         }));
  link.partner = datagram.queue_pair;
  return error == 0;
}

void Connections::requested(QueuePairLink& link, const Datagram& datagram) {
  if (shared_.transport == Transport::xrc) return requested_xrc(link, datagram);
  switch (link.state) {
    case QueuePairLink::State::requested:
      if (shared_.job->rank < link.rank) return;  // our own request wins
      [[fallthrough]];
    case QueuePairLink::State::idle:
      if (!prepare(link) || !route(link, datagram)) return;
      enter(link, QueuePairLink::State::replied);
      return send(link, HandshakeStep::reply);
    case QueuePairLink::State::replied:
    case QueuePairLink::State::up:
      return send(link,
                  link.partner == datagram.queue_pair ? HandshakeStep::reply : HandshakeStep::refuse);
    case QueuePairLink::State::doubtful:
    case QueuePairLink::State::failed:
      return send(link, HandshakeStep::refuse);
  }
}

void Connections::replied(QueuePairLink& link, const Datagram& datagram) {
  if (shared_.transport == Transport::xrc) return replied_xrc(link, datagram);
  if (link.state == QueuePairLink::State::requested && route(link, datagram)) go_up(link);
  if (link.state == QueuePairLink::State::up && link.partner == datagram.queue_pair)
    send(link, HandshakeStep::ready);
}

void Connections::begun(QueuePairLink& link) {
  if (link.state == QueuePairLink::State::replied) go_up(link);
}

// --- Time ----------------------------------------------------------------------------------------------

void Connections::tick(int64_t now) {
  if (waiting_ == 0) return;
  for (std::size_t i = 0; i < count(); ++i) {
    if (at(i).waiting() && now >= at(i).next) look_after_if_possible(at(i), now);
  }
}

// Without memory it is looked after a little later.
void Connections::look_after_if_possible(QueuePairLink& link, int64_t now) noexcept {
  try {
    look_after(link, now);
  } catch (const std::bad_alloc&) {
    link.next = now + kFirstAgainMs;
  }
}

void Connections::look_after(QueuePairLink& link, int64_t now) {
  if (!link.probe.asking() &&
      (link.state == QueuePairLink::State::doubtful || now - link.began > kSilenceMs))
    ask(link);
  const PeerProbe::Answer answer = link.probe.look();
  // What refuses a first question may be a firewall; after a connection that broke it is most likely the rank's end.
  const bool ended = link.state == QueuePairLink::State::doubtful && link.why != kUnreached &&
                     answer == PeerProbe::Answer::refused;
  if (answer == PeerProbe::Answer::dead || ended)
    return fail(link, OMPL_ERR_PEER,
                link.why.empty() ? std::string_view("nobody lives there") : std::string_view(link.why));
  if (link.state == QueuePairLink::State::doubtful) {
    if (answer != PeerProbe::Answer::none || now - link.began > kProbeMs)
      fail(link, OMPL_ERR_LINK, link.why);
    return;
  }
  if (answer == PeerProbe::Answer::lives) {  // it computes, and will answer; probe again later
    link.began = now;
    link.probe.end();
  } else if (now - link.began > kUnreachedMs) {
    return fail(link, OMPL_ERR_LINK,
                in_words([&] { return fmt::format("{}: {}", kUnreached, link.probe.why(answer)); }));
  }
  if (answer == PeerProbe::Answer::unreached || answer == PeerProbe::Answer::refused) link.probe.end();
  send(link,
       link.state == QueuePairLink::State::requested ? HandshakeStep::request : HandshakeStep::reply);
  link.interval = std::min(2 * link.interval, kLastAgainMs);
  link.next = now + link.interval;
}

void Connections::ask(QueuePairLink& link) const {
  const Address& other = peer(link);
  link.probe.set_own_network(shared_.network);
  try {
    link.probe.begin(other.host, other.liveness_port, kUnreachedMs);
  } catch (const std::bad_alloc&) {
    link.probe.end();
    throw;
  }
}

// Without memory to ask it is asked later.
void Connections::stalled(QueuePairLink& link, int64_t now) noexcept {
  try {
    if (!link.probe.asking()) ask(link);
  } catch (const std::bad_alloc&) {
    return;
  }
  const PeerProbe::Answer answer = link.probe.look();
  if (answer == PeerProbe::Answer::lives) link.heard = now;
  if (answer == PeerProbe::Answer::dead) return broke(link, "nobody lives there");
  if (peer(link).liveness_port != 0 && now - link.heard > kUnreachedMs) return broke(link, kUnreached);
  if (answer != PeerProbe::Answer::none) link.probe.end();
}

// --- Ends ----------------------------------------------------------------------------------------------

void Connections::broke(QueuePairLink& link, std::string_view why) {
  if (link.state == QueuePairLink::State::doubtful || link.state == QueuePairLink::State::failed)
    return;
  stop(link);
  if (link.state == QueuePairLink::State::up) up_.fetch_sub(1, std::memory_order_relaxed);
  if (!link.departed) link.note_why(why);
  enter(link, QueuePairLink::State::doubtful);
  look_after_if_possible(link, link.began);
}

// What it has posted fails.
void Connections::stop(QueuePairLink& link) const {
  if (link.pair) to_error(shared_, link.pair.get());
  if (link.initiator == nullptr) return;
  link.initiator->broken = true;
  to_error(shared_, link.initiator->pair.get());
}

void Connections::said_goodbye(QueuePairLink& link) {
  if (link.failure != OMPL_OK) return;
  link.departed = true;
  link.limit = 0;
  link.note_why("it has left");
  part_if_idle(link);
}

// What is outstanding uses the memory of callers: first that has to end.
void Connections::part_if_idle(QueuePairLink& link) {
  if (!link.departed || link.outstanding() > 0 || link.failure != OMPL_OK) return;
  link.failure.store(OMPL_ERR_LINK, std::memory_order_release);
  link.done.store(UINT64_MAX, std::memory_order_seq_cst);
}

void Connections::fail(QueuePairLink& link, int code, std::string_view why) noexcept {
  if (link.state == QueuePairLink::State::up) up_.fetch_sub(1, std::memory_order_relaxed);
  if (link.pair && link.state != QueuePairLink::State::doubtful) to_error(shared_, link.pair.get());
  link.probe.end();
  enter(link, QueuePairLink::State::failed);
  if (link.failure != OMPL_OK) return;
  if (link.departed) code = OMPL_ERR_LINK;
  link.note_why(why);
  link.failure.store(code, std::memory_order_release);
  link.done.store(UINT64_MAX, std::memory_order_seq_cst);
  if (known(link.rank) != &link && !link.departed) losses_.add(link.rank, code, link.why);
  log::info("verbs: connection of endpoint {} to endpoint {} of rank {}: {}", slot_, link.slot,
            link.rank, link.why);
}

std::string Connections::describe() const {
  return fmt::format("{} connections", up_.load(std::memory_order_relaxed));
}

}  // namespace ompl::conduit::verbs
