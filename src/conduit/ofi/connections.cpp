// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/ofi/connections.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>

#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::conduit::ofi {
namespace {

constexpr std::size_t kGreetingHead = offsetof(Greeting, secret);
constexpr int64_t kProbeMs = 500;

// Takes as long for every difference.
bool equal(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

const char* text(Refusal refusal) {
  return refusal == Refusal::stranger ? "refused: another job listens there"
                                      : "refused: it was broken before";
}

Refusal refusal_of(const fi_eq_err_entry& error) {
  Refusal refusal = Refusal::none;
  if (error.err == FI_ECONNREFUSED && error.err_data_size == sizeof refusal) {
    std::memcpy(&refusal, error.err_data, sizeof refusal);
  }
  return refusal;
}

bool is_request(const Link& link, const fid* endpoint) {
  return link.request && endpoint == &link.request->fid;
}

}  // namespace

int64_t now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

Connections::Connections(const Site& site, const Resources& resources, uint32_t slot)
    : site_(site), resources_(resources), slot_(slot), links_(site.job->size) {}

uint32_t Connections::target_slot(uint32_t rank) const {
  return slot_ % static_cast<uint32_t>((*site_.peers)[rank].slots.size());
}

Link& Connections::add(uint32_t rank, uint32_t slot) {
  return *owned_.emplace_back(std::make_unique<Link>(rank, slot));
}

Link& Connections::use(uint32_t rank) {
  Link* link = links_[rank].load(std::memory_order_relaxed);
  if (link == nullptr) {
    const bool reachable = !(*site_.peers)[rank].slots.empty();
    link = &add(rank, reachable ? target_slot(rank) : 0);
    links_[rank].store(link, std::memory_order_release);
    if (!reachable) fail(*link, OMPL_ERR_LINK, "it is not reached by this conduit");
  }
  if (!link->up && !link->waiting && link->failure == OMPL_OK) request(*link);
  return *link;
}

void Connections::request(Link& link) {
  const Address& peer = (*site_.peers)[link.rank];
  const sockaddr_storage listener = peer.listener(peer.slots[link.slot]);
  Greeting greeting;
  greeting.rank = site_.job->rank;
  greeting.slot = slot_;
  greeting.target_slot = link.slot;
  greeting.secret_length = static_cast<uint32_t>(site_.job->secret.size());
  site_.job->secret.copy(greeting.secret, Greeting::kMaxSecret);

  int result = 0;
  link.request = resources_.make_endpoint(site_.info, &link, &result);
  if (result == 0) {
    result =
        fi_connect(link.request.get(), &listener, &greeting, kGreetingHead + greeting.secret_length);
  }
  if (result != 0) fail(link, OMPL_ERR_LINK, site_.library->text(result));
  recount(link);
}

// A probe without an answer: the network is gone, and whether the rank lives cannot be known.
void Connections::end_probes() {
  if (probes_ == 0) return;
  const int64_t now = now_ms();
  for (const auto& link : owned_) {
    if (link->probing && now > link->probe_until) fail(*link, OMPL_ERR_LINK, link->why);
  }
}

void Connections::recount(Link& link) {
  const bool waiting = link.request || (link.endpoint && !link.up);
  if (waiting != link.waiting) waiting_ += waiting ? 1 : -1;
  link.waiting = waiting;
}

int Connections::progress() {
  // An event and the private data that follows it.
  alignas(fi_eq_cm_entry) std::array<char, sizeof(fi_eq_cm_entry) + 256> buffer;
  const auto& event = *reinterpret_cast<const fi_eq_cm_entry*>(buffer.data());
  for (int taken = 0;; ++taken) {
    uint32_t kind = 0;
    const ssize_t length = fi_eq_read(resources_.events.get(), &kind, buffer.data(), buffer.size(), 0);
    if (length == -FI_EAVAIL) {
      fi_eq_err_entry error{};
      if (fi_eq_readerr(resources_.events.get(), &error, 0) <= 0 || error.fid == nullptr) continue;
      ended(error.fid, error.err, refusal_of(error));
    } else if (length <= 0) {
      end_probes();
      return taken;
    } else if (kind == FI_CONNREQ) {
      requested(event.info,
                std::string_view(buffer.data(), static_cast<std::size_t>(length)).substr(sizeof event));
    } else if (kind == FI_CONNECTED) {
      connected(event.fid);
    } else if (kind == FI_SHUTDOWN) {
      ended(event.fid, FI_ECONNRESET, Refusal::none);
    }
  }
}

bool Connections::admit(std::string_view data, Greeting* greeting) const {
  if (data.size() < kGreetingHead) return false;
  std::copy_n(data.data(), kGreetingHead, reinterpret_cast<char*>(greeting));
  const std::string_view secret = data.substr(kGreetingHead);
  const Job& job = *site_.job;
  return greeting->magic == Greeting::kMagic && greeting->secret_length == secret.size() &&
         equal(secret, job.secret) && greeting->target_slot == slot_ && greeting->rank < job.size &&
         greeting->rank != job.rank && greeting->slot < (*site_.peers)[greeting->rank].slots.size();
}

// The link that the request is for, or null and why not.
Link* Connections::admissible(const Greeting& greeting, Refusal* refusal) {
  Link* link = nullptr;
  if (target_slot(greeting.rank) == greeting.slot) {
    link = links_[greeting.rank].load(std::memory_order_relaxed);
    if (link == nullptr) {
      link = &add(greeting.rank, greeting.slot);
      links_[greeting.rank].store(link, std::memory_order_release);
    }
  } else {
    const auto same = [&](const auto& l) {
      return l->rank == greeting.rank && l->slot == greeting.slot;
    };
    const auto found = std::find_if(owned_.begin(), owned_.end(), same);
    link = found != owned_.end() ? found->get() : &add(greeting.rank, greeting.slot);
  }
  if (link->failure != OMPL_OK || link->probing) {
    *refusal = Refusal::broken;
  } else if (link->endpoint || (link->request && site_.job->rank < link->rank)) {
    *refusal = Refusal::busy;
  }
  return *refusal == Refusal::none ? link : nullptr;
}

void Connections::requested(fi_info* request, std::string_view data) {
  const Info owner = site_.library->own(request);
  Greeting greeting;
  Refusal refusal = Refusal::none;
  Link* link = nullptr;
  if (admit(data, &greeting)) {
    link = admissible(greeting, &refusal);
  } else {
    log::warn("ofi: refused a connection from {} that does not belong to this job",
              ip_text(static_cast<const sockaddr*>(request->dest_addr)));
    refusal = Refusal::stranger;
  }
  if (link != nullptr && !accept(*link, request)) refusal = Refusal::broken;
  if (refusal == Refusal::none) return;
  fi_reject(resources_.listener.get(), request->handle, &refusal, sizeof refusal);
}

// A request of our own stays: the lower rank is about to refuse it.
bool Connections::accept(Link& link, fi_info* request) {
  int result = 0;
  link.endpoint = resources_.make_endpoint(request, &link, &result);
  if (result == 0) result = fi_accept(link.endpoint.get(), nullptr, 0);
  if (result != 0) fail(link, OMPL_ERR_LINK, site_.library->text(result));
  recount(link);
  return result == 0;
}

void Connections::connected(fid* endpoint) {
  Link& link = *static_cast<Link*>(endpoint->context);
  if (link.probing) return fail(link, OMPL_ERR_LINK, link.why);
  if (is_request(link, endpoint)) link.endpoint = std::move(link.request);
  link.up = true;
  recount(link);
  up_.fetch_add(1, std::memory_order_relaxed);
  log::debug("ofi: endpoint {} connected to endpoint {} of rank {}", slot_, link.slot, link.rank);
}

// A connection ended, or a request of ours was answered by no.
void Connections::ended(fid* endpoint, int error, Refusal refusal) {
  Link& link = *static_cast<Link*>(endpoint->context);
  if (!is_request(link, endpoint)) return lost(link, "closed by the other side, or broken");
  const bool nobody = refusal == Refusal::none && (error == FI_ECONNREFUSED || error == FI_ECONNRESET);
  if (link.probing) {
    if (nobody) link.why = "its process ended";
    fail(link, nobody ? OMPL_ERR_PEER : OMPL_ERR_LINK, link.why);
  } else if (refusal == Refusal::busy || link.endpoint) {
    link.request.reset();  // the other side's request came, or comes, in its place
    recount(link);
  } else if (nobody) {
    fail(link, OMPL_ERR_PEER, "nobody listens there: its process ended");
  } else {
    fail(link, OMPL_ERR_LINK,
         refusal != Refusal::none ? text(refusal) : site_.library->strerror(error));
  }
}

void Connections::lost(Link& link, std::string_view why) {
  if (!link.endpoint) return;
  if (link.up) up_.fetch_sub(1, std::memory_order_relaxed);
  link.up = false;
  link.endpoint.reset();
  link.request.reset();
  if (link.goodbye) return fail(link, OMPL_ERR_LINK, link.why);
  link.why = why;
  link.probing = true;
  ++probes_;
  link.probe_until = now_ms() + kProbeMs;
  request(link);
}

// It takes nothing in any more. The socket stays open, for the goodbye of this end.
void Connections::said_goodbye(uint32_t rank, uint64_t slot) {
  for (const auto& link : owned_) {
    if (link->rank != rank || link->slot != slot) continue;
    link->goodbye = true;
    link->why = "it left the job";
    link->failure.store(OMPL_ERR_LINK, std::memory_order_release);
    link->window.close();
  }
}

// Everything outstanding on the link counts as complete.
void Connections::fail(Link& link, int code, std::string_view why) {
  link.endpoint.reset();
  link.request.reset();
  if (link.probing) --probes_;
  link.probing = false;
  recount(link);
  link.why = why;
  link.failure.store(code, std::memory_order_release);
  link.window.close();
  log::info("ofi: connection of endpoint {} to endpoint {} of rank {}: {}", slot_, link.slot, link.rank,
            link.why);
}

std::string Connections::describe() const {
  return fmt::format("{} connections", up_.load(std::memory_order_relaxed));
}

}  // namespace ompl::conduit::ofi
