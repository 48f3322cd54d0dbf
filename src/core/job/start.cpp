// SPDX-License-Identifier: BSD-3-Clause
// Joining the job. First the ranks that share memory find each other; only if some rank cannot map some other is a network
// conduit opened, so that a job of one node never loads a network stack.
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "arch/futex.hpp"
#include "arch/machine.hpp"
#include "core/job/conduit_selection.hpp"
#include "core/job/runtime.hpp"
#include "core/network/network.hpp"
#include "util/log.hpp"
#include "util/secret.hpp"
#include "util/status.hpp"

namespace ompl {
namespace {

constexpr uint32_t kMaxSlots = 64;  // PeerChannel keeps a bit for each

uint64_t random_number() {
  uint64_t number = 0;
  while (number == 0) number = unpredictable_number();
  return number;
}

// Whoever may not use futexes tells the node, which then polls: nobody could wake it, or be woken by it.
void look_for_futexes(SegmentHeader& header) {
  const int error = arch::futex_refusal(false);
  if (error == 0) return;
  header.no_futex.store(1);
  log::warn("{}; threads that wait look every millisecond instead of sleeping until they are woken",
            call_text("futex", error));
}

// The layer and all libraries of networks sleep in epoll, and some wait for ever where it is refused.
int look_for_epoll() {
  const int set = ::epoll_create1(EPOLL_CLOEXEC);
  const int other = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  const char* refused = nullptr;
  if (set < 0 || other < 0) {
    refused = "epoll_create1";
  } else if (::epoll_ctl(set, EPOLL_CTL_ADD, other, &event) != 0) {
    refused = "epoll_ctl";
  } else if (::epoll_wait(set, &event, 1, 0) < 0 && errno != EINTR) {
    refused = "epoll_wait";
  }
  const std::string why = refused != nullptr ? call_text(refused, errno) : "";
  for (const int fd : {set, other}) {
    if (fd >= 0) ::close(fd);
  }
  if (refused == nullptr) return OMPL_OK;
  return fail(OMPL_ERR_SYSTEM, "no network can be used, and not all ranks share memory: {}", why);
}

// What conduits may know of the job, but for its secret.
conduit::Job describe(const Settings& settings, const std::vector<uint32_t>& nodes,
                      const GlobalMemory& memory, const Membership& members, const Sleepers& sleepers) {
  const uint32_t slots =
      settings.endpoints != 0 ? settings.endpoints : std::min(8U, members.own_cores());
  conduit::Job job{.rank = members.rank(),
                   .size = members.size(),
                   .host = !settings.node_id.empty() ? "id " + settings.node_id : arch::host_identity(),
                   .secret = {},
                   .settings = &settings,
                   .segment = memory.segment().base(),
                   .capacity = memory.segment().capacity(),
                   .segment_fd = memory.segment().fd(),
                   .nonce = memory.header().nonce,
                   .wake_fd = sleepers.pipe_writer(),
                   .wake_read_fd = sleepers.pipe_reader(),
                   .slots = std::clamp(slots, 1U, kMaxSlots)};
  if (settings.node_id.empty() && !nodes.empty()) job.host += fmt::format(" node {}", nodes[job.rank]);
  return job;
}

// Two ranks reach each other by memory if each maps the other. One side may fail to, for want of address space, say.
int agree_on_mappings(bootstrap::Bootstrap& bootstrap, GlobalMemory& memory, Membership& members) {
  const uint32_t me = members.rank();
  const uint32_t told = std::min(members.size(), kNewsRanks);
  const std::vector<std::byte*>& bases = memory.bases();
  for (uint32_t rank = 0; rank < told; ++rank) {
    if (bases[rank] != nullptr) memory.header().mapped.add(rank);
  }
  memory.header().needs_network.store(std::ranges::count(bases, nullptr) > 0 ? 1 : 0);
  // Everybody's flag stands before anybody reads it: all come to the same decision.
  if (const int code = members.size() > 1 ? bootstrap.fence() : OMPL_OK; code != OMPL_OK) return code;
  for (uint32_t rank = 0; rank < told && me < kNewsRanks; ++rank) {
    if (rank == me || bases[rank] == nullptr || memory.header(rank).mapped.has(me)) continue;
    Peer& peer = members.peer(rank);
    peer.why = fmt::format("{}: only this rank maps the other's memory, not the other way round; ",
                           peer.conduit);
    log::info("rank {} does not map this rank's memory, and is reached over the network", rank);
    memory.map(rank, nullptr);
  }
  return OMPL_OK;
}

}  // namespace

int Runtime::start(Conduits conduits) {
  const bool huge_pages = settings.huge_pages == "auto";
  if (const int code = memory.create(rank(), random_number(), huge_pages); code != OMPL_OK) return code;
  if (const int code = sleepers.open_pipe(); code != OMPL_OK) return code;
  arch::affinity(memory.header().cores);
  look_for_futexes(memory.header());
  job_ = describe(settings, bootstrap->node_map(), memory, members, sleepers);

  Conduits direct;
  Conduits networks;
  for (auto& conduit : conduits)
    (conduit->capabilities().direct ? direct : networks).push_back(std::move(conduit));
  ConduitSelection selection(settings, *bootstrap, job_, memory, members);
  if (const int code = selection.map_ranks(std::move(direct)); code != OMPL_OK) return code;
  if (const int code = agree_on_mappings(*bootstrap, memory, members); code != OMPL_OK) return code;
  members.settle_node();
  const uint32_t first = members.first_of_node();
  memory.share_node(
      {.ranks = members.node_size(),
       .lock_fd = first == rank() ? memory.segment().fd() : members.peer(first).segment_fd});
  if (std::ranges::any_of(memory.bases(), [](std::byte* base) {
        return base != nullptr && header_of(base).no_futex.load() != 0;
      }))
    arch::poll_futexes();
  const bool networked = std::ranges::any_of(memory.bases(), [](std::byte* base) {
    return base == nullptr || header_of(base).needs_network.load() != 0;
  });
  if (networked) {
    if (const int code = look_for_epoll(); code != OMPL_OK) return code;
    std::unique_ptr<conduit::Conduit> chosen;
    int code = selection.choose_network(std::move(networks), &chosen);
    if (code == OMPL_OK && chosen != nullptr) code = open_network(std::move(chosen), selection.pools());
    if (code != OMPL_OK) return code;
  }
  contexts.make_last();
  memory.header().state.store(RankState::active);
  log::info("rank {} of {} by {}: {} rank(s) and {} core(s) on this node; network: {}", rank(), size(),
            bootstrap->name(), members.node_size(), members.node_cores(),
            network != nullptr ? network->pool.conduit().name() : "none");
  for (uint32_t other = 0; other < size(); ++other)
    log::debug("rank {} is reached by {} ({})", other, members.peer(other).conduit,
               members.peer(other).why);
  return progress.begin_by(settings.progress);
}

int Runtime::open_network(std::unique_ptr<conduit::Conduit> conduit, const std::vector<Pool>& pools) {
  network =
      std::make_unique<Network>(memory, members, sleepers, failures, contexts, *conduit, job_.slots);
  memory.keep(std::move(conduit));
  failures.watch(&network->pool, &contexts);
  return network->pool.open(pools);
}

void Runtime::close_network() {
  failures.watch(nullptr, nullptr);
  network.reset();
}

}  // namespace ompl
