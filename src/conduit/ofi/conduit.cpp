// SPDX-License-Identifier: BSD-3-Clause
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "arch/signals.hpp"
#include "conduit/common/ip_address.hpp"
#include "conduit/common/needed_calls.hpp"
#include "conduit/common/network_identity.hpp"
#include "conduit/ofi/conduit.hpp"
#include "conduit/ofi/endpoint.hpp"
#include "conduit/ofi/provider.hpp"
#include "util/log.hpp"
#include "util/settings.hpp"
#include "util/status.hpp"

namespace ompl::conduit::ofi {
namespace {

// What is pinned has to be there (FI_MR_ALLOCATED): the whole segment, so that one key serves it all.
int allocate_segment(const Job& job, const std::string& provider) {
  const auto pages = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES));
  const std::size_t memory = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (job.capacity <= memory / 2 &&
      (madvise(job.segment, job.capacity, MADV_POPULATE_WRITE) == 0 || errno == EINVAL)) {
    return OMPL_OK;
  }
  return fail(OMPL_ERR_UNSUPPORTED,
              "provider {} pins the whole segment, and {} MiB are too much of this node's {} MiB: set "
              "OMPL_SEGMENT_SIZE to what a rank allocates",
              provider, job.capacity >> 20, memory >> 20);
}

// Two names of IP, both as libfabric reads them: of one family, and as long as that has them.
bool is_like(const std::string& name, const std::string& own) {
  return name.size() == own.size() &&
         name.substr(0, sizeof(sa_family_t)) == own.substr(0, sizeof(sa_family_t));
}

class OfiConduit final : public Conduit {
 public:
  explicit OfiConduit(const Demands& demands) : demands_(demands) {}
  [[nodiscard]] std::string_view name() const override { return "ofi"; }
  [[nodiscard]] Capabilities capabilities() const override;
  int open(const Job& job) override;
  [[nodiscard]] std::string address() const override { return own_.encode(); }
  Reach connect(uint32_t rank, std::string_view address) override;
  int endpoint(uint32_t slot, std::unique_ptr<Endpoint>* out) override;
  int register_memory(const void* address, std::size_t length) override;
  void unregister_memory(const void* address, std::size_t length) override;

 private:
  void choose_addresses(const Settings& settings);
  [[nodiscard]] std::string mismatch(const Address& peer) const;

  const Demands demands_;
  Library library_;
  ProviderChoice choice_;
  Address own_;
  std::vector<NetworkInterface> interfaces_;  // of the families that connections speak here
  RegisteredRanges regions_;
  std::vector<Address> peers_;
  SharedState shared_;
  std::vector<std::unique_ptr<OfiEndpoint>> endpoints_;  // until handed out
};

// Copying so much costs less than a second message: docs/performance/hosts.md.
constexpr std::size_t kMostFused = std::size_t{64} << 10;

Capabilities OfiConduit::capabilities() const {
  Capabilities out;
  out.ordered_signals = choice_.ordered;
  out.ordered_puts = choice_.ordered;  // FI_ORDER_WAW, up to max_order_waw_size
  out.remote_completion = !choice_.ordered;
  if (choice_.ordered && choice_.immediates) out.max_fused_put = kMostFused;
  if (choice_.info) {
    const fi_ep_attr& limits = *choice_.info->ep_attr;
    out.max_message = choice_.ordered ? std::min(limits.max_msg_size, limits.max_order_waw_size)
                                      : limits.max_msg_size;
  }
  return out;
}

int OfiConduit::open(const Job& job) {
  if (job.size > 1 && job.secret.empty()) return fail(OMPL_ERR_ARG, "the job has no secret");
  const arch::KeptSignals kept;  // libpsm2, which libfabric may load, takes SIGINT, SIGTERM and more
  int result = library_.load();
  if (result == OMPL_OK) result = choose_provider(library_, *job.settings, demands_, &choice_);
  if (result == OMPL_OK && !choice_.addressed)
    result = try_calls("libfabric", {{"accept", SYS_accept}});  // else its connections wait for ever
  if (result == OMPL_OK && choice_.mr_mode(FI_MR_ALLOCATED))
    result = allocate_segment(job, choice_.name);
  if (result != OMPL_OK) return result;

  peers_.resize(job.size);
  own_.challenge = unpredictable_number();
  own_.host.network = network_identity();
  if (!choice_.addressed && speaks_ip(*choice_.info)) choose_addresses(*job.settings);
  const HostAddresses host = own_.host;
  shared_ = {.library = &library_,
             .job = &job,
             .choice = &choice_,
             .peers = &peers_,
             .challenge = own_.challenge,
             .network = host.network,
             .mapped = choice_.info->addr_format != FI_SOCKADDR_IN,
             .connect_timeout_ms = job.settings->connect_timeout_ms(),
             .regions = &regions_};
  own_.provider = choice_.name;
  own_.base = choice_.mr_mode(FI_MR_VIRT_ADDR) ? reinterpret_cast<uint64_t>(job.segment) : 0;
  const uint64_t key = unpredictable_number();  // for providers that let us choose
  for (uint32_t slot = 0; slot < job.slots; ++slot) {
    endpoints_.push_back(std::make_unique<OfiEndpoint>(shared_, slot));
    result = endpoints_.back()->open(key, &own_);
    if (result != OMPL_OK) return result;
  }
  own_.host = host;  // a listener knows its own address, if it has but one
  log::info("ofi: {}; {} endpoints", choice_.why, job.slots);
  return OMPL_OK;
}

// Listens at all of this host's addresses, or at those that the user has chosen.
void OfiConduit::choose_addresses(const Settings& settings) {
  interfaces_ = own_interfaces();
  own_.host = HostAddresses::of(choose_interfaces(interfaces_, settings.interfaces()));
  std::vector<std::string> ips = own_.host.ips();
  SocketAddress source = listening_address(ips);
  if (source.any.sa_family == AF_INET6 && std::ranges::any_of(ips, is_v4) && !is_dual_stack()) {
    const std::size_t family = ips.front().size();
    std::erase_if(own_.host.list, [&](const HostAddress& one) { return one.ip.size() != family; });
    source = listening_address(ips = own_.host.ips());
  }
  const bool v4 = source.any.sa_family == AF_INET;
  const bool v6 = !v4 && !std::ranges::any_of(ips, is_v4);
  std::erase_if(interfaces_, [&](const NetworkInterface& one) { return is_v4(one.ip) ? v6 : v4; });
  choice_.set_source(source);
}

// Why this rank and that one cannot talk; empty if they can.
std::string OfiConduit::mismatch(const Address& peer) const {
  if (peer.provider != own_.provider)
    return fmt::format("providers differ (here {}, there {})", own_.provider, peer.provider);
  if (peer.host.list.empty() != own_.host.list.empty()) return "only one side has addresses of IP";
  if (!choice_.addressed || !speaks_ip(*choice_.info)) return {};
  const bool same = std::ranges::all_of(peer.slots, [this](const Address::Slot& slot) {
    return is_like(slot.name, own_.slots.front().name);
  });
  return same ? "" : "one side uses IPv4, the other IPv6";
}

Reach OfiConduit::connect(uint32_t rank, std::string_view address) {
  Address peer;
  const char* wrong = peer.parse(address);
  if (wrong != nullptr) return {.why = wrong};
  if (rank == shared_.job->rank) return {.why = "this rank itself"};
  std::string reason = mismatch(peer);
  if (!reason.empty()) return {.why = std::move(reason)};
  if (!peer.host.list.empty()) wrong = order_for_use(interfaces_, own_.host.network, &peer.host);
  if (wrong != nullptr) return {.why = fmt::format("{}; {}", wrong, kInterfaceHint)};
  const std::string host = peer.host_text();
  peers_[rank] = std::move(peer);
  return {.usable = true, .why = fmt::format("{}{}{}", host, host.empty() ? "" : " by ", choice_.why)};
}

int OfiConduit::register_memory(const void* address, std::size_t length) {
  if (choice_.registers) regions_.add(address, length);
  return OMPL_OK;
}

void OfiConduit::unregister_memory(const void* address, std::size_t /*length*/) {
  regions_.remove(address);
}

int OfiConduit::endpoint(uint32_t slot, std::unique_ptr<Endpoint>* out) {
  if (slot >= endpoints_.size() || !endpoints_[slot])
    return fail(OMPL_ERR_ARG, "endpoint {} is not there to be opened", slot);
  *out = std::move(endpoints_[slot]);
  return OMPL_OK;
}

}  // namespace

std::unique_ptr<Conduit> make_demanding(const Demands& demands) {
  return std::make_unique<OfiConduit>(demands);
}

}  // namespace ompl::conduit::ofi
