// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/mpi/liveness_watch.hpp"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <utility>

#include "util/bytes.hpp"
#include "util/log.hpp"
#include "util/settings.hpp"
#include "util/status.hpp"

namespace ompl::conduit::mpi {
namespace {

// In looks, of which there is one a second.
constexpr uint32_t kSilent = 2;  // until it is asked
constexpr uint32_t kAgain = 5;   // until it is asked anew, since TCP repeats itself less and less often
constexpr uint32_t kUnreached = kUnreachedMs / 1000;
constexpr uint32_t kStuck = 5;  // inside one call of MPI

constexpr uint32_t kMostAsked = 64;  // ranks at once: each takes a descriptor

}  // namespace

int LivenessWatch::open(const Job& job) {
  callers_ = std::vector<Caller>(job.slots + std::size_t{1});
  peers_ = std::vector<Peer>(job.size);
  interfaces_ = own_interfaces();
  host_ = liveness_addresses(*job.settings);
  return liveness_listener_.open(host_.ips(), &port_);
}

std::string LivenessWatch::address() const {
  return ByteWriter().add(std::string_view(host_.encode())).add(port_).bytes();
}

// A rank that shares our network is on this host; where that is not known, one with the same addresses.
bool LivenessWatch::note(uint32_t rank, std::string_view address) {
  Peer& peer = peers_[rank];
  ByteReader reader(address);
  std::string host;
  reader.get(&host);
  reader.get(&peer.port);
  if (!reader.complete() || peer.host.parse(host) != nullptr) return false;
  const bool known = host_.network != 0 && peer.host.network != 0;
  const bool here = known ? host_.is_same_network(peer.host) : host_.ips() == peer.host.ips();
  peer.probe.set_own_network(host_.network);
  peer.watched = port_ != 0 && peer.port != 0 && !here &&
                 order_for_use(interfaces_, host_.network, &peer.host) == nullptr;
  return true;
}

// The program's signals are for its own threads.
void LivenessWatch::start(std::chrono::milliseconds period) {
  if (std::ranges::none_of(peers_, &Peer::watched)) return;
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::jthread([this, period](const std::stop_token& stop) {
      std::mutex mutex;
      std::condition_variable_any stopped;
      for (std::unique_lock lock(mutex); !stop.stop_requested(); look())
        stopped.wait_for(lock, stop, period, [] { return false; });
    });
  } catch (const std::system_error& error) {
    log::warn("mpi: no thread to watch the network ({}): if it is cut this job may hang", error.what());
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

std::string LivenessWatch::why(uint32_t rank) const {
  const Peer& peer = peers_[rank];
  if (peer.lost == OMPL_ERR_PEER) return "nobody lives there: its process ended";
  return fmt::format("its host {} has answered nothing for {} s", peer.host.text(), kUnreached);
}

void LivenessWatch::look() {
  liveness_listener_.answer();
  const bool waited_for = anyone_waits();
  asking_ = std::ranges::count_if(peers_, [](const Peer& peer) { return peer.probe.asking(); });
  for (std::size_t i = 0; i < peers_.size(); ++i)
    look_at(static_cast<uint32_t>((first_ + i) % peers_.size()), waited_for);
  first_ += kMostAsked;  // turn by turn
  if (losses() != 0) end_if_stuck();
}

bool LivenessWatch::anyone_waits() {
  bool found = false;
  for (Caller& caller : callers_) {
    const bool inside = caller.rank.load() != kNobody;
    const uint32_t calls = caller.calls.load(std::memory_order_relaxed);
    const bool new_call = calls != std::exchange(caller.seen, calls);
    caller.stuck = inside && !new_call ? caller.stuck + 1 : 0;
    found = found || inside || new_call;
  }
  return found;
}

void LivenessWatch::look_at(uint32_t rank, bool waited_for) {
  Peer& peer = peers_[rank];
  if (!peer.watched || sign(rank) == Sign::unmet) return;
  if (sign(rank) == Sign::heard) {
    peer.sign.store(Sign::silent, std::memory_order_relaxed);
    peer.silent = 0;
    peer.unanswered = 0;
  } else if (waited_for) {
    ++peer.silent;
  }
  if (peer.probe.asking()) {
    listen(rank);
  } else if ((!peer.probe.known() || peer.silent >= kSilent) && asking_ < kMostAsked) {
    peer.unanswered = 0;
    peer.probe.begin(peer.host, peer.port, 2 * kUnreachedMs);
    asking_ += peer.probe.asking() ? 1 : 0;  // not if there was no descriptor
  }
}

void LivenessWatch::listen(uint32_t rank) {
  Peer& peer = peers_[rank];
  const PeerProbe::Answer answer = peer.probe.look();
  const bool answered = answer == PeerProbe::Answer::lives || answer == PeerProbe::Answer::dead ||
                        answer == PeerProbe::Answer::refused;
  if (!answered && ++peer.unanswered < kUnreached) {
    if (peer.probe.known() && peer.unanswered % kAgain == 0)
      peer.probe.begin(peer.host, peer.port, 2 * kUnreachedMs);
    return;
  }
  peer.probe.end();
  if (answer == PeerProbe::Answer::lives) {
    peer.silent = 0;
    return;
  }
  peer.watched = false;
  if (!peer.probe.known()) {
    log::info("mpi: rank {} on {} cannot be asked: nobody would notice if the network to it were cut",
              rank, peer.host.text());
    return;
  }
  peer.lost = answer == PeerProbe::Answer::dead ? OMPL_ERR_PEER : OMPL_ERR_LINK;
  losses_.fetch_add(1, std::memory_order_release);
}

// Like ompl_abort, but without MPI: what could tell it to end the job is stuck as well. Launchers end a job of which
// a process fails.
void LivenessWatch::end_if_stuck() const {
  for (const Caller& caller : callers_) {
    if (caller.stuck < kStuck) continue;
    const uint32_t wanted = caller.rank.load();
    for (uint32_t rank = 0; rank < peers_.size(); ++rank) {
      if (lost(rank) == OMPL_OK || (wanted != rank && wanted != kAnyone)) continue;
      log::error(
          "rank {} is out of reach: {}; a thread of this rank is inside MPI, which does not return, so "
          "this process ends; mend the network between the hosts and start the job again",
          rank, why(rank));
      std::_Exit(EXIT_FAILURE);
    }
  }
}

}  // namespace ompl::conduit::mpi
