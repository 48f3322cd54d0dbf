// SPDX-License-Identifier: BSD-3-Clause
// Joining and leaving the job. First the ranks that share memory find each other; only if some rank cannot map
// some other is a network conduit opened, so that a job of one node never loads a network stack.
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <new>
#include <utility>

#include "arch/machine.hpp"
#include "core/job/runtime.hpp"
#include "core/network/network.hpp"
#include "util/status.hpp"

namespace ompl {
namespace {

constexpr uint32_t kMaxSlots = 64;  // PeerChannel keeps a bit for each

uint64_t random_number() {
  uint64_t number = 0;
  while (number == 0) {
    if (::getrandom(&number, sizeof number, 0) != sizeof number) number = 0;
  }
  return number;
}

// The names of a comma-separated list, in order.
std::vector<std::string> names_of(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (comma > 0) names.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return names;
}

}  // namespace

Runtime::Runtime(const Settings& settings, std::unique_ptr<bootstrap::Bootstrap> bootstrap)
    : settings_(settings),
      bootstrap_(std::move(bootstrap)),
      rank_(bootstrap_->rank()),
      size_(bootstrap_->size()),
      allocator_(kFirstOffset, settings.segment_size),
      bases_(size_, nullptr),
      peers_(std::make_unique<Peer[]>(size_)),
      pools_(size_) {}

Runtime::~Runtime() {
  leave();
  for (Context* c = contexts_.load(); c != nullptr;) delete std::exchange(c, c->next);
}

int Runtime::create(const Settings& settings, std::unique_ptr<bootstrap::Bootstrap> bootstrap,
                    std::span<const conduit::Entry> conduits, std::unique_ptr<Runtime>* out) {
  std::vector<std::unique_ptr<conduit::Conduit>> chosen;
  for (const std::string& name : names_of(settings.conduits)) {
    const auto entry = std::ranges::find(conduits, name, &conduit::Entry::name);
    if (entry != conduits.end()) {
      chosen.push_back(entry->make());
    } else {
      log::info("conduit {} of OMPL_CONDUITS is not in this build", name);
    }
  }
  return create(settings, std::move(bootstrap), std::move(chosen), out);
}

int Runtime::create(const Settings& settings, std::unique_ptr<bootstrap::Bootstrap> bootstrap,
                    std::vector<std::unique_ptr<conduit::Conduit>> conduits,
                    std::unique_ptr<Runtime>* out) {
  std::unique_ptr<Runtime> runtime(new Runtime(settings, std::move(bootstrap)));
  if (const int code = runtime->start(std::move(conduits)); code != OMPL_OK) return code;
  *out = std::move(runtime);
  return OMPL_OK;
}

int Runtime::start(Conduits conduits) {
  if (const int code = prepare(); code != OMPL_OK) return code;
  Conduits direct;
  Conduits networks;
  for (auto& conduit : conduits) {
    (conduit->capabilities().direct ? direct : networks).push_back(std::move(conduit));
  }
  if (const int code = start_direct(std::move(direct)); code != OMPL_OK) return code;
  if (bases_[rank_] == nullptr) {  // whatever OMPL_CONDUITS leaves out, the own rank is always mapped
    bases_[rank_] = segment_.base();
    node_ranks_.push_back(rank_);
    peers_[rank_].conduit = "self";
  }
  for (uint32_t rank = 0; rank < std::min(size_, kNewsRanks); ++rank) {
    if (bases_[rank] != nullptr) segment_.header().mapped.add(rank);
  }
  segment_.header().needs_network.store(std::ranges::count(bases_, nullptr) > 0 ? 1 : 0);
  // Everybody's flag stands before anybody reads it: all come to the same decision.
  if (const int code = size_ > 1 ? bootstrap_->fence() : OMPL_OK; code != OMPL_OK) return code;
  agree_on_mappings();
  const bool networked = std::ranges::any_of(bases_, [](std::byte* base) {
    return base == nullptr || header_of(base).needs_network.load() != 0;
  });
  if (networked) {
    if (const int code = start_network(std::move(networks)); code != OMPL_OK) return code;
  }
  count_cores();
  last_context_ = make_context();
  segment_.header().state.store(RankState::active);
  log::info("rank {} of {} by {}: {} rank(s) and {} core(s) on this node; network: {}", rank_, size_,
            bootstrap_->name(), node_size(), node_cores_,
            network_ != nullptr ? network_->pool.conduit().name() : "none");
  for (uint32_t rank = 0; rank < size_; ++rank)
    log::debug("rank {} is reached by {} ({})", rank, peers_[rank].conduit, peers_[rank].why);
  return OMPL_OK;
}

// Two ranks reach each other by memory if each maps the other. One side may fail to, for want of address space, say.
void Runtime::agree_on_mappings() {
  for (uint32_t rank = 0; rank < std::min(size_, kNewsRanks); ++rank) {
    if (rank == rank_ || bases_[rank] == nullptr || rank_ >= kNewsRanks ||
        header_of(bases_[rank]).mapped.has(rank_))
      continue;
    Peer& peer = peers_[rank];
    peer.why = fmt::format("{}: only this rank maps the other's memory, not the other way round; ",
                           peer.conduit);
    log::info("rank {} does not map this rank's memory, and is reached over the network", rank);
    bases_[rank] = nullptr;
    std::erase(node_ranks_, rank);
  }
}

// This rank's own things: segment, pipe, what conduits may know.
int Runtime::prepare() {
  const uint64_t nonce = random_number();
  if (const int code =
          segment_.create(settings_.segment_size, rank_, nonce, settings_.huge_pages == "auto");
      code != OMPL_OK) {
    return code;
  }
  if (::pipe2(wake_pipe_, O_CLOEXEC | O_NONBLOCK) != 0) {
    return fail(OMPL_ERR_SYSTEM, "cannot make a pipe: {}", error_text(errno));
  }
  arch::affinity(segment_.header().cores);
  const std::vector<uint32_t> nodes = bootstrap_->node_map();
  job_ = {.rank = rank_,
          .size = size_,
          .host = !settings_.node_id.empty() ? "id " + settings_.node_id : arch::host_identity(),
          .secret = {},
          .settings = &settings_,
          .segment = segment_.base(),
          .capacity = segment_.capacity(),
          .segment_fd = segment_.fd(),
          .nonce = nonce,
          .wake_fd = wake_pipe_[1],
          .wake_read_fd = wake_pipe_[0],
          .slots = settings_.endpoints != 0 ? settings_.endpoints : std::min(8U, own_cores())};
  if (settings_.node_id.empty() && !nodes.empty()) job_.host += fmt::format(" node {}", nodes[rank_]);
  job_.slots = std::clamp(job_.slots, 1U, kMaxSlots);
  return OMPL_OK;
}

unsigned Runtime::own_cores() const {
  unsigned cores = 0;
  for (const uint64_t word : segment_.header().cores)
    cores += static_cast<unsigned>(std::popcount(word));
  return std::max(1U, std::min(cores, arch::core_quota()));
}

void Runtime::count_cores() {
  std::ranges::sort(node_ranks_);
  node_rank_ = static_cast<uint32_t>(std::ranges::find(node_ranks_, rank_) - node_ranks_.begin());
  unsigned cores = 0;
  for (uint32_t word = 0; word < kCoreWords; ++word) {
    uint64_t together = 0;
    for (const uint32_t rank : node_ranks_) together |= header_of(bases_[rank]).cores[word];
    cores += static_cast<unsigned>(std::popcount(together));
  }
  node_cores_ = std::max(1U, std::min(cores, arch::core_quota()));
}

Runtime::Sharing Runtime::sharing() const {
  Sharing sharing{.place = 0, .processes = 0};
  for (const uint32_t rank : node_ranks_) {
    bool shares = rank == rank_;
    for (uint32_t word = 0; word < kCoreWords; ++word)
      shares = shares || (header_of(bases_[rank]).cores[word] & processors()[word]) != 0;
    if (!shares) continue;
    ++sharing.processes;
    if (rank < rank_) ++sharing.place;
  }
  return sharing;
}

int Runtime::finalize(Context& context) {
  Caller caller(context);
  const int unfinished = extension_ != nullptr ? extension_->finish(context) : OMPL_OK;
  const std::string why = unfinished != OMPL_OK ? error_detail() : "";
  extend(nullptr);
  int first_error = OMPL_OK;
  try {
    first_error = quiet_all(caller.now());
  } catch (const std::bad_alloc&) {  // the others must not wait for this rank
    first_error =
        fail(OMPL_ERR_MEMORY, "ompl_finalize: no memory to complete all operations; some may be lost");
  }
  const auto note = [&first_error](int code) {
    if (first_error == OMPL_OK) first_error = code;
  };
  if (first_error == OMPL_OK || first_error == OMPL_ERR_MEMORY) {
    Agreement all;
    note(agree(caller.now(), Collective::finalize, 0, false, &all));
    if (first_error == OMPL_OK && !all.alike)
      note(fail(OMPL_ERR_STATE, "ompl_finalize: some ranks call another collective function"));
  }
  segment_.header().state.store(RankState::departed);
  if (first_error != OMPL_OK) {
    leave_word(caller.now());
  } else if (network_ != nullptr) {
    part(caller.now());
  }
  network_.reset();  // others may wait for this rank to leave the network, the launcher for them
  try {
    note(bootstrap_->finish());
  } catch (const std::bad_alloc&) {
    note(fail(OMPL_ERR_MEMORY, "ompl_finalize: no memory to tell the launcher that this rank leaves"));
  }
  leave();
  if (unfinished != OMPL_OK && first_error == OMPL_OK) return fail_quietly(unfinished, why);
  return first_error;
}

// Whoever leaves before the last barrier says so, lest others wait in it for ever.
void Runtime::leave_word(Context& context) {
  if (world_failure() == OMPL_OK) learn(false, rank_);
  if (network_ == nullptr) return;
  constexpr int64_t kLimit_ns = 200'000'000;
  const int64_t limit = now_ns() + kLimit_ns;
  while (!network_->pool.all_told() && now_ns() < limit) network_->pool.progress(context, 0);
}

// The last barrier's own signals may still need this rank's progress: it stays until each is applied, or its target
// has gone, which then had left the barrier. Not by the launcher: an MPI of this process may have ended that.
void Runtime::part(Context& context) {
  for (uint32_t rank = 0; rank < size_; ++rank) peers_[rank].departed.store(true);
  static_cast<void>(network_->completion.quiet_all(context));
}

// Without the mutex, which another thread of the parent may have held when it forked.
void Runtime::disown() {
  shut_windows();
  for (Context* c = contexts_.load(); c != nullptr; c = c->next) {
    c->ranks = 0;
    c->end_direct();
  }
  if (last_context_ != nullptr) last_context_->ranks = 0;
}

// Gives everything back but the contexts themselves, which other threads may still name.
void Runtime::leave() {
  extend(nullptr);
  {
    const std::lock_guard lock(contexts_mutex_);
    disown();
  }
  network_.reset();
  conduits_.clear();
  std::ranges::fill(bases_, nullptr);
  for (int& fd : wake_pipe_) {
    if (fd >= 0) ::close(std::exchange(fd, -1));
  }
  segment_.destroy();
}

}  // namespace ompl
