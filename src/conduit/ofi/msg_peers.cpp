// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/ofi/msg_peers.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "arch/clock.hpp"
#include "conduit/common/ip_address.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::conduit::ofi {
namespace {

constexpr int64_t kProbeMs = 500;
constexpr int64_t kConnectionsEveryMs = 500;
constexpr unsigned kMostAtOnce = 64;  // connections accepted, where more wait
// A request that ended without an answer is made again, after pauses that grow, for OMPL_CONNECT_TIMEOUT.
constexpr int64_t kFirstPauseMs = 5;
constexpr int64_t kLastPauseMs = 500;
constexpr int64_t kCheckEveryMs = 5'000;  // a request that nobody answers
constexpr const char* kForeign =
    "another job's process answers at its address, so its own ended or the address leads elsewhere";

// A structure of the wire, if these are the bytes of one.
template <class Structure>
std::optional<Structure> read(const void* bytes, std::size_t length) {
  Structure out;
  if (length != sizeof out) return std::nullopt;
  std::memcpy(&out, bytes, sizeof out);
  return out;
}

// By an error of fi_getpeer().
bool has_no_socket(int error) { return error == -EBADF || error == -ENOTSOCK; }

bool is_request(const FabricLink& link, const fid* endpoint) {
  return link.request && endpoint == &link.request->fid;
}

}  // namespace

// --- Requests ------------------------------------------------------------------------------------------

void MsgPeers::request(FabricLink& link) {
  link.pause = kFirstPauseMs;
  link.ask_until = link.probing ? link.probe_until : 0;
  make_request(link);
}

void MsgPeers::make_request(FabricLink& link) {
  link.ask_again = 0;
  if (!link.routed) return seek(link);
  link.routed = false;
  const HostPort place = place_of(link);
  const SocketAddress listener =
      shared_.mapped ? v6_socket_address(place.ip, place.port) : socket_address(place.ip, place.port);
  link.asked = greeting_for(link);
  link.asked.challenge = unpredictable_number();
  if (link.probing) {
    link.asked.kind = GreetingKind::probe;
  } else {
    sign(link, &link.asked);
  }
  int result = 0;
  link.request = resources_.make_endpoint(shared_.choice->info.get(), &link, &result);
  if (result == 0) result = fi_connect(link.request.get(), &listener, &link.asked, sizeof link.asked);
  if (result != 0 && !is_put_off(link)) return fail(link, OMPL_ERR_LINK, shared_.library->text(result));
  link.check_at = arch::now_ms() + kCheckEveryMs;
  recount(link);
}

HostPort MsgPeers::place_of(const FabricLink& link) const {
  const Address& peer = (*shared_.peers)[link.rank];
  return {peer.host.list.at(link.route).ip, peer.slots[link.slot].port};
}

std::string MsgPeers::place_text_of(const FabricLink& link) const {
  const HostPort place = place_of(link);
  return place_text(place.ip, place.port);
}

void MsgPeers::seek(FabricLink& link) {
  const Address& peer = (*shared_.peers)[link.rank];
  const int64_t left = link.ask_until == 0 ? shared_.connect_timeout_ms
                                           : std::max(link.ask_until - arch::now_ms(), kFirstPauseMs);
  link.search = std::make_unique<RouteSearch>();
  if (link.probing && link.reached) {
    link.search->begin({place_of(link)}, left);
  } else {
    link.search->begin(at_port(peer.host, peer.slots[link.slot].port), left, link.route);
  }
  link.seeking = true;
  recount(link);
}

// A request without an answer: the other side may be outside the layer, or cut off since its address was found.
void MsgPeers::check(FabricLink& link) {
  auto search = std::make_unique<RouteSearch>();
  search->begin({place_of(link)}, shared_.connect_timeout_ms);
  link.search = std::move(search);
  link.seeking = true;
}

void MsgPeers::look_for_route(FabricLink& link) {
  const RouteSearch::Answer answer = link.search->look();
  if (answer == RouteSearch::Answer::none) return;
  link.seeking = false;
  if (link.request) return look_at_check(link, answer);
  if (answer != RouteSearch::Answer::lives) return find_no_route(link, answer);
  learn_route(link, link.search->place().ip);
  link.routed = true;
  log::debug("ofi: rank {} is reached at {}", link.rank, place_text_of(link));
  make_request(link);
}

void MsgPeers::look_at_check(FabricLink& link, RouteSearch::Answer answer) {
  link.check_at = arch::now_ms() + kCheckEveryMs;
  if (answer != RouteSearch::Answer::lives) find_no_route(link, answer);
}

// None of its addresses takes a connection. A rank listens from before others know its address until it ends. But what rejects
// a first connection may be a firewall.
void MsgPeers::find_no_route(FabricLink& link, RouteSearch::Answer answer) {
  const bool near = shared_.network != 0 && shared_.network == (*shared_.peers)[link.rank].host.network;
  if (answer == RouteSearch::Answer::dead && (link.probing || link.reached || near))
    return fail(link, OMPL_ERR_PEER, in_words([&link] {
                  return fmt::format("its process ended ({})", link.search->verdicts());
                }));
  fail(link, OMPL_ERR_LINK,
       in_words([&] { return link.probing ? link.why : never_connected(*link.search, answer); }));
}

// The request came to nothing, which proves nothing: another one is made later. False: that has been tried for long enough.
bool MsgPeers::is_put_off(FabricLink& link) {
  const int64_t now = arch::now_ms();
  if (link.ask_until == 0) link.ask_until = now + shared_.connect_timeout_ms;
  if (now >= link.ask_until) return false;
  link.request.reset();
  link.seeking = false;
  link.ask_again = now + link.pause;
  link.pause = std::min(2 * link.pause, kLastPauseMs);
  return true;
}

// One step of a link, at the end of which nobody waits for what will never come: without memory for it the request that it was about is
// made again later.
template <class Step>
void MsgPeers::step(FabricLink& link, Step take) noexcept {
  try {
    take();
  } catch (const std::bad_alloc&) {
    if (link.failure != OMPL_OK) return;
    if (link.up || link.connection || !is_put_off(link)) {
      fail(link, OMPL_ERR_LINK, kNoMemoryForText);
    } else {
      recount(link);
    }
  }
}

// A probe without an answer: the network is gone, and whether the rank lives cannot be known.
void MsgPeers::look_at_clock() {
  if (probes_ == 0 && !connecting()) return;
  const int64_t now = arch::now_ms();
  for (const auto& link : all()) {
    step(*link, [&] { look_at_clock_of(*link, now); });
    if (link->probing && now > link->probe_until) fail(*link, OMPL_ERR_LINK, link->why);
  }
}

void MsgPeers::look_at_clock_of(FabricLink& link, int64_t now) {
  if (link.seeking) look_for_route(link);
  if (link.request && !link.connection && !link.probing && !link.seeking && now >= link.check_at)
    check(link);
  if (link.ask_again != 0 && now >= link.ask_again) make_request(link);
}

// A connection whose descriptor the program has closed never tells: libfabric's set of descriptors just forgets it.
void MsgPeers::look_at_connections() {
  const int64_t now = arch::now_ms();
  if (now - connections_looked_at_ < kConnectionsEveryMs) return;
  connections_looked_at_ = now;
  for (const auto& link : all()) {
    sockaddr_storage peer{};
    std::size_t length = sizeof peer;
    if (link->up && link->connection && !link->departed &&
        has_no_socket(fi_getpeer(link->connection.get(), &peer, &length)))
      lost(*link, "its descriptor was closed by this process");
  }
}

// Whether that is the other side of a connection that was accepted; true too where the provider does not tell.
bool MsgPeers::is_of_a_link(const sockaddr_storage& peer) const {
  for (const auto& link : all()) {
    sockaddr_storage theirs{};
    std::size_t length = sizeof theirs;
    if (link->connection &&
        (fi_getpeer(link->connection.get(), &theirs, &length) != 0 || is_same_address(peer, theirs)))
      return true;
  }
  return false;
}

// It waits for an answer to its request, or for its connection's completion.
void MsgPeers::recount(FabricLink& link) {
  set_waiting(link,
              link.request || link.seeking || link.ask_again != 0 || (link.connection && !link.up));
}

// --- Events --------------------------------------------------------------------------------------------

// Each reading of events lets the provider accept one connection, or a few.
int MsgPeers::progress() {
  int taken = take_events();
  look_at_clock();
  look_at_connections();
  const unsigned waiting =
      door_.look(arch::now_ms(), [this](const sockaddr_storage& peer) { return is_of_a_link(peer); });
  for (unsigned i = 0; i < std::min(waiting, kMostAtOnce); ++i) taken += take_events();
  return taken;
}

int MsgPeers::take_events() {
  // An event and the private data that follows it.
  alignas(fi_eq_cm_entry) std::array<char, sizeof(fi_eq_cm_entry) + 256> buffer;
  const auto& event = *reinterpret_cast<const fi_eq_cm_entry*>(buffer.data());
  for (int taken = 0;; ++taken) {
    uint32_t kind = 0;
    const ssize_t length = fi_eq_read(resources_.events.get(), &kind, buffer.data(), buffer.size(), 0);
    if (length == -FI_EAVAIL) {
      fi_eq_err_entry error{};
      if (fi_eq_readerr(resources_.events.get(), &error, 0) <= 0 || error.fid == nullptr) continue;
      const auto answer = read<Answer>(error.err_data, error.err_data_size);
      step(*static_cast<FabricLink*>(error.fid->context), [&] {
        ended(error.fid, error.err, error.err == FI_ECONNREFUSED && answer ? &*answer : nullptr);
      });
      continue;
    }
    if (length <= 0) return taken;
    const auto data =
        std::string_view(buffer.data(), static_cast<std::size_t>(length)).substr(sizeof event);
    if (kind == FI_CONNREQ) {
      requested(event.info, data);
    } else if (kind == FI_CONNECTED) {
      step(*static_cast<FabricLink*>(event.fid->context), [&] { connected(event.fid, data); });
    } else if (kind == FI_SHUTDOWN) {
      step(*static_cast<FabricLink*>(event.fid->context),
           [&] { ended(event.fid, FI_ECONNRESET, nullptr); });
    }
  }
}

// The link that the request is for, or null and why not.
FabricLink* MsgPeers::admissible(const Greeting& greeting, Refusal* refusal) {
  if (greeting.kind != GreetingKind::connection || !is_admissible(greeting)) {
    *refusal = Refusal::stranger;
    return nullptr;
  }
  FabricLink& link = link_of(greeting);
  if (link.failure != OMPL_OK || link.probing) {
    *refusal = Refusal::broken;
  } else if (link.connection || (link.request && shared_.job->rank < link.rank)) {
    *refusal = Refusal::busy;
  }
  return *refusal == Refusal::none ? &link : nullptr;
}

// Without memory to find out who it is from, it is refused without an answer: whoever is of the job makes it again.
void MsgPeers::requested(fi_info* request, std::string_view data) noexcept {
  const Info owner = shared_.library->own(request);
  try {
    answer(request, data);
  } catch (const std::bad_alloc&) {
    fi_reject(resources_.listener.get(), request->handle, nullptr, 0);
  }
}

void MsgPeers::answer(fi_info* request, std::string_view data) {
  const Greeting greeting = read<Greeting>(data.data(), data.size()).value_or(Greeting{.magic = 0});
  if (greeting.kind == GreetingKind::probe && is_for_us(greeting))
    return answer_no(request, greeting, Refusal::broken);
  Refusal refusal = Refusal::none;
  FabricLink* link = admissible(greeting, &refusal);
  if (refusal == Refusal::stranger) {
    warn_of_stranger([&](uint64_t times) {
      log::warn("ofi: refused a connection from {} that does not belong to this job ({} times so far)",
                ip_text(ip_of(static_cast<const sockaddr*>(request->dest_addr))), times);
    });
  }
  if (link != nullptr && !accept(*link, request, greeting)) {
    fi_reject(resources_.listener.get(), request->handle, nullptr, 0);
  } else if (refusal != Refusal::none) {
    answer_no(request, greeting, refusal);
  }
}

// To who does not know the secret nothing is proven.
void MsgPeers::answer_no(fi_info* request, const Greeting& greeting, Refusal refusal) {
  Answer answer{.refusal = refusal};
  const Job& job = *shared_.job;
  if (refusal != Refusal::stranger)
    answer.proof = answer.proof_of(job.rank, slot_, greeting, job.secret);
  fi_reject(resources_.listener.get(), request->handle, &answer, sizeof answer);
}

// A request of our own stays: the lower rank is about to refuse it. False: libfabric has no connection to give now, and the
// link is as before.
bool MsgPeers::accept(FabricLink& link, fi_info* request, const Greeting& greeting) {
  Answer answer;
  answer.proof = answer.proof_of(shared_.job->rank, slot_, greeting, shared_.job->secret);
  int result = 0;
  link.connection = resources_.make_endpoint(request, &link, &result);
  if (result == 0) result = fi_accept(link.connection.get(), &answer, sizeof answer);
  if (result != 0) {
    log::info("ofi: no connection with rank {} yet: {}", link.rank, shared_.library->text(result));
    link.connection.reset();
    return false;
  }
  link.ask_again = 0;
  link.seeking = false;
  learn_route(link, static_cast<const sockaddr*>(request->dest_addr));
  recount(link);
  return true;
}

// A connection with that address of the other side's host has been made, by either.
void MsgPeers::learn_route(FabricLink& link, const std::string& ip) const {
  const auto& list = (*shared_.peers)[link.rank].host.list;
  const auto found = std::ranges::find(list, ip, &HostAddress::ip);
  if (found == list.end()) return;
  link.route = static_cast<std::size_t>(found - list.begin());
  link.reached = true;
}

// The same, if there is memory for it.
void MsgPeers::learn_route(FabricLink& link, const sockaddr* place) const noexcept {
  try {
    learn_route(link, ip_of(place));
  } catch (const std::bad_alloc&) {
  }
}

// Whether the other side of the link says so, about the request that is under way.
bool MsgPeers::is_proven(const FabricLink& link, const Answer& answer) const {
  return answer.magic == Greeting::kMagic &&
         same_proof(answer.proof,
                    answer.proof_of(link.rank, link.slot, link.asked, shared_.job->secret));
}

void MsgPeers::connected(fid* endpoint, std::string_view data) {
  FabricLink& link = *static_cast<FabricLink*>(endpoint->context);
  if (is_request(link, endpoint)) {
    const auto answer = read<Answer>(data.data(), data.size());
    if (!answer || answer->refusal != Refusal::none || !is_proven(link, *answer)) {
      if (link.connection) {  // the other side's request came in its place
        link.request.reset();
        return recount(link);
      }
      return refused(link, {.refusal = Refusal::stranger});
    }
    if (link.probing) return fail(link, OMPL_ERR_LINK, link.why);
    link.connection = std::move(link.request);
  } else if (link.probing) {
    return fail(link, OMPL_ERR_LINK, link.why);
  }
  link.endpoint = link.connection.get();
  came_up(link);
  recount(link);
}

// A connection ended, or a request of ours was answered by no.
void MsgPeers::ended(fid* endpoint, int error, const Answer* answer) {
  FabricLink& link = *static_cast<FabricLink*>(endpoint->context);
  if (!is_request(link, endpoint)) return lost(link, "closed by the other side, or broken");
  if (!link.probing && link.connection) {  // the other side's request came in its place
    link.request.reset();
    recount(link);
  } else if (answer != nullptr) {
    refused(link, is_proven(link, *answer) ? *answer : Answer{.refusal = Refusal::stranger});
  } else if (is_put_off(link)) {
    recount(link);
  } else {
    fail(link, OMPL_ERR_LINK, in_words([&] {
           return link.probing ? link.why
                               : fmt::format("{}: {}; {}", place_text_of(link),
                                             shared_.library->strerror(error), kInterfaceHint);
         }));
  }
}

// By an answer that is proven; Refusal::stranger: that is not.
void MsgPeers::refused(FabricLink& link, const Answer& answer) {
  if (answer.refusal == Refusal::stranger && !link.probing && link.search &&
      link.search->pass_over("answers for another job")) {
    link.request.reset();
    link.seeking = true;
    link.reached = false;
    recount(link);
  } else if (answer.refusal == Refusal::stranger) {
    fail(link, link.probing ? OMPL_ERR_PEER : OMPL_ERR_LINK, kForeign);
  } else if (link.probing) {
    fail(link, OMPL_ERR_LINK, link.why);
  } else if (answer.refusal == Refusal::busy) {
    link.request.reset();  // the other side's request comes in its place
    recount(link);
  } else {
    fail(link, OMPL_ERR_LINK, "refused: it was broken before");
  }
}

void MsgPeers::lost(FabricLink& link, std::string_view why) {
  if (!link.connection) return;
  if (link.departed) return fail(link, OMPL_ERR_LINK, "it left the job");
  take_down(link, why);
  link.connection.reset();
  link.request.reset();
  link.seeking = false;
  link.ask_again = 0;
  link.probe_until = arch::now_ms() + kProbeMs;
  step(link, [&] { request(link); });
}

}  // namespace ompl::conduit::ofi
