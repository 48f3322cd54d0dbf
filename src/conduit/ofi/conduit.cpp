// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <random>

#include "arch/signals.hpp"
#include "conduit/ofi/conduit.hpp"
#include "conduit/ofi/endpoint.hpp"
#include "conduit/ofi/provider.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::conduit::ofi {
namespace {

class OfiConduit final : public Conduit {
 public:
  [[nodiscard]] std::string_view name() const override { return "ofi"; }
  [[nodiscard]] Capabilities capabilities() const override;
  int open(const Job& job) override;
  [[nodiscard]] std::string address() const override { return own_.encode(); }
  Reach connect(uint32_t rank, std::string_view address) override;
  int endpoint(uint32_t slot, std::unique_ptr<Endpoint>* out) override;

 private:
  Library library_;
  Info info_;
  Address own_;
  std::vector<Address> peers_;
  Site site_;
  std::vector<std::unique_ptr<OfiEndpoint>> endpoints_;  // until handed out
};

Capabilities OfiConduit::capabilities() const {
  Capabilities out;
  out.ordered_signals = true;
  if (info_)
    out.max_message = std::min(info_->ep_attr->max_msg_size, info_->ep_attr->max_order_waw_size);
  return out;
}

int OfiConduit::open(const Job& job) {
  if (job.secret.size() > Greeting::kMaxSecret || (job.size > 1 && job.secret.empty())) {
    return fail(OMPL_ERR_ARG, "the job's secret has {} bytes; 1 to {} are needed", job.secret.size(),
                Greeting::kMaxSecret);
  }
  const arch::KeptSignals kept;  // libpsm2, which libfabric may load, takes SIGINT, SIGTERM and more
  int result = library_.load();
  if (result == OMPL_OK) result = choose_provider(library_, *job.settings, &info_);
  if (result != OMPL_OK) return result;

  peers_.resize(job.size);
  site_ = {.library = &library_, .job = &job, .info = info_.get(), .peers = &peers_};
  own_.provider = info_->fabric_attr->prov_name;
  own_.base = (info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0
                  ? reinterpret_cast<uint64_t>(job.segment)
                  : 0;
  std::random_device random;
  const uint64_t key = uint64_t{random()} << 32 | random();  // for providers that let us choose
  for (uint32_t slot = 0; slot < job.slots; ++slot) {
    endpoints_.push_back(std::make_unique<OfiEndpoint>(site_, slot));
    result = endpoints_.back()->open(key, &own_);
    if (result != OMPL_OK) return result;
  }
  log::info("ofi: provider {} at {}, {} endpoints", own_.provider,
            ip_text(static_cast<const sockaddr*>(info_->src_addr)), job.slots);
  return OMPL_OK;
}

Reach OfiConduit::connect(uint32_t rank, std::string_view address) {
  Address peer;
  const char* wrong = peer.parse(address);
  if (wrong != nullptr) return {.why = wrong};
  if (rank == site_.job->rank) return {.why = "this rank itself"};
  if (peer.provider != own_.provider) {
    return {.why = fmt::format("providers differ (here {}, there {})", own_.provider, peer.provider)};
  }
  if (peer.ip.size() != own_.ip.size()) return {.why = "one side uses IPv4, the other IPv6"};
  const sockaddr_storage listener = peer.listener(peer.slots.front());
  peers_[rank] = std::move(peer);
  return {.usable = true,
          .why = fmt::format("{} to {}", own_.provider,
                             ip_text(reinterpret_cast<const sockaddr*>(&listener)))};
}

int OfiConduit::endpoint(uint32_t slot, std::unique_ptr<Endpoint>* out) {
  if (slot >= endpoints_.size() || !endpoints_[slot])
    return fail(OMPL_ERR_ARG, "endpoint {} is not there to be opened", slot);
  *out = std::move(endpoints_[slot]);
  return OMPL_OK;
}

}  // namespace

std::unique_ptr<Conduit> make() { return std::make_unique<OfiConduit>(); }

}  // namespace ompl::conduit::ofi
