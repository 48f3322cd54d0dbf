// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/ofi/rdm_peers.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "arch/clock.hpp"
#include "conduit/common/ip_address.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::conduit::ofi {
namespace {

constexpr uint64_t kLeast = 17;  // more than the head of a provider's own first message
constexpr int64_t kLookEveryMs = 100;
constexpr int64_t kProbeEveryMs = 5;  // while one is under way
constexpr int64_t kSilenceMs = 2000;  // of a link that is up, until its other side is asked;
constexpr int kMostPatience = 2;      // twice as long after each question without an answer, so often
constexpr int64_t kGreetMs = 300;     // of one that is not: then also the greeting is said again

}  // namespace

RdmPeers::RdmPeers(const SharedState& shared, const Resources& resources, uint32_t slot,
                   MessageSender& sender)
    : FabricLinks(shared, resources, slot, kLeast),
      sender_(sender),
      numbered_(shared.choice->numbered),
      over_tcp_(shared.choice->over_tcp) {}

// --- Coming up -----------------------------------------------------------------------------------------

void RdmPeers::begin(FabricLink& link) {
  if (!insert(link)) return;
  set_waiting(link, true);
  link.looked_at = arch::now_ms();
  greet_if_possible(link);
}

// The name is outside bytes, and libfabric reads on from it as far as its kind of address goes.
bool RdmPeers::insert(FabricLink& link) {
  if (link.endpoint != nullptr) return true;
  const Job& job = *shared_.job;
  link.their_cookie = Pair{job.rank, slot_, link.rank, link.slot}.cookie(
      (*shared_.peers)[link.rank].challenge, job.secret);
  link.our_cookie = Pair{link.rank, link.slot, job.rank, slot_}.cookie(shared_.challenge, job.secret);
  if (numbered_ && link.place >= Numbered::kMaxLinks) {
    fail(link, OMPL_ERR_LINK, "this endpoint has too many peers");
    return false;
  }
  std::array<char, 2 * Address::kMaxName> name{};
  (*shared_.peers)[link.rank].slots[link.slot].name.copy(name.data(), Address::kMaxName);
  if (fi_av_insert(resources_.peers.get(), name.data(), 1, &link.address, 0, nullptr) != 1) {
    fail(link, OMPL_ERR_LINK, "the provider refuses its address");
    return false;
  }
  link.endpoint = resources_.receiver.get();
  return true;
}

void RdmPeers::greet(FabricLink& link) {
  Greeting greeting = greeting_for(link);
  greeting.link = link.place;
  greeting.knows = link.known;
  sign(link, &greeting);
  link.greeted = sender_.send_message(link, &greeting, sizeof greeting);
  replies_pending_ = replies_pending_ || !link.greeted;
  if (link.greeted && link.known && !link.up && link.failure == OMPL_OK) came_up(link);
}

// Without memory it is said later.
void RdmPeers::greet_if_possible(FabricLink& link) noexcept {
  try {
    greet(link);
  } catch (const std::bad_alloc&) {
    replies_pending_ = true;
  }
}

// Without memory for it a greeting is dropped, as one that was lost on the way: its rank says it again.
void RdmPeers::greeted_by(const Greeting& greeting) noexcept {
  try {
    take_greeting(greeting);
  } catch (const std::bad_alloc&) {
  }
}

void RdmPeers::take_greeting(const Greeting& greeting) {
  if (!is_admissible(greeting)) {
    return warn_of_stranger([](uint64_t times) {
      log::warn("ofi: dropped a greeting that does not belong to this job ({} times so far)", times);
    });
  }
  FabricLink& link = link_of(greeting);
  if (link.failure != OMPL_OK || link.probing || link.spoke) return;  // overheard and said again
  if (!insert(link)) return;
  link.their_place = greeting.link;
  const bool again = link.known;
  link.known = true;
  if (!link.up) set_waiting(link, true);
  if (!link.greeted || (again && greeting.knows == 0)) {
    greet_if_possible(link);  // again: ours was lost
  } else {
    came_up(link);
  }
}

// --- What comes in -------------------------------------------------------------------------------------

Sealed RdmPeers::seal(const FabricLink& link, const Message& message) {
  return {.message = message,
          .cookie = link.their_cookie,
          .link = link.their_place,
          .number = link.sent,
          .writes = link.written};
}

bool RdmPeers::in_order(FabricLink& link, bool nothing_is_missing) {
  link.spoke = true;
  link.lively = true;
  if (nothing_is_missing || !numbered_) return true;
  give_up(link, "something that it sent was lost: the connection broke");
  return false;
}

bool RdmPeers::take_in(const void* bytes, std::size_t length, uint32_t* source, Signal* record) {
  if (length == sizeof(Greeting)) {
    Greeting greeting;
    std::memcpy(&greeting, bytes, sizeof greeting);
    greeted_by(greeting);
    return false;
  }
  Sealed sealed;
  if (length == sizeof sealed) {
    std::memcpy(&sealed, bytes, sizeof sealed);
    if (sealed.link < all().size() && sealed.cookie == all()[sealed.link]->our_cookie) {
      FabricLink& link = *all()[sealed.link];
      if (link.failure != OMPL_OK && !link.departed) {
        if (sealed.message.op != kBroken) tell(link);
        return false;
      }
      const bool all_is_there =
          sealed.number == link.heard++ && static_cast<int16_t>(link.arrived - sealed.writes) >= 0;
      return in_order(link, all_is_there) && opened(link, sealed.message, source, record);
    }
  }
  warn_of_stranger([length](uint64_t times) {
    log::warn("ofi: dropped a message of {} bytes that does not belong to this job ({} times so far)",
              length, times);
  });
  return false;
}

bool RdmPeers::opened(FabricLink& link, const Message& message, uint32_t* source, Signal* record) {
  switch (message.op) {
    case kGoodbye:
      said_goodbye(link.rank, link.slot);
      return false;
    case kPing:
      send_control(link, kPong);
      return false;
    case kPong:
      return false;
    case kBroken:
      fail(link, OMPL_ERR_LINK, "something was lost on the way there: the connection broke");
      return false;
    default:
      *source = link.rank;
      *record = from_message(message);
      return true;
  }
}

bool RdmPeers::take_in(uint64_t data, uint32_t* source, Signal* record) {
  if (!numbered_) {
    *source = immediate_source(data);
    *record = from_immediate(data);
    return *source < shared_.job->size;
  }
  const Numbered in = Numbered::from(data);
  if (in.link >= all().size()) return false;
  FabricLink& link = *all()[in.link];
  if (!link.known || link.failure != OMPL_OK || !in_order(link, in.number == link.arrived++))
    return false;
  *source = link.rank;
  *record = {.offset = uint64_t{in.flag} * 4};
  return in.flag != 0;
}

// --- Going down ----------------------------------------------------------------------------------------

void RdmPeers::lost(FabricLink& link, std::string_view why) {
  if (link.failure != OMPL_OK || link.probing) return;
  take_down(link, why);
  set_waiting(link, true);
  next_look_ = 0;
}

int RdmPeers::progress() {
  if (replies_pending_) {
    replies_pending_ = false;
    for (const auto& link : all()) {
      if (link->endpoint != nullptr && !link->greeted && link->failure == OMPL_OK)
        greet_if_possible(*link);
      if (link->untold) tell(*link);
    }
  }
  const int64_t now = arch::now_ms();
  door_.look(now);
  if (now >= next_look_) look_after(now);
  return 0;
}

bool RdmPeers::send_control(FabricLink& link, uint8_t op) {
  if (link.endpoint == nullptr || !link.known) return true;  // to nobody
  const Sealed sealed = seal(link, {.source = shared_.job->rank, .op = op});
  if (!sender_.send_message(link, &sealed, sizeof sealed)) return false;
  ++link.sent;
  return true;
}

// The link is of no use any more, but the other side lives and is to know.
void RdmPeers::give_up(FabricLink& link, std::string_view why) {
  fail(link, OMPL_ERR_LINK, why);
  tell(link);
}

void RdmPeers::tell(FabricLink& link) {
  link.untold = !send_control(link, kBroken);
  replies_pending_ = replies_pending_ || link.untold;
}

// One at a time is looked at closely, those that ended first.
void RdmPeers::look_after(int64_t now) {
  if (probed_ != nullptr) {
    const LivenessProbe::Answer answer = probe_.look();
    next_look_ = now + kProbeEveryMs;
    if (answer == LivenessProbe::Answer::none) return;
    probe_.end();
    judge(*probed_, answer);
    probed_ = nullptr;
  }
  look_at_gone();
  for (const auto& link : all()) {
    if (link->probing && examine(*link, now)) return;
  }
  for (std::size_t i = 0; i < all().size(); ++i) {
    FabricLink& link = *all()[turn_++ % all().size()];
    if (link.failure == OMPL_OK && examine(link, now)) return;
  }
  next_look_ = now + kLookEveryMs;
}

// True if a probe of it is under way.
bool RdmPeers::examine(FabricLink& link, int64_t now) {
  if (link.departed && !link.probing) {
    if (link.gone || now < link.look_for_end) return false;
    link.look_for_end = now + kPartMs;
    link.gone = !over_tcp_;
  } else if (!link.probing) {
    if (link.lively) {
      link.lively = false;
      link.unanswered = 0;
      link.looked_at = now;
    }
    if (now - link.looked_at < (link.up ? kSilenceMs << link.unanswered : kGreetMs)) return false;
    link.looked_at = now;
    if (!link.up) {
      greet_if_possible(link);
    } else {
      if (numbered_ && link.unanswered == 0) send_control(link, kPing);
      link.unanswered = std::min(link.unanswered + 1, kMostPatience);
    }
    if (link.failure != OMPL_OK) return false;
  }
  if (!over_tcp_) {
    if (link.probing) give_up(link, link.why);
    return false;
  }
  probed_ = &link;
  next_look_ = now + kProbeEveryMs;
  if (link.asked_since == 0) link.asked_since = now;
  probe_.begin((*shared_.peers)[link.rank].slots[link.slot].name);
  return true;
}

// The other side has not greeted, and this is no mere delay.
bool RdmPeers::is_out_of_patience(const FabricLink& link, LivenessProbe::Answer answer) const {
  if (answer == LivenessProbe::Answer::lives) return false;
  return answer == LivenessProbe::Answer::dead || answer == LivenessProbe::Answer::unreached ||
         arch::now_ms() - link.asked_since >= shared_.connect_timeout_ms;
}

// Why there never was a connection, with the address.
std::string RdmPeers::first_failure(const FabricLink& link, LivenessProbe::Answer answer) const {
  sockaddr_storage address{};
  (*shared_.peers)[link.rank].slots[link.slot].name.copy(reinterpret_cast<char*>(&address),
                                                         sizeof address);
  const std::string what =
      answer == LivenessProbe::Answer::dead ? "refuses connections"
      : answer == LivenessProbe::Answer::unreached
          ? fmt::format("is not reached: {}", error_text(probe_.error()))
          : fmt::format("has not answered for {} s", shared_.connect_timeout_ms / 1000);
  return fmt::format("{} {}: a firewall is between, or its process has ended; {}",
                     place_text(ip_of(reinterpret_cast<const sockaddr*>(&address)), port_of(address)),
                     what, kInterfaceHint);
}

void RdmPeers::judge(FabricLink& link, LivenessProbe::Answer answer) {
  if (link.failure != OMPL_OK) return;
  if (link.departed && !link.probing) {
    link.gone = answer != LivenessProbe::Answer::lives;
    return;
  }
  if (answer == LivenessProbe::Answer::lives) link.reached = true;
  const Address& peer = (*shared_.peers)[link.rank];
  const bool near = shared_.network != 0 && shared_.network == peer.host.network;
  if (answer == LivenessProbe::Answer::dead && (link.reached || link.known || near)) {
    fail(link, OMPL_ERR_PEER, "nobody listens there: its process ended");
  } else if (!link.known && !link.reached && is_out_of_patience(link, answer)) {
    fail(link, OMPL_ERR_LINK, in_words([&] { return first_failure(link, answer); }));
  } else if (link.probing || answer == LivenessProbe::Answer::unreached) {
    give_up(link, link.probing ? link.why : "its host cannot be reached");
  }
}

}  // namespace ompl::conduit::ofi
