// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/registry.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>

#include "conduit/verbs/endpoint.hpp"
#include "conduit/verbs/memory.hpp"
#include "util/log.hpp"
#include "util/secret.hpp"
#include "util/settings.hpp"
#include "util/status.hpp"

namespace ompl::conduit::verbs {
namespace {

constexpr uint32_t kControlledKeys = 0x7FFFFFFF;  // those above are the privileged's
constexpr std::size_t kLongest = std::size_t{1} << 30;

// As the core divides the segment by Capabilities::local_pieces, or finer.
uint64_t piece_of(std::size_t capacity) {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return ((capacity + kLocalPieces - 1) / kLocalPieces + page - 1) / page * page;
}

class VerbsConduit final : public Conduit {
 public:
  [[nodiscard]] std::string_view name() const override { return "verbs"; }
  [[nodiscard]] Capabilities capabilities() const override;
  [[nodiscard]] std::size_t connection_bytes(const Job& job) const override;
  int open(const Job& job) override;
  [[nodiscard]] std::string address() const override { return own_.encode(); }
  Reach connect(uint32_t rank, std::string_view address) override;
  int endpoint(uint32_t slot, std::unique_ptr<Endpoint>* out) override;
  int commit(uint64_t offset, std::size_t length) override;
  void release(uint64_t offset, std::size_t length) override;
  int commit_local(uint64_t offset, std::size_t length) override;
  void release_local(uint64_t offset, std::size_t length) override;
  int register_memory(const void* address, std::size_t length) override;
  void unregister_memory(const void* address, std::size_t length) override;

 private:
  int open_endpoints(const Job& job);
  void publish_local(uint64_t offset, std::size_t length, const PublishedKey& key);
  Owned<ibv_mr> pin(void* address, std::size_t length, int access, const char* what, int* code);

  Library library_;
  Device device_;
  XrcDomain xrc_domain_;
  LivenessListener liveness_listener_;
  const std::vector<NetworkInterface> interfaces_ = own_interfaces();
  Address own_;
  std::vector<Address> peers_;
  std::unique_ptr<std::array<PublishedKey, kPublishedKeys>> keys_;
  Owned<ibv_mr> keys_memory_{nullptr, nullptr};
  std::unique_ptr<PinnedRegions> segment_ = std::make_unique<PinnedRegions>();
  std::unique_ptr<PinnedRegions> local_ = std::make_unique<PinnedRegions>();
  std::vector<PublishedKey> local_keys_;  // by place in that table
  std::unique_ptr<PinnedRegions> registered_ = std::make_unique<PinnedRegions>();
  SharedState shared_;
  std::string how_;                                        // device and transport, in words
  uint32_t inline_limit_ = 0;                              // the same of all endpoints
  std::vector<std::unique_ptr<VerbsEndpoint>> endpoints_;  // until handed out
};

Capabilities VerbsConduit::capabilities() const {
  Capabilities out;
  out.passive_target = true;
  out.ordered_signals = true;
  out.ordered_puts =
      true;  // a queue pair carries writes out in order, and regions allow no relaxed ordering
  out.remote_completion = true;
  out.stalls_sender = true;
  out.max_fused_put = inline_limit_;
  out.immediate_puts = inline_limit_ != 0;
  out.max_message = std::min<std::size_t>(device_.max_message, kLongest);
  out.local_pieces = kLocalPieces;
  if (shared_.job != nullptr && shared_.job->settings->verbs_stripe != 0) {  // open
    out.segment = std::min(shared_.job->settings->verbs_segment, out.max_message);
    out.stripes = shared_.job->settings->verbs_stripe;
  }
  return out;
}

// Of XRC as if every rank had a node of its own; whether the device has what is wanted best is not known yet.
std::size_t VerbsConduit::connection_bytes(const Job& job) const {
  const Transport transport = wanted_transports(*job.settings, job.size).front();
  return transport == Transport::dc ? kLinkBytes : kConnectionBytes;
}

Owned<ibv_mr> VerbsConduit::pin(void* address, std::size_t length, int access, const char* what,
                                int* code) {
  Owned<ibv_mr> memory(library_.reg_mr(device_.domain.get(), address, length, access),
                       library_.dereg_mr);
  if (!memory) {
    *code =
        fail(OMPL_ERR_MEMORY,
             "{} cannot register {} bytes {}: {}; is the limit of locked memory too low (ulimit -l)?",
             device_.name, length, what, error_text(errno));
  }
  return memory;
}

int VerbsConduit::open(const Job& job) {
  if (job.size > 1 && job.secret.empty()) return fail(OMPL_ERR_ARG, "the job has no secret");
  int code = library_.load();
  // Before anything is registered: where the kernel does not copy registered pages for the child of a fork, the child has none.
  if (const int error = code == OMPL_OK ? library_.fork_init() : 0; error != 0) {
    log::warn(
        "verbs: ibv_fork_init: {}; a fork of this process, system() among them, may corrupt what the "
        "network writes: fork "
        "before MPI or another user of libibverbs begins, or not at all",
        error_text(error));
  }
  if (code == OMPL_OK) code = open_device(library_, *job.settings, &device_);
  if (code == OMPL_OK) own_.host = liveness_addresses(*job.settings, device_.interface);
  if (code == OMPL_OK) code = liveness_listener_.open(own_.host.ips(), &own_.liveness_port);
  if (code != OMPL_OK) return code;

  keys_ = std::make_unique<std::array<PublishedKey, kPublishedKeys>>();
  keys_memory_ = pin(keys_.get(), sizeof *keys_, IBV_ACCESS_REMOTE_READ, "of keys", &code);
  if (!keys_memory_) return code;
  std::random_device random;
  own_.qkey = random() & kControlledKeys;
  own_.challenge = unpredictable_number();
  own_.gid = device_.gid;
  own_.lid = device_.lid;
  own_.ethernet = device_.ethernet ? 1 : 0;
  own_.segment = reinterpret_cast<uint64_t>(job.segment);
  own_.keys = reinterpret_cast<uint64_t>(keys_.get());
  own_.keys_key = keys_memory_->rkey;
  peers_.resize(job.size);
  shared_ = {.library = &library_,
             .job = &job,
             .device = &device_,
             .peers = &peers_,
             .segment = segment_.get(),
             .local = local_.get(),
             .registered = registered_.get(),
             .local_piece = piece_of(job.capacity),
             .liveness = &liveness_listener_,
             .network = own_.host.network,
             .qkey = own_.qkey,
             .challenge = own_.challenge,
             .xrc_domain = &xrc_domain_};
  std::string lacking;  // what is wanted more, and why it is not there
  for (const Transport transport : wanted_transports(*job.settings, job.size)) {
    own_.transport = shared_.transport = transport;
    if (code = open_endpoints(job); code == OMPL_OK) break;
    lacking += fmt::format("; no {}: {}", name_of(transport), error_detail());
  }
  if (code != OMPL_OK) return code;
  how_ = fmt::format("{}, {}{}{}", device_.describe(), name_of(own_.transport),
                     own_.transport == Transport::rc ? "" : " (never run on hardware)", lacking);
  log::info("verbs: {}, GID {}, {} endpoints", how_, device_.gid_index, job.slots);
  return OMPL_OK;
}

int VerbsConduit::open_endpoints(const Job& job) {
  endpoints_.clear();
  own_.slots.clear();
  own_.queues.clear();
  if (own_.transport == Transport::xrc) {
    own_.node = keyed_hash(job.secret, job.host);
    const int code = xrc_domain_.open(device_, fmt::format("ompl-xrc-{:016x}", own_.node));
    if (code != OMPL_OK) return code;
  }
  for (uint32_t slot = 0; slot < job.slots; ++slot) {
    endpoints_.push_back(std::make_unique<VerbsEndpoint>(shared_, slot));
    if (const int code = endpoints_.back()->open(&own_); code != OMPL_OK) return code;
    inline_limit_ = endpoints_.back()->inline_limit();
  }
  return OMPL_OK;
}

Reach VerbsConduit::connect(uint32_t rank, std::string_view address) {
  xrc_domain_.remove_file();
  Address peer;
  const char* wrong = peer.parse(address);
  if (wrong != nullptr) return {.why = wrong};
  if (rank == shared_.job->rank) return {.why = "this rank itself"};
  if (peer.ethernet != own_.ethernet) return {.why = "one side has InfiniBand, the other RoCE"};
  if (peer.transport != own_.transport)
    return {.why = fmt::format("this rank uses {}, that one {}: set OMPL_VERBS_TRANSPORT alike for all",
                               name_of(own_.transport), name_of(peer.transport))};
  order_for_use(interfaces_, own_.host.network, &peer.host);  // without any it is not asked
  peers_[rank] = std::move(peer);
  return {.usable = true, .why = how_};
}

int VerbsConduit::endpoint(uint32_t slot, std::unique_ptr<Endpoint>* out) {
  if (slot >= endpoints_.size() || !endpoints_[slot])
    return fail(OMPL_ERR_ARG, "endpoint {} is not there to be opened", slot);
  *out = std::move(endpoints_[slot]);
  return OMPL_OK;
}

int VerbsConduit::commit(uint64_t offset, std::size_t length) {
  int code = OMPL_OK;
  Owned<ibv_mr> memory = pin(shared_.job->segment + offset, length,
                             IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
                             "of the segment", &code);
  if (!memory) return code;
  const uint32_t key = memory->rkey;
  const int place = segment_->add(offset, offset + length, std::move(memory));
  if (place == PinnedRegions::kNone)
    return fail(OMPL_ERR_MEMORY, "more than {} allocations at once cannot be registered",
                PinnedRegions::kMax);
  (*keys_)[static_cast<std::size_t>(place)] = {
      .begin = offset, .end = offset + length, .key = key, .valid = 1};
  return OMPL_OK;
}

void VerbsConduit::release(uint64_t offset, std::size_t /*length*/) {
  const int place = segment_->remove(offset);
  if (place != PinnedRegions::kNone) (*keys_)[static_cast<std::size_t>(place)] = {};
}

// What covers the area is used again, so that their number is bounded in a program that frees and allocates the same.
int VerbsConduit::commit_local(uint64_t offset, std::size_t length) {
  int place = local_->find(offset, length, 0);
  if (place == PinnedRegions::kNone) {
    int code = OMPL_OK;
    Owned<ibv_mr> memory =
        pin(shared_.job->segment + offset, length,
            IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
            "of local memory", &code);
    if (!memory) return code;
    const uint32_t key = memory->rkey;
    local_keys_.reserve(local_keys_.size() + 1);
    place = local_->add(offset, offset + length, std::move(memory));
    if (place == PinnedRegions::kNone)
      return fail(OMPL_ERR_MEMORY, "more than {} areas of local memory cannot be registered",
                  PinnedRegions::kMax);
    local_keys_.push_back({.begin = offset, .end = offset + length, .key = key, .valid = 1});
  }
  publish_local(offset, length, local_keys_[static_cast<std::size_t>(place)]);
  return OMPL_OK;
}

void VerbsConduit::release_local(uint64_t offset, std::size_t length) {
  publish_local(offset, length, {});
}

void VerbsConduit::publish_local(uint64_t offset, std::size_t length, const PublishedKey& key) {
  const uint64_t piece = shared_.local_piece;
  for (uint64_t at = offset / piece; at * piece < offset + length; ++at)
    (*keys_)[PinnedRegions::kMax + at] = key;
}

int VerbsConduit::register_memory(const void* address, std::size_t length) {
  int code = OMPL_OK;
  Owned<ibv_mr> memory =
      pin(const_cast<void*>(address), length, IBV_ACCESS_LOCAL_WRITE, "of the program", &code);
  if (!memory) return code;
  const auto begin = reinterpret_cast<uint64_t>(address);
  if (registered_->add(begin, begin + length, std::move(memory)) != PinnedRegions::kNone)
    return OMPL_OK;
  return fail(OMPL_ERR_MEMORY, "more than {} pieces of memory cannot be registered",
              PinnedRegions::kMax);
}

void VerbsConduit::unregister_memory(const void* address, std::size_t /*length*/) {
  registered_->remove(reinterpret_cast<uint64_t>(address));
}

}  // namespace

std::unique_ptr<Conduit> make() { return std::make_unique<VerbsConduit>(); }

}  // namespace ompl::conduit::verbs
