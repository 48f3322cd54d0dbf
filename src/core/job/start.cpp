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

// Equal on ranks that may share memory.
std::string host_of(const Settings& settings, const std::vector<uint32_t>& nodes, uint32_t rank) {
  if (!settings.node_id.empty()) return "id " + settings.node_id;
  return arch::host_identity() + (nodes.empty() ? "" : fmt::format(" node {}", nodes[rank]));
}

// What conduits may know of the job, but for its secret.
conduit::Job describe(const Settings& settings, std::string host, const GlobalMemory& memory,
                      const Membership& members, const Sleepers& sleepers) {
  const uint32_t slots =
      settings.endpoints != 0 ? settings.endpoints : std::min(8U, members.own_cores());
  const Segment& segment = memory.segment();
  return {.rank = members.rank(),
          .size = members.size(),
          .host = std::move(host),
          .secret = {},
          .settings = &settings,
          .segment = segment.base(),
          .capacity = segment.capacity(),
          .segment_fd = segment.fd(),
          .segment_offset = segment.file_offset(),
          .file_length = segment.file_length(),
          .file_first = segment.first_of_file(),
          .nonce = memory.header().nonce,
          .wake_fd = sleepers.pipe_writer(),
          .wake_read_fd = sleepers.pipe_reader(),
          .slots = std::clamp(slots, 1U, kMaxSlots)};
}

// Tells the others how this rank stands with them: in the own header, and in the node's table for all that are there.
void publish_mappings(GlobalMemory& memory, const Membership& members) {
  const std::vector<std::byte*>& bases = memory.bases();
  SegmentHeader& header = memory.header();
  bool partial = false;
  for (uint32_t rank = 0; rank < members.size(); ++rank) {
    if (bases[rank] != nullptr) {
      if (rank < kNewsRanks) header.mapped.add(rank);
    } else {
      header.needs_network.store(1);
      partial = partial || memory.node().has(rank);
    }
  }
  NodeTotals* const totals = memory.node().totals();
  if (totals == nullptr) return;
  if (header.needs_network.load() != 0) totals->needs_network.fetch_add(1);
  if (header.no_futex.load() != 0) totals->no_futex.fetch_add(1);
  if (partial) totals->partial.fetch_add(1);
}

// Whether this is so of a rank that is mapped, or of one in the node's table. After the fence behind publish_mappings().
bool any_of_node(const GlobalMemory& memory, std::atomic<uint32_t> SegmentHeader::*word,
                 std::atomic<uint32_t> NodeTotals::*total) {
  const NodeTotals* const totals = memory.node().totals();
  if (totals != nullptr && (totals->*total).load() != 0) return true;
  const std::vector<std::byte*>& bases = memory.bases();
  for (uint32_t rank = 0; rank < bases.size(); ++rank) {
    if (bases[rank] != nullptr && !memory.node().has(rank) && (memory.header(rank).*word).load() != 0)
      return true;
  }
  return false;
}

// Two ranks reach each other by memory if each maps the other. One side may fail to, for want of address space, say.
int agree_on_mappings(bootstrap::Bootstrap& bootstrap, GlobalMemory& memory, Membership& members) {
  const uint32_t me = members.rank();
  const uint32_t told = std::min(members.size(), kNewsRanks);
  const std::vector<std::byte*>& bases = memory.bases();
  publish_mappings(memory, members);
  // Everybody's flag stands before anybody reads it: all come to the same decision.
  if (const int code = members.size() > 1 ? bootstrap.fence() : OMPL_OK; code != OMPL_OK) return code;
  const NodeTotals* const totals = memory.node().totals();
  const bool all_of_table = totals != nullptr && totals->partial.load() == 0;
  for (uint32_t rank = 0; rank < told && me < kNewsRanks; ++rank) {
    if (rank == me || bases[rank] == nullptr) continue;
    if ((all_of_table && memory.node().has(rank)) || memory.header(rank).mapped.has(me)) continue;
    Peer& peer = members.peer(rank);
    peer.why = members.keep(fmt::format(
        "{}: only this rank maps the other's memory, not the other way round; ", peer.conduit));
    log::info("rank {} does not map this rank's memory, and is reached over the network", rank);
    memory.map(rank, nullptr);
  }
  return OMPL_OK;
}

}  // namespace

int Runtime::start(Conduits conduits) {
  const std::vector<uint32_t> nodes = bootstrap->node_map();
  std::string host = host_of(settings, nodes, rank());
  Conduits direct;
  Conduits networks;
  for (auto& conduit : conduits)
    (conduit->capabilities().direct ? direct : networks).push_back(std::move(conduit));
  if (size() > 1 && bootstrap->of_processes()) {
    const bool wanted = std::ranges::any_of(
        direct, [](const auto& conduit) { return conduit->capabilities().maps_files; });
    const int code = memory.node().join(*bootstrap, host, settings.segment_size, wanted);
    if (code != OMPL_OK) return code;
  }
  const bool huge_pages = settings.huge_pages == "auto";
  if (const int code = memory.create(rank(), random_number(), huge_pages); code != OMPL_OK) return code;
  if (const int code = sleepers.open_pipe(); code != OMPL_OK) return code;
  arch::affinity(memory.header().cores);
  look_for_futexes(memory.header());
  job_ = describe(settings, std::move(host), memory, members, sleepers);

  ConduitSelection selection(settings, *bootstrap, job_, memory, members);
  if (const int code = selection.map_ranks(std::move(direct)); code != OMPL_OK) return code;
  if (const int code = agree_on_mappings(*bootstrap, memory, members); code != OMPL_OK) return code;
  memory.node().settle();
  members.settle_node();
  const uint32_t first = members.first_of_node();
  memory.share_node(
      {.ranks = members.node_size(),
       .lock_fd = first == rank() ? memory.segment().fd() : members.peer(first).segment_fd});
  if (any_of_node(memory, &SegmentHeader::no_futex, &NodeTotals::no_futex)) arch::poll_futexes();
  if (memory.header().needs_network.load() != 0 || std::ranges::count(memory.bases(), nullptr) > 0 ||
      any_of_node(memory, &SegmentHeader::needs_network, &NodeTotals::needs_network)) {
    selection.open_wake_descriptors();
    if (const int code = look_for_epoll(); code != OMPL_OK) return code;
    std::unique_ptr<conduit::Conduit> chosen;
    int code = selection.choose_network(std::move(networks), &chosen);
    if (code == OMPL_OK && chosen != nullptr) code = open_network(std::move(chosen), selection.pools());
    if (code == OMPL_OK && network != nullptr) code = remote_calls.open_early();
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
