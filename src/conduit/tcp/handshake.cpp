// SPDX-License-Identifier: BSD-3-Clause
// The rest of Connections: what two sides say before a connection is used.
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <new>

#include "arch/clock.hpp"
#include "conduit/tcp/connections.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::conduit::tcp {
namespace {

constexpr int64_t kTimeToSpeakMs = 10'000;
constexpr int kMostAtOnce = 64;  // connections accepted: others are waiting to be served
constexpr const char* kForeign =
    "another job's process answers at its address, so its own ended or the address leads elsewhere";

}  // namespace

// --- Who connects --------------------------------------------------------------------------------------

void Connections::begin_attempt(TcpLink& link) {
  link.routed = false;
  const HostPort place = place_of(link);
  const int error = begin_connecting(place.ip, place.port, &link.attempt.socket);
  if (error != 0) return put_off(link, error_text(error));
  link.attempt.stage = Attempt::Stage::connecting;
  if (!observe(link.attempt.socket.get(), What::attempt, link.place, EPOLLOUT))
    put_off(link, error_text(errno));
}

void Connections::step_attempt(TcpLink& link) {
  if (link.attempt.stage == Attempt::Stage::connecting) return greet(link);
  if (link.attempt.stage == Attempt::Stage::greeted) take_answer(link);
}

// If the other side's request has come meanwhile, that one is waited for.
void Connections::greet(TcpLink& link) {
  const int fd = link.attempt.socket.get();
  if (link.candidate.socket.is_open()) {
    link.attempt.socket.close();
    link.attempt.stage = Attempt::Stage::none;
    link.search.reset();
    return;
  }
  if (const int error = pending_error(fd); error != 0) return put_off(link, error_text(error));
  TcpGreeting& greeting = link.attempt.greeting;
  greeting = {.rank = shared_.job->rank,
              .slot = slot_,
              .target_slot = link.slot,
              .challenge = unpredictable_number(),
              .asked = peer(link).challenge};
  greeting.proof = greeting.proof_to(link.rank, shared_.job->secret);
  const int sent = send_whole(fd, &greeting, sizeof greeting);
  if (sent == 0) return;  // it is not connected yet
  if (sent < 0) return put_off(link, error_text(errno));
  link.attempt.stage = Attempt::Stage::greeted;
  link.attempt.have = 0;
  epoll_event event{.events = EPOLLIN,
                    .data = {.u64 = static_cast<uint64_t>(What::attempt) << 32 | link.place}};
  ::epoll_ctl(set_, EPOLL_CTL_MOD, fd, &event);
}

void Connections::take_answer(TcpLink& link) {
  Attempt& attempt = link.attempt;
  const int fd = attempt.socket.get();
  const int taken = receive_whole(fd, &attempt.answer, sizeof attempt.answer, &attempt.have);
  if (taken == 0) return;
  if (taken < 0) return put_off(link, "it ended the connection without an answer");
  const TcpAnswer& answer = attempt.answer;
  const std::string& secret = shared_.job->secret;
  if (answer.magic != kGreetingMagic ||
      !same_proof(answer.proof, answer.proof_of(link.rank, attempt.greeting, secret))) {
    if (!link.search || !link.search->pass_over("answers for another job"))
      return fail(link, OMPL_ERR_LINK, kForeign);
    attempt.socket.close();
    attempt.stage = Attempt::Stage::none;
    link.reached = false;
    troubled_ = true;
    return;
  }
  if (answer.refusal != TcpRefusal::none) return refused(link, answer.refusal);
  const auto confirmation = Confirmation::of(link.rank, attempt.greeting, answer.challenge, secret);
  if (send_whole(fd, &confirmation, sizeof confirmation) <= 0)
    return put_off(link, "it ended the connection after its answer");
  ::epoll_ctl(set_, EPOLL_CTL_DEL, fd, nullptr);
  came_up(link, std::move(attempt.socket));
}

void Connections::refused(TcpLink& link, TcpRefusal refusal) {
  if (refusal != TcpRefusal::busy) return fail(link, OMPL_ERR_LINK, "refused: it was broken before");
  // The other side's request comes in its place; or does not, if that fails.
  link.ask_until = 0;
  put_off(link, "the other side is connecting");
  link.ask_until = 0;
}

// --- Who is asked --------------------------------------------------------------------------------------

// Without a descriptor for it a connection is ended at once: whoever is of the job makes it again.
void Connections::take_visitors() noexcept {
  for (int i = 0; i < kMostAtOnce; ++i) {
    Socket socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.is_open() && (errno == EMFILE || errno == ENFILE)) {
      spare_.close();
      socket = Socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      const bool waited = socket.is_open();
      socket.close();
      spare_ = one_more();
      if (!waited) return;
      continue;
    }
    if (!socket.is_open()) return;
    const auto oldest = [](const Visitor& one) { return one.socket.is_open() ? one.since : 0; };
    const auto place = std::ranges::min_element(visitors_, {}, oldest);
    const auto index = static_cast<std::size_t>(place - visitors_.begin());
    if (!place->socket.is_open()) ++visiting_;
    place->have = 0;
    place->since = arch::now_ms();
    place->socket = std::move(socket);
    if (!observe(place->socket.get(), What::visitor, index, EPOLLIN)) {
      place->socket.close();
      --visiting_;
      continue;
    }
    step_visitor(index);
  }
}

void Connections::step_visitor(std::size_t index) noexcept {
  Visitor& visitor = visitors_[index];
  if (!visitor.socket.is_open()) return;
  const int fd = visitor.socket.get();
  const int taken = receive_whole(fd, &visitor.greeting, sizeof visitor.greeting, &visitor.have);
  if (taken == 0) return;
  try {
    TcpLink* const link = taken > 0 ? admissible(visitor.greeting) : nullptr;
    if (link != nullptr) {
      answer(*link, visitor);
    } else if (taken > 0) {
      warn_of_stranger(fd);
    }
  } catch (const std::bad_alloc&) {  // whoever is of the job asks again
  }
  visitor.socket.close();
  --visiting_;
  recount();
}

// The link that the greeting is for, null if it is not of this job.
TcpLink* Connections::admissible(const TcpGreeting& greeting) {
  const Job& job = *shared_.job;
  if (greeting.magic != kGreetingMagic || greeting.rank >= job.size || greeting.rank == job.rank ||
      greeting.target_slot != slot_ || greeting.asked != shared_.challenge ||
      greeting.slot >= (*shared_.peers)[greeting.rank].ports.size() ||
      !greeting.is_proven(job.rank, job.secret))
    return nullptr;
  if (TcpLink* const known = links_.find(greeting.rank, greeting.slot); known != nullptr) return known;
  TcpLink& link = add(greeting.rank, greeting.slot);
  if (target_slot(greeting.rank) == greeting.slot) links_.use(link);
  return &link;
}

void Connections::answer_no(int fd, const TcpGreeting& greeting, TcpRefusal refusal, const Job& job) {
  TcpAnswer answer{.refusal = refusal};
  answer.proof = answer.proof_of(job.rank, greeting, job.secret);
  send_whole(fd, &answer, sizeof answer);
}

// A request of our own stays, if it is under way: the lower rank is about to refuse it.
void Connections::answer(TcpLink& link, Visitor& visitor) {
  const Job& job = *shared_.job;
  const int fd = visitor.socket.get();
  if (link.failure != OMPL_OK || (link.was_up && !link.up))
    return answer_no(fd, visitor.greeting, TcpRefusal::broken, job);
  const bool greeted = link.attempt.stage == Attempt::Stage::greeted;
  if (link.up || (greeted && job.rank < link.rank))
    return answer_no(fd, visitor.greeting, TcpRefusal::busy, job);
  TcpAnswer answer{.challenge = unpredictable_number()};
  answer.proof = answer.proof_of(job.rank, visitor.greeting, job.secret);
  if (send_whole(fd, &answer, sizeof answer) <= 0) return;
  Candidate& candidate = link.candidate;
  candidate.greeting = visitor.greeting;
  candidate.challenge = answer.challenge;
  candidate.have = 0;
  candidate.until = arch::now_ms() + kTimeToSpeakMs;
  ::epoll_ctl(set_, EPOLL_CTL_DEL, fd, nullptr);
  candidate.socket = std::move(visitor.socket);
  prepare_connection(fd);
  if (!observe(fd, What::candidate, link.place, EPOLLIN)) return candidate.socket.close();
  if (!greeted) {
    link.attempt.socket.close();
    link.attempt.stage = Attempt::Stage::none;
    link.search.reset();
    link.ask_again = 0;
  }
}

void Connections::step_candidate(TcpLink& link) noexcept {
  Candidate& candidate = link.candidate;
  if (!candidate.socket.is_open()) return;
  const int fd = candidate.socket.get();
  const int taken =
      receive_whole(fd, &candidate.confirmation, sizeof candidate.confirmation, &candidate.have);
  if (taken == 0) return;
  const Job& job = *shared_.job;
  const auto right = Confirmation::of(job.rank, candidate.greeting, candidate.challenge, job.secret);
  if (taken > 0 && same_proof(candidate.confirmation.proof, right.proof)) {
    ::epoll_ctl(set_, EPOLL_CTL_DEL, fd, nullptr);
    came_up(link, std::move(candidate.socket));
  } else {
    if (taken > 0) warn_of_stranger(fd);
    candidate.socket.close();
    if (link.wanted && !link.attempt.socket.is_open()) {
      link.ask_again = arch::now_ms();
      troubled_ = true;
    }
  }
  recount();
}

// Of the first stranger, and then of the second, the fourth, the eighth ...
void Connections::warn_of_stranger(int fd) noexcept {
  if (!std::has_single_bit(++strangers_)) return;
  try {
    log::warn("tcp: refused a connection from {} that does not belong to this job ({} times so far)",
              ip_text(peer_ip(fd)), strangers_);
  } catch (const std::bad_alloc&) {
  }
}

void Connections::turn_out_silent(int64_t now) noexcept {
  if (visiting_ == 0) return;
  for (std::size_t i = 0; i < visitors_.size(); ++i) {
    Visitor& visitor = visitors_[i];
    if (!visitor.socket.is_open() || now - visitor.since < kTimeToSpeakMs) continue;
    step_visitor(i);  // this rank may have been outside the layer all the time
    if (!visitor.socket.is_open()) continue;
    visitor.socket.close();
    --visiting_;
  }
}

}  // namespace ompl::conduit::tcp
