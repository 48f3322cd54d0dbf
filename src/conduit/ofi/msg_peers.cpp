// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/ofi/msg_peers.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "arch/clock.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::conduit::ofi {
namespace {

constexpr std::size_t kGreetingHead = offsetof(Greeting, secret);
constexpr int64_t kProbeMs = 500;

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

bool is_request(const FabricLink& link, const fid* endpoint) {
  return link.request && endpoint == &link.request->fid;
}

}  // namespace

void MsgPeers::request(FabricLink& link) {
  const Address& peer = (*shared_.peers)[link.rank];
  const sockaddr_storage listener = peer.listener(peer.slots[link.slot]);
  const Greeting greeting = greeting_for(link);
  int result = 0;
  link.request = resources_.make_endpoint(shared_.choice->info.get(), &link, &result);
  if (result == 0) {
    result =
        fi_connect(link.request.get(), &listener, &greeting, kGreetingHead + greeting.secret_length);
  }
  if (result != 0) return fail(link, OMPL_ERR_LINK, shared_.library->text(result));
  recount(link);
}

// A probe without an answer: the network is gone, and whether the rank lives cannot be known.
void MsgPeers::end_probes() {
  if (probes_ == 0) return;
  const int64_t now = arch::now_ms();
  for (const auto& link : all()) {
    if (link->probing && now > link->probe_until) fail(*link, OMPL_ERR_LINK, link->why);
  }
}

// It waits for an answer to its request, or for its connection's completion.
void MsgPeers::recount(FabricLink& link) {
  set_waiting(link, link.request || (link.connection && !link.up));
}

int MsgPeers::progress() {
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

// The link that the request is for, or null and why not.
FabricLink* MsgPeers::admissible(std::string_view data, Refusal* refusal) {
  Greeting greeting;
  std::copy_n(data.data(), std::min(data.size(), sizeof greeting), reinterpret_cast<char*>(&greeting));
  if (data.size() < kGreetingHead || data.size() != kGreetingHead + greeting.secret_length ||
      !is_admissible(greeting)) {
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

void MsgPeers::requested(fi_info* request, std::string_view data) {
  const Info owner = shared_.library->own(request);
  Refusal refusal = Refusal::none;
  FabricLink* link = admissible(data, &refusal);
  if (refusal == Refusal::stranger) {
    log::warn("ofi: refused a connection from {} that does not belong to this job",
              ip_text(static_cast<const sockaddr*>(request->dest_addr)));
  }
  if (link != nullptr && !accept(*link, request)) refusal = Refusal::broken;
  if (refusal == Refusal::none) return;
  fi_reject(resources_.listener.get(), request->handle, &refusal, sizeof refusal);
}

// A request of our own stays: the lower rank is about to refuse it.
bool MsgPeers::accept(FabricLink& link, fi_info* request) {
  int result = 0;
  link.connection = resources_.make_endpoint(request, &link, &result);
  if (result == 0) result = fi_accept(link.connection.get(), nullptr, 0);
  if (result != 0) {
    fail(link, OMPL_ERR_LINK, shared_.library->text(result));
    return false;
  }
  recount(link);
  return true;
}

void MsgPeers::connected(fid* endpoint) {
  FabricLink& link = *static_cast<FabricLink*>(endpoint->context);
  if (link.probing) return fail(link, OMPL_ERR_LINK, link.why);
  if (is_request(link, endpoint)) link.connection = std::move(link.request);
  link.endpoint = link.connection.get();
  came_up(link);
  recount(link);
}

// A connection ended, or a request of ours was answered by no.
void MsgPeers::ended(fid* endpoint, int error, Refusal refusal) {
  FabricLink& link = *static_cast<FabricLink*>(endpoint->context);
  if (!is_request(link, endpoint)) return lost(link, "closed by the other side, or broken");
  const bool nobody = refusal == Refusal::none && (error == FI_ECONNREFUSED || error == FI_ECONNRESET);
  if (link.probing) {
    if (nobody) link.why = "its process ended";
    fail(link, nobody ? OMPL_ERR_PEER : OMPL_ERR_LINK, link.why);
  } else if (refusal == Refusal::busy || link.connection) {
    link.request.reset();  // the other side's request came, or comes, in its place
    recount(link);
  } else if (nobody) {
    fail(link, OMPL_ERR_PEER, "nobody listens there: its process ended");
  } else {
    fail(link, OMPL_ERR_LINK,
         refusal != Refusal::none ? text(refusal) : shared_.library->strerror(error));
  }
}

void MsgPeers::lost(FabricLink& link, std::string_view why) {
  if (!link.connection) return;
  if (link.departed) return fail(link, OMPL_ERR_LINK, "it left the job");
  take_down(link, why);
  link.connection.reset();
  link.request.reset();
  link.probe_until = arch::now_ms() + kProbeMs;
  request(link);
}

}  // namespace ompl::conduit::ofi
