// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/registry.hpp"

#include <algorithm>

#include "conduit/common/ip_address.hpp"
#include "conduit/common/needed_calls.hpp"
#include "conduit/common/network_identity.hpp"
#include "conduit/common/network_interfaces.hpp"
#include "conduit/tcp/endpoint.hpp"
#include "util/log.hpp"
#include "util/settings.hpp"
#include "util/status.hpp"

namespace ompl::conduit::tcp {
namespace {

// Copying so much, for the signal that follows, costs less than a second call of the system: docs/explanation/tcp.md.
constexpr std::size_t kMostFused = std::size_t{64} << 10;

class TcpConduit final : public Conduit {
 public:
  [[nodiscard]] std::string_view name() const override { return "tcp"; }
  [[nodiscard]] Capabilities capabilities() const override {
    return {.ordered_signals = true,
            .ordered_puts = true,
            .stalls_sender = true,  // by the sockets' windows: records are taken in as they come
            .max_fused_put = kMostFused,
            .max_message = TcpEndpoint::kMaxMessage};
  }
  [[nodiscard]] std::size_t connection_bytes(const Job& /*job*/) const override {
    return sizeof(TcpLink);
  }
  int open(const Job& job) override;
  [[nodiscard]] std::string address() const override { return own_.encode(shared_.job->secret); }
  Reach connect(uint32_t rank, std::string_view address) override;
  int endpoint(uint32_t slot, std::unique_ptr<Endpoint>* out) override;

 private:
  int choose_addresses(const Settings& settings);

  std::vector<NetworkInterface> interfaces_;  // of the families that connections speak here
  Address own_;
  std::vector<Address> peers_;
  SharedState shared_;
  std::vector<std::unique_ptr<TcpEndpoint>> endpoints_;  // until handed out
};

// All of this host, or those that the user has chosen; of one family where a listener cannot speak both.
int TcpConduit::choose_addresses(const Settings& settings) {
  std::vector<NetworkInterface> chosen;
  if (const int code = chosen_interfaces(settings.interfaces(), &chosen); code != OMPL_OK) return code;
  interfaces_ = own_interfaces();
  own_.host = HostAddresses::of(chosen);
  const std::vector<std::string> ips = own_.host.ips();
  if (ips.empty()) return fail(OMPL_ERR_UNSUPPORTED, "this host has no address of IP");
  const bool v4 = std::ranges::all_of(ips, is_v4);
  const bool v6 = std::ranges::none_of(ips, is_v4);
  std::erase_if(interfaces_, [&](const NetworkInterface& one) { return is_v4(one.ip) ? v6 : v4; });
  return OMPL_OK;
}

int TcpConduit::open(const Job& job) {
  if (job.size > 1 && job.secret.empty()) return fail(OMPL_ERR_ARG, "the job has no secret");
  int code = try_calls("TCP", {{"accept4", SYS_accept4}, {"epoll_ctl", SYS_epoll_ctl}});
  if (code == OMPL_OK) code = choose_addresses(*job.settings);
  if (code != OMPL_OK) return code;
  peers_.resize(job.size);
  own_.challenge = unpredictable_number();
  shared_ = {.job = &job,
             .peers = &peers_,
             .challenge = own_.challenge,
             .network = own_.host.network,
             .connect_timeout_ms = job.settings->connect_timeout_ms()};
  for (uint32_t slot = 0; slot < job.slots; ++slot) {
    endpoints_.push_back(std::make_unique<TcpEndpoint>(shared_, slot));
    uint16_t port = 0;
    code = endpoints_.back()->open(own_.host.ips(), &port);
    if (code != OMPL_OK) return code;
    own_.ports.push_back(port);
  }
  log::info("tcp: {} endpoints at {}", job.slots, own_.host.text());
  return OMPL_OK;
}

Reach TcpConduit::connect(uint32_t rank, std::string_view address) {
  Address peer;
  const char* wrong = peer.parse(address, shared_.job->secret);
  if (wrong != nullptr) return {.why = wrong};
  if (rank == shared_.job->rank) return {.why = "this rank itself"};
  wrong = order_for_use(interfaces_, own_.host.network, &peer.host);
  if (wrong != nullptr) return {.why = fmt::format("{}; {}", wrong, kInterfaceHint)};
  std::string why = fmt::format("{} by TCP", peer.host.text());
  peers_[rank] = std::move(peer);
  return {.usable = true, .why = std::move(why)};
}

int TcpConduit::endpoint(uint32_t slot, std::unique_ptr<Endpoint>* out) {
  if (slot >= endpoints_.size() || !endpoints_[slot])
    return fail(OMPL_ERR_ARG, "endpoint {} is not there to be opened", slot);
  *out = std::move(endpoints_[slot]);
  return OMPL_OK;
}

}  // namespace

std::unique_ptr<Conduit> make() { return std::make_unique<TcpConduit>(); }

}  // namespace ompl::conduit::tcp
