// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/tcp/connections.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "arch/clock.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::conduit::tcp {
namespace {

constexpr std::string_view kLeft = "it left the job";
constexpr int64_t kProbeMs = 500;
// A dying process may close its connections before its listener, and lose its core between the two.
constexpr int64_t kDyingMs = 1000;
constexpr int64_t kFirstPauseMs = 5;
constexpr int64_t kLastPauseMs = 500;
constexpr int64_t kSilenceEveryMs = 1000;

}  // namespace

Connections::Connections(const SharedState& shared, uint32_t slot)
    : shared_(shared), slot_(slot), links_(shared.job->size) {}

Connections::~Connections() {
  if (set_ >= 0) ::close(set_);
}

int Connections::open(const std::vector<std::string>& ips, uint16_t* port) {
  if (const int code = listen_at(ips, &listener_, port); code != OMPL_OK) return code;
  set_ = ::epoll_create1(EPOLL_CLOEXEC);
  spare_ = one_more();
  if (set_ < 0 || !spare_.is_open() || !observe(listener_.get(), What::listener, 0, EPOLLIN))
    return ompl::fail(OMPL_ERR_SYSTEM, "a set of descriptors cannot be made: {}", error_text(errno));
  return OMPL_OK;
}

// A descriptor that is of no use but to be closed. Needs no file: a container may lack /dev.
Socket Connections::one_more() const { return Socket(::fcntl(set_, F_DUPFD_CLOEXEC, 0)); }

uint32_t Connections::target_slot(uint32_t rank) const {
  return slot_ % static_cast<uint32_t>((*shared_.peers)[rank].ports.size());
}

TcpLink& Connections::add(uint32_t rank, uint32_t slot) {
  losses_.make_room(all().size() + 1);
  up_.reserve(all().size() + 1);
  return links_.add(rank, slot, static_cast<uint32_t>(all().size()));
}

TcpLink& Connections::prepare(uint32_t rank) {
  TcpLink* link = links_.known(rank);
  if (link == nullptr) {
    const bool reachable = !(*shared_.peers)[rank].ports.empty();
    link = &add(rank, reachable ? target_slot(rank) : 0);
    links_.use(*link);
    if (!reachable) fail(*link, OMPL_ERR_LINK, "it is not reached by this conduit");
  }
  if (link->wanted || link->failure != OMPL_OK) return *link;
  link->wanted = true;
  step(*link, [&] { seek(*link); });
  return *link;
}

bool Connections::observe(int fd, What what, uint64_t index, uint32_t events) const {
  epoll_event event{.events = events, .data = {.u64 = static_cast<uint64_t>(what) << 32 | index}};
  return ::epoll_ctl(set_, EPOLL_CTL_ADD, fd, &event) == 0;
}

void Connections::watch(TcpLink& link, uint32_t events) {
  if (link.watched == events) return;
  epoll_event event{.events = events,
                    .data = {.u64 = static_cast<uint64_t>(What::link) << 32 | link.place}};
  if (::epoll_ctl(set_, EPOLL_CTL_MOD, link.socket.get(), &event) == 0) link.watched = events;
}

// While there are few, each is told of once, and then read without being asked for: packets then cost the set next to nothing.
void Connections::arm() {
  for (TcpLink* const link : up_) {
    const uint32_t output = link->has_output() ? EPOLLOUT : 0U;
    const uint32_t once = is_direct() ? EPOLLONESHOT : 0U;
    watch(*link, EPOLLIN | output | once);
  }
}

// --- Where the other side is ---------------------------------------------------------------------------

HostPort Connections::place_of(const TcpLink& link) const {
  return {peer(link).host.list.at(link.route).ip, peer(link).ports.at(link.slot)};
}

// While the other side is about to connect there is nothing to do.
void Connections::seek(TcpLink& link) {
  link.ask_again = 0;
  if (link.candidate.socket.is_open()) return;
  const int64_t left = link.ask_until == 0 ? shared_.connect_timeout_ms
                                           : std::max(link.ask_until - arch::now_ms(), kFirstPauseMs);
  link.search = std::make_unique<RouteSearch>();
  link.search->begin(at_port(peer(link).host, peer(link).ports.at(link.slot)), left, link.route);
  troubled_ = true;
}

void Connections::look_for_route(TcpLink& link) {
  const RouteSearch::Answer answer = link.search->look();
  if (answer == RouteSearch::Answer::none) return;
  if (answer != RouteSearch::Answer::lives) return find_no_route(link, answer);
  link.route = static_cast<std::size_t>(
      std::ranges::find(peer(link).host.list, link.search->place().ip, &HostAddress::ip) -
      peer(link).host.list.begin());
  link.reached = true;
  link.routed = true;
  log::debug("tcp: rank {} is reached at {}", link.rank,
             place_text(place_of(link).ip, place_of(link).port));
  begin_attempt(link);
}

// None of its addresses takes a connection. A rank listens from before others know its address until it ends. But what rejects
// a first connection may be a firewall.
void Connections::find_no_route(TcpLink& link, RouteSearch::Answer answer) {
  const bool near = shared_.network != 0 && shared_.network == peer(link).host.network;
  if (answer == RouteSearch::Answer::dead && (link.reached || near))
    return fail(link, OMPL_ERR_PEER, in_words([&link] {
                  return fmt::format("its process ended ({})", link.search->verdicts());
                }));
  fail(link, OMPL_ERR_LINK, in_words([&] { return never_connected(*link.search, answer); }));
}

void Connections::learn_route(TcpLink& link, int fd) noexcept {
  try {
    const auto& list = peer(link).host.list;
    const auto found = std::ranges::find(list, peer_ip(fd), &HostAddress::ip);
    if (found == list.end()) return;
    link.route = static_cast<std::size_t>(found - list.begin());
    link.reached = true;
  } catch (const std::bad_alloc&) {  // it is tried as any other then
  }
}

// An attempt came to nothing, which proves nothing: the other side may lack a descriptor for a moment. Another one is made later.
void Connections::put_off(TcpLink& link, std::string_view why) {
  const int64_t now = arch::now_ms();
  link.attempt.socket.close();
  link.attempt.stage = Attempt::Stage::none;
  link.search.reset();
  if (link.ask_until == 0) link.ask_until = now + shared_.connect_timeout_ms;
  if (now >= link.ask_until) {
    return fail(link, OMPL_ERR_LINK, in_words([&] {
                  return fmt::format("{}: {}; {}", place_text(place_of(link).ip, place_of(link).port),
                                     why, kInterfaceHint);
                }));
  }
  link.pause = std::clamp(2 * link.pause, kFirstPauseMs, kLastPauseMs);
  link.ask_again = now + link.pause;
  troubled_ = true;
}

// One step of a link, at the end of which nobody waits for what will never come: without memory for it it is made again.
template <class Step>
void Connections::step(TcpLink& link, Step take) noexcept {
  try {
    take();
  } catch (const std::bad_alloc&) {
    if (link.failure != OMPL_OK || link.up) return;
    if (link.probing) {
      troubled_ = true;
      return;
    }
    put_off(link, kNoMemoryForText);
  }
  recount();
}

void Connections::recount() noexcept {
  pending_ = 0;
  for (const auto& link : all()) {
    pending_ += link->attempt.socket.is_open() ? 1 : 0;
    pending_ += link->candidate.socket.is_open() ? 1 : 0;
  }
}

// --- Up and down ---------------------------------------------------------------------------------------

void Connections::came_up(TcpLink& link, Socket socket) {
  link.attempt.socket.close();
  link.attempt.stage = Attempt::Stage::none;
  link.candidate.socket.close();
  link.search.reset();
  link.ask_again = 0;
  link.socket = std::move(socket);
  learn_route(link, link.socket.get());
  up_.push_back(&link);  // add() has made room
  up_count_.store(static_cast<uint32_t>(up_.size()), std::memory_order_relaxed);
  link.watched = is_direct() ? EPOLLONESHOT | EPOLLIN : EPOLLIN;
  link.up = link.was_up = true;
  if (!observe(link.socket.get(), What::link, link.place, link.watched))
    return lost(link, "its socket cannot be watched");
  if (up_.size() == kMostDirect + 1) arm();  // now all are told of
  log::debug("tcp: endpoint {} joined to endpoint {} of rank {}", slot_, link.slot, link.rank);
}

void Connections::leave_up(TcpLink& link) noexcept {
  std::erase(up_, &link);
  up_count_.store(static_cast<uint32_t>(up_.size()), std::memory_order_relaxed);
  link.up = false;
  ::epoll_ctl(set_, EPOLL_CTL_DEL, link.socket.get(), nullptr);  // a child of a fork may hold it open
  link.socket.close();
  link.out.clear();
  link.owed.clear();
  link.in.left = link.in.have = 0;
}

void Connections::lost(TcpLink& link, std::string_view why) noexcept {
  if (!link.up) return;
  if (link.departed) return end_of(link);
  link.note_why(why);
  leave_up(link);
  link.probing = true;
  link.probe_until = arch::now_ms() + kProbeMs;
  link.probe_again = 0;
  link.probed_again = false;
  troubled_ = true;
  step(link, [&] { probe(link); });
}

void Connections::probe(TcpLink& link) {
  link.search = std::make_unique<RouteSearch>();
  link.search->begin({place_of(link)}, kProbeMs);
}

// Without an answer the network is gone, and whether the rank lives cannot be known.
void Connections::look_at_probe(TcpLink& link, int64_t now) {
  const auto answer = link.search ? link.search->look() : RouteSearch::Answer::none;
  if (answer == RouteSearch::Answer::dead)
    return fail(link, OMPL_ERR_PEER,
                in_words([&link] { return fmt::format("its process ended ({})", link.why); }));
  if (answer == RouteSearch::Answer::lives && !link.probed_again) {
    if (link.probe_again == 0) link.probe_again = now + kDyingMs;
    if (now < link.probe_again) return;
    probe(link);
    link.probed_again = true;
    link.probe_until = now + kProbeMs;
    return;
  }
  if (answer != RouteSearch::Answer::none || (link.probe_again == 0 && now > link.probe_until) ||
      (link.probed_again && now > link.probe_until))
    fail(link, OMPL_ERR_LINK, link.why);
}

// What is outstanding uses no memory of callers from here on: nothing more is sent, and what comes is not taken in.
void Connections::said_goodbye(TcpLink& link) noexcept {
  link.note_why(kLeft);
  link.departed.store(true, std::memory_order_release);
  if (!link.out.empty()) {  // half a frame is of no use to who reads no more
    ::shutdown(link.socket.get(), SHUT_WR);
    link.deaf = true;
    link.out.clear();
  }
  link.owed.clear();
  link.in.left = link.in.have = 0;
  link.failure.store(OMPL_ERR_LINK, std::memory_order_release);
  operations_.give_back_of(link);
  link.window.close();
}

void Connections::end_of(TcpLink& link) noexcept {
  leave_up(link);
  log::debug("tcp: endpoint {} of rank {} has left", link.slot, link.rank);
}

// Everything outstanding on the link counts as complete.
void Connections::fail(TcpLink& link, int code, std::string_view why) noexcept {
  if (link.up) leave_up(link);
  link.note_why(why);
  link.attempt.socket.close();
  link.candidate.socket.close();
  link.search.reset();
  link.ask_again = 0;
  link.probing = false;
  if (find(link.rank) != &link) losses_.add(link.rank, code, link.why);
  link.failure.store(code, std::memory_order_release);
  operations_.give_back_of(link);
  link.window.close();
  log::info("tcp: connection of endpoint {} to endpoint {} of rank {}: {}", slot_, link.slot, link.rank,
            link.why);
}

// --- Progress ------------------------------------------------------------------------------------------

int Connections::look(std::vector<TcpLink*>* readable) noexcept {
  std::array<epoll_event, kEvents> events;
  const int count = ::epoll_wait(set_, events.data(), kEvents, 0);
  int requests = 0;
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    const auto what = static_cast<What>(event.data.u64 >> 32);
    const auto index = static_cast<std::size_t>(event.data.u64 & UINT32_MAX);
    requests += what == What::link ? 0 : 1;
    if (what == What::listener) {
      take_visitors();
    } else if (what == What::visitor) {
      step_visitor(index);
    } else {
      TcpLink& link = *all()[index];
      if (what == What::attempt) step(link, [&] { step_attempt(link); });
      if (what == What::candidate) step_candidate(link);
      if (what != What::link || !link.up) continue;
      if ((link.watched & EPOLLONESHOT) != 0) link.watched = EPOLLONESHOT;       // until the next arm()
      if ((event.events & EPOLLOUT) != 0 && !is_direct()) watch(link, EPOLLIN);  // the same
      readable->push_back(&link);  // there is room for kEvents
    }
  }
  return requests;
}

int Connections::advance() noexcept {
  const int64_t now = arch::now_ms();
  if (now - silence_looked_at_ >= kSilenceEveryMs) look_for_silence(now);
  if (!troubled_) return 0;
  troubled_ = false;
  for (const auto& link : all()) {
    step(*link, [&] { advance(*link, now); });
    const bool seeks = link->search != nullptr && !link->attempt.socket.is_open();
    troubled_ = troubled_ || seeks || link->ask_again != 0 || link->probing;
  }
  return 1;
}

void Connections::advance(TcpLink& link, int64_t now) {
  if (link.failure != OMPL_OK) return;
  if (link.probing) return look_at_probe(link, now);
  if (link.search && !link.attempt.socket.is_open()) return look_for_route(link);
  if (link.ask_again != 0 && now >= link.ask_again) seek(link);
}

// What no event tells of, once a second: links that say nothing, requests that are not finished.
void Connections::look_for_silence(int64_t now) noexcept {
  silence_looked_at_ = now;
  turn_out_silent(now);
  for (const auto& one : all()) {
    TcpLink& link = *one;
    const bool is_late = link.candidate.socket.is_open() && now > link.candidate.until;
    if (is_late) step_candidate(link);  // this rank may have been outside the layer all the time
    if (is_late && link.candidate.socket.is_open()) {
      link.candidate.socket.close();
      if (link.wanted && !link.attempt.socket.is_open()) link.ask_again = now;
      recount();
    }
    troubled_ = troubled_ || link.ask_again != 0;
    const bool silent = std::exchange(link.heard_then, link.heard) == link.heard;
    const char* why = nullptr;
    if (link.up && silent) why = why_dead(link.socket.get());
    if (why != nullptr) lost(link, why);
    if (link.attempt.stage != Attempt::Stage::greeted) continue;
    why = why_dead(link.attempt.socket.get());
    if (why != nullptr) step(link, [&] { put_off(link, why); });
  }
}

bool Connections::no_candidates() const {
  return std::ranges::none_of(all(), [](const auto& link) { return link->candidate.socket.is_open(); });
}

std::string Connections::describe() const {
  return fmt::format("{} connections", up_count_.load(std::memory_order_relaxed));
}

}  // namespace ompl::conduit::tcp
