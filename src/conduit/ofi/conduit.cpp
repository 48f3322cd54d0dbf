// SPDX-License-Identifier: BSD-3-Clause
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "arch/signals.hpp"
#include "conduit/common/needed_calls.hpp"
#include "conduit/common/network_identity.hpp"
#include "conduit/ofi/conduit.hpp"
#include "conduit/ofi/endpoint.hpp"
#include "conduit/ofi/interfaces.hpp"
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

// 4 or 16 bytes, 0 where slots have names.
std::size_t size_of_ips(const Address& address) {
  return address.ips.empty() ? 0 : address.ips.front().size();
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
  void open_to_all(const Settings& settings);
  [[nodiscard]] std::string mismatch(const Address& peer) const;

  const Demands demands_;
  Library library_;
  ProviderChoice choice_;
  Address own_;
  std::vector<Interface> interfaces_;  // of the family that the provider has chosen
  bool open_to_all_ = false;
  RegisteredRanges regions_;
  std::vector<Address> peers_;
  SharedState shared_;
  std::vector<std::unique_ptr<OfiEndpoint>> endpoints_;  // until handed out
};

// Copying so much costs less than a second message: docs/results/notes.md.
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
  own_.network = network_identity();
  if (!choice_.addressed && speaks_ip(*choice_.info)) open_to_all(*job.settings);
  shared_ = {.library = &library_,
             .job = &job,
             .choice = &choice_,
             .peers = &peers_,
             .challenge = own_.challenge,
             .network = own_.network,
             .regions = &regions_};
  own_.provider = choice_.name;
  own_.base = choice_.mr_mode(FI_MR_VIRT_ADDR) ? reinterpret_cast<uint64_t>(job.segment) : 0;
  const uint64_t key = unpredictable_number();  // for providers that let us choose
  for (uint32_t slot = 0; slot < job.slots; ++slot) {
    endpoints_.push_back(std::make_unique<OfiEndpoint>(shared_, slot));
    result = endpoints_.back()->open(key, &own_);
    if (result != OMPL_OK) return result;
  }
  if (open_to_all_) {
    own_.ips.clear();
    for (const Interface& one : interfaces_) own_.ips.push_back(one.ip);
  }
  log::info("ofi: {}; {} endpoints", choice_.why, job.slots);
  return OMPL_OK;
}

// Listens at all of this host's addresses, if the user has not chosen one.
void OfiConduit::open_to_all(const Settings& settings) {
  auto* const source = static_cast<sockaddr*>(choice_.info->src_addr);
  interfaces_ = own_interfaces(source->sa_family);
  open_to_all_ = settings.ofi_interface.empty() && !interfaces_.empty();
  if (!open_to_all_) return;
  if (source->sa_family == AF_INET)
    reinterpret_cast<sockaddr_in*>(source)->sin_addr.s_addr = htonl(INADDR_ANY);
  else
    reinterpret_cast<sockaddr_in6*>(source)->sin6_addr = in6addr_any;
}

// Why this rank and that one cannot talk; empty if they can.
std::string OfiConduit::mismatch(const Address& peer) const {
  if (peer.provider != own_.provider)
    return fmt::format("providers differ (here {}, there {})", own_.provider, peer.provider);
  const bool same = choice_.addressed && speaks_ip(*choice_.info)
                        ? std::ranges::all_of(peer.slots,
                                              [this](const Address::Slot& slot) {
                                                return is_like(slot.name, own_.slots.front().name);
                                              })
                        : size_of_ips(peer) == size_of_ips(own_);
  return same ? "" : "one side uses IPv4, the other IPv6";
}

Reach OfiConduit::connect(uint32_t rank, std::string_view address) {
  Address peer;
  const char* wrong = peer.parse(address);
  if (wrong != nullptr) return {.why = wrong};
  if (rank == shared_.job->rank) return {.why = "this rank itself"};
  std::string reason = mismatch(peer);
  if (!reason.empty()) return {.why = std::move(reason)};
  if (!order_for_use(interfaces_, own_.network, &peer)) {
    return {.why =
                "that host has loopback addresses only, which lead to no other: give it another "
                "address, or set "
                "OMPL_OFI_INTERFACE"};
  }
  const std::string host = peer.host();
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
