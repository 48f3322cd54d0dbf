// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/psm2/connections.hpp"

#include <algorithm>
#include <new>

#include "arch/clock.hpp"
#include "util/log.hpp"
#include "util/secret.hpp"
#include "util/status.hpp"

namespace ompl::conduit::psm2 {
namespace {

constexpr std::string_view kLeft = "it left the job";
constexpr std::string_view kDead = "nobody lives there: its process ended";

constexpr int64_t kSeekMs = 2000;
constexpr int64_t kPauseMs = 1000;  // between attempts to connect: others may send meanwhile
constexpr int64_t kRefusedPauseMs = 50;
constexpr int kMostRefusals = 20;
constexpr int64_t kSilenceMs = 1000;  // until the other side is asked whether it lives
constexpr int kMostProbes = 8;        // at once: each takes a descriptor

// PSM2's shared memory has room for so many messages with data to one endpoint, by whomever they are sent; what finds none waits
// inside PSM2, for ever if the other side has died. A few are left for its own.
constexpr uint64_t kQueue = 240;
constexpr uint64_t kLeastUnderWay = 2;

}  // namespace

Connections::Connections(const SharedState& shared, uint32_t slot)
    : shared_(shared), slot_(slot), links_(shared.job->size), connector_(*shared.library) {}

uint32_t Connections::target_slot(uint32_t rank) const {
  const std::size_t slots = (*shared_.peers)[rank].slots.size();
  return slots == 0 ? 0 : slot_ % static_cast<uint32_t>(slots);
}

// How many messages may be under way to an endpoint of that rank, by one endpoint, so that those of all fit. The same on both
// sides.
uint64_t Connections::limit_to(uint32_t rank) const {
  const auto address_of = [this](uint32_t of) -> const Address& {
    return of == shared_.job->rank ? *shared_.own : (*shared_.peers)[of];
  };
  const Address& target = address_of(rank);
  const std::size_t slots = std::max<std::size_t>(target.slots.size(), 1);
  uint64_t senders = 0;
  for (uint32_t other = 0; other < shared_.job->size; ++other) {
    const Address& sender = address_of(other);
    if (other != rank && sender.memory == target.memory)
      senders += (sender.slots.size() + slots - 1) / slots;
  }
  return std::clamp(kQueue / std::max<uint64_t>(senders, 1), kLeastUnderWay, Psm2Link::kMostUnderWay);
}

Psm2Link& Connections::add(uint32_t rank, uint32_t slot) {
  losses_.make_room(all().size() + 1);
  Psm2Link& link = links_.add(rank, slot, static_cast<uint16_t>(all().size()),
                              static_cast<uint32_t>(unpredictable_number()));
  link.limit = limit_to(rank);
  link.tell_at = limit_to(shared_.job->rank) / 2;
  if (links_.known(rank) == nullptr && target_slot(rank) == slot) links_.use(link);
  return link;
}

Psm2Link& Connections::prepare(uint32_t rank) {
  Psm2Link* link = links_.known(rank);
  if (link == nullptr) {
    link = &add(rank, target_slot(rank));
    if ((*shared_.peers)[rank].slots.empty())
      fail(*link, OMPL_ERR_LINK, "it is not reached by this conduit");
  }
  if (link->state == Psm2Link::State::idle) seek(*link);
  return *link;
}

void Connections::enter(Psm2Link& link, Psm2Link::State state) noexcept {
  coming_up_ -= link.is_coming_up() ? 1 : 0;
  if (link.state == Psm2Link::State::up) up_.fetch_sub(1, std::memory_order_relaxed);
  link.state = state;
  coming_up_ += link.is_coming_up() ? 1 : 0;
  if (state == Psm2Link::State::up) up_.fetch_add(1, std::memory_order_relaxed);
}

// --- Coming up -----------------------------------------------------------------------------------------

void Connections::seek(Psm2Link& link) {
  const Address& there = peer(link);
  link.probe.set_own_network(shared_.own->host.network);
  link.probe.begin(there.host, there.port, kSeekMs);
  link.alive = arch::now_ms();
  enter(link, Psm2Link::State::seeking);
}

int Connections::progress() noexcept {
  if (coming_up_ == 0 && connecting_ == nullptr) return 0;
  int steps = 0;
  const int64_t now = arch::now_ms();
  if (connecting_ != nullptr && connector_.has_result()) {
    take_connection(now);
    ++steps;
  }
  for (std::size_t i = 0; i < all().size() && !is_away(); ++i) {
    Psm2Link& link = *all()[(turn_ + i) % all().size()];
    if (!link.is_coming_up()) continue;
    try {
      steps += advance(link, now) ? 1 : 0;
    } catch (const std::bad_alloc&) {  // later
    }
  }
  ++turn_;
  return steps;
}

bool Connections::advance(Psm2Link& link, int64_t now) {
  using Answer = PeerProbe::Answer;
  if (link.state == Psm2Link::State::seeking) {
    const Answer answer = link.probe.asking() ? link.probe.look() : Answer::lives;
    if (answer == Answer::none) return false;
    link.probe.end();
    if (answer == Answer::dead) {
      fail(link, OMPL_ERR_PEER, kDead);
    } else {
      enter(link, Psm2Link::State::connecting);
    }
    return true;
  }
  if (link.state == Psm2Link::State::connecting && connecting_ == nullptr && now >= link.next) {
    if (!connector_.begin(endpoint_, peer(link).slots.at(link.slot))) return false;
    link.attempted = true;
    connecting_ = &link;
    return true;
  }
  if (link.state != Psm2Link::State::greeting) return false;
  if (link.welcomed) {
    const uint64_t head = head_for(link.theirs, kReady);
    if (send(link, &head, 1)) came_up(link);
    return true;
  }
  if (!link.hello_sent) greet(link);
  return false;
}

void Connections::came_up(Psm2Link& link) noexcept {
  if (link.state != Psm2Link::State::greeting) return;
  enter(link, Psm2Link::State::up);
  log::debug("psm2: endpoint {} is connected to endpoint {} of rank {}", slot_, link.slot, link.rank);
}

// The other side may have been quicker, and the link be up.
void Connections::take_connection(int64_t now) {
  Psm2Link& link = *connecting_;
  connecting_ = nullptr;
  std::string why;
  const PsmError error = connector_.take_result(&link.address, &why);
  if (link.state != Psm2Link::State::connecting) return;
  if (error == kPsmOk) {
    enter(link, Psm2Link::State::greeting);
    return greet(link);
  }
  const bool late = error == kPsmTimeout;
  if (!late && ++link.refusals >= kMostRefusals) return lost(link, why);
  link.next = now + (late ? kPauseMs : kRefusedPauseMs);
  try {
    seek(link);
  } catch (const std::bad_alloc&) {  // then PSM2 is asked without it
  }
}

void Connections::greet(Psm2Link& link) noexcept {
  const Job& job = *shared_.job;
  const Hello hello{.rank = job.rank,
                    .slot = static_cast<uint16_t>(slot_),
                    .target_slot = static_cast<uint16_t>(link.slot),
                    .cookie = cookie(job.secret, job.rank, link.rank, peer(link).challenge),
                    .head = to_argument({.key = link.key, .place = link.place})};
  const auto words = std::bit_cast<std::array<uint64_t, 3>>(hello);
  const uint64_t arguments[] = {to_argument({.op = kHello}), words[0], words[1], words[2]};
  link.hello_sent = send(link, arguments, 4);
}

uint8_t Connections::greeted(const Hello& hello, PsmAddress* from, Psm2Link** link) noexcept {
  const Job& job = *shared_.job;
  const bool known = hello.rank < job.size && hello.rank != job.rank && hello.target_slot == slot_ &&
                     hello.slot < (*shared_.peers)[hello.rank].slots.size() &&
                     hello.cookie == shared_.cookies[hello.rank];
  if (!known) {
    log::warn("psm2: dropped a hello that does not belong to this job");
    return 0;
  }
  try {
    Psm2Link* found = links_.find(hello.rank, hello.slot);
    if (found == nullptr) found = &add(hello.rank, hello.slot);
    *link = found;
    if (found->failure != OMPL_OK) return kRefuse;
    found->address = from;
    found->theirs = hello.head;
    found->alive = arch::now_ms();
    ++found->heard;
    found->probe.end();
    if (found->state < Psm2Link::State::greeting) {  // else it has said hello too
      found->hello_sent = true;
      enter(*found, Psm2Link::State::greeting);
    }
    return kWelcome;
  } catch (const std::bad_alloc&) {
    return kLater;
  }
}

void Connections::answered(Psm2Link& link, uint8_t op, uint64_t head) noexcept {
  if (op == kLater) {
    link.hello_sent = false;
  } else if (op == kRefuse) {
    lost(link, "refused: it was broken before");
  } else {
    link.theirs = head;
    link.welcomed = true;
  }
}

Psm2Link* Connections::admit(Head head) const {
  if (head.place >= all().size()) return nullptr;
  Psm2Link& link = *all()[head.place];
  return link.key == head.key ? &link : nullptr;
}

// --- While it is up ------------------------------------------------------------------------------------

bool Connections::send(Psm2Link& link, const uint64_t* arguments, int count) noexcept {
  const PsmError error =
      shared_.library->am_request(link.address, 0, arguments, count, nullptr, 0, 0, nullptr, nullptr);
  if (error == kPsmOk) return true;
  lost(link, in_words([&] { return shared_.library->text_of(error); }));
  return false;
}

void Connections::ask(Psm2Link& link) noexcept {
  if (!link.sends() || link.asked || link.window.outstanding() == 0) return;
  const uint64_t head = head_for(link.theirs, kAsk);
  link.asked = send(link, &head, 1);
}

// While it sends PSM2 may call handlers, which may add links: no iterator is held.
void Connections::ask_all() noexcept {
  for (std::size_t i = 0; i < all().size(); ++i) ask(*all()[i]);
}

void Connections::look_for_silence(int64_t now) noexcept {
  shared_.liveness->answer();
  int asking = 0;
  for (const auto& link : all()) {
    const bool watched = link->state == Psm2Link::State::up || link->state == Psm2Link::State::greeting;
    if (!watched) continue;
    if (link->heard != link->heard_then) {
      link->heard_then = link->heard;
      link->alive = now;
      link->probe.end();
    } else if (link->probe.asking() || (now - link->alive >= kSilenceMs && asking < kMostProbes)) {
      try {
        look_after(*link, now);
      } catch (const std::bad_alloc&) {  // later
      }
    }
    asking += link->probe.asking() ? 1 : 0;
  }
}

void Connections::look_after(Psm2Link& link, int64_t now) {
  using Answer = PeerProbe::Answer;
  if (!link.probe.asking()) {
    link.probe.set_own_network(shared_.own->host.network);
    link.probe.begin(peer(link).host, peer(link).port, kUnreachedMs);
  }
  const Answer answer = link.probe.look();
  if (answer == Answer::lives) link.alive = now;
  if (answer == Answer::dead) return fail(link, OMPL_ERR_PEER, kDead);
  if (peer(link).port != 0 && now - link.alive > kUnreachedMs)
    return lost(link, in_words([&] { return "its host is out of reach: " + link.probe.why(answer); }));
  if (answer != Answer::none) link.probe.end();
}

// --- Ends ----------------------------------------------------------------------------------------------

void Connections::said_goodbye(Psm2Link& link) noexcept {
  if (link.failure != OMPL_OK) return;
  link.departed = true;
  fail(link, OMPL_ERR_LINK, kLeft);
}

// Everything outstanding on the link counts as complete; what comes for it later is dropped.
void Connections::fail(Psm2Link& link, int code, std::string_view why) noexcept {
  if (link.failure != OMPL_OK) return;
  enter(link, Psm2Link::State::failed);
  link.probe.end();
  gets_.give_back_of(link);
  link.note_why(why);
  link.failure.store(code, std::memory_order_release);
  link.window.close();
  if (links_.known(link.rank) != &link && !link.departed) losses_.add(link.rank, code, link.why);
  log::info("psm2: connection of endpoint {} to endpoint {} of rank {}: {}", slot_, link.slot,
            link.rank, link.why);
}

bool Connections::part() noexcept {
  bool all_have = connecting_ == nullptr;
  for (std::size_t i = 0; i < all().size(); ++i) {
    Psm2Link& link = *all()[i];
    const bool lives = link.theirs != 0 && (link.failure == OMPL_OK || link.departed);
    if (!lives) continue;
    const uint64_t head = head_for(link.theirs, kGoodbye);
    if (!link.goodbye_said) link.goodbye_said = send(link, &head, 1);
    all_have = all_have && link.goodbye_heard && link.departed;
  }
  return all_have;
}

bool Connections::has_parted() const {
  return std::ranges::all_of(all(), [](const std::unique_ptr<Psm2Link>& link) {
    const bool unused = !link->attempted && link->address == nullptr;
    return unused || (link->goodbye_heard && link->departed);
  });
}

std::string Connections::describe() const {
  return fmt::format("{} connections", up_.load(std::memory_order_relaxed));
}

}  // namespace ompl::conduit::psm2
