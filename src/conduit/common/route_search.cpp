// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/common/route_search.hpp"

#include <algorithm>
#include <utility>

#include "arch/clock.hpp"
#include "conduit/common/ip_address.hpp"
#include "util/status.hpp"

namespace ompl::conduit {
namespace {

constexpr int64_t kStaggerMs = 250;  // as RFC 8305 has it
constexpr int64_t kAgainMs = 500;    // after an address could not be reached

}  // namespace

std::vector<HostPort> at_port(const HostAddresses& host, uint16_t port) {
  std::vector<HostPort> out;
  for (const HostAddress& one : host.list) out.push_back({one.ip, port});
  return out;
}

void RouteSearch::begin(std::vector<HostPort> places, int64_t timeout_ms, std::size_t first) {
  attempts_.clear();
  places_ = std::move(places);
  answer_ = Answer::none;
  for (std::size_t i = 0; i < places_.size(); ++i) attempts_.emplace_back((first + i) % places_.size());
  timeout_ = timeout_ms;
  until_ = arch::now_ms() + timeout_ms;
  next_ = 0;
  begin_next(arch::now_ms());
}

void RouteSearch::begin_next(int64_t now) {
  const auto next = std::ranges::find(attempts_, false, &Attempt::begun);
  if (next == attempts_.end()) return;
  next->begun = true;
  next->probe.begin(places_[next->place].ip, places_[next->place].port);
  next_ = now + kStaggerMs;
}

void RouteSearch::look_at(Attempt& attempt, int64_t now) {
  if (attempt.again != 0) {
    if (now < attempt.again) return;
    attempt.again = 0;
    attempt.probe.begin(places_[attempt.place].ip, places_[attempt.place].port);
  }
  attempt.answer = attempt.probe.look();
  if (attempt.answer == Answer::dead) attempt.why = "refuses connections";
  if (attempt.answer != Answer::unreached) return;
  attempt.why = fmt::format("is not reached: {}", error_text(attempt.probe.error()));
  attempt.probe.end();
  attempt.again = now + kAgainMs;
}

RouteSearch::Answer RouteSearch::look() {
  if (attempts_.empty() || answer_ != Answer::none) return answer_;
  const int64_t now = arch::now_ms();
  bool all_refuse = true;
  bool some_may_answer = false;
  for (Attempt& attempt : attempts_) {
    if (attempt.begun && attempt.answer != Answer::dead) look_at(attempt, now);
    if (attempt.answer == Answer::lives) {
      found_ = attempt.place;
      attempt.probe.end();
      return answer_ = Answer::lives;
    }
    all_refuse = all_refuse && attempt.answer == Answer::dead;
    some_may_answer = some_may_answer || (attempt.begun && attempt.why.empty());
  }
  if (all_refuse) return answer_ = Answer::dead;
  if (now >= until_) return answer_ = Answer::unreached;
  if (!some_may_answer || now >= next_) begin_next(now);
  return Answer::none;
}

bool RouteSearch::pass_over(std::string_view why) {
  for (Attempt& attempt : attempts_) {
    if (attempt.place != found_) continue;
    attempt.answer = Answer::dead;
    attempt.why = why;
  }
  answer_ = Answer::none;
  return std::ranges::any_of(attempts_, [](const Attempt& one) { return one.answer != Answer::dead; });
}

bool RouteSearch::refuses(std::size_t place) const {
  const auto is_it = [place](const Attempt& one) {
    return one.place == place && one.answer == Answer::dead;
  };
  return std::ranges::any_of(attempts_, is_it);
}

std::string RouteSearch::verdict(const Attempt& attempt) const {
  const HostPort& place = places_[attempt.place];
  if (!attempt.why.empty()) return fmt::format("{} {}", place_text(place.ip, place.port), attempt.why);
  return fmt::format("{} has not answered for {} s", place_text(place.ip, place.port),
                     static_cast<double>(timeout_) / 1000);
}

std::string RouteSearch::verdicts() const {
  std::string out;
  for (const Attempt& attempt : attempts_) {
    if (attempt.begun) out += (out.empty() ? "" : ", ") + verdict(attempt);
  }
  return out;
}

std::string never_connected(const RouteSearch& search, RouteSearch::Answer answer,
                            std::string_view hint) {
  return fmt::format(
      "{}: {}; {}", search.verdicts(),
      answer == RouteSearch::Answer::dead
          ? "a firewall is between, or its process has ended"
          : "a firewall is between, or no network; OMPL_CONNECT_TIMEOUT is how long to try",
      hint);
}

void PeerProbe::begin(const HostAddresses& host, uint16_t port, int64_t timeout_ms) {
  near_ = own_network_ != 0 && own_network_ == host.network;
  if (port == 0 || host.list.empty()) return search_.end();
  search_.begin(at_port(host, port), timeout_ms, route_);
}

PeerProbe::Answer PeerProbe::look() {
  const Answer answer = search_.look();
  if (answer == Answer::lives) {
    known_ = true;
    route_ = search_.found();
  }
  if (known_ && search_.refuses(route_)) return Answer::dead;
  return answer == Answer::dead && !known_ && !near_ ? Answer::refused : answer;
}

}  // namespace ompl::conduit
