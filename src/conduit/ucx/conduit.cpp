// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/registry.hpp"

#include <pthread.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <system_error>

#include "conduit/common/ip_address.hpp"
#include "conduit/common/needed_calls.hpp"
#include "conduit/ucx/endpoint.hpp"
#include "util/log.hpp"
#include "util/settings.hpp"
#include "util/status.hpp"

namespace ompl::conduit::ucx {
namespace {

constexpr std::size_t kMostNetworks = 4;  // each takes a context, and a worker for each endpoint

class UcxConduit final : public Conduit {
 public:
  [[nodiscard]] std::string_view name() const override { return "ucx"; }
  [[nodiscard]] Capabilities capabilities() const override {
    return {.ordered_signals = true, .max_fused_put = max_fused_put_};
  }
  int open(const Job& job) override;
  [[nodiscard]] std::string address() const override { return own_.encode(shared_.job->secret); }
  Reach connect(uint32_t rank, std::string_view address) override;
  int endpoint(uint32_t slot, std::unique_ptr<Endpoint>* out) override;

 private:
  int choose_networks(const Settings& settings);
  int open_contexts(const Job& job);

  Library library_;
  std::vector<NetworkInterface> interfaces_;  // of this host
  std::vector<NetworkInterface> networks_;    // those with a context; empty: UCX chooses for one
  std::vector<std::unique_ptr<UcpContext>> contexts_;
  Address own_;
  std::vector<Address> peers_;
  SharedState shared_;
  std::size_t max_fused_put_ = 0;
  std::vector<std::unique_ptr<UcxEndpoint>> endpoints_;  // until handed out
};

// UCX aborts the process, or waits for ever, where the system refuses these. Some seccomp profiles refuse clone3 with an error
// after which the C library does not try clone, so there are no threads.
int try_calls() {
  if (const int code =
          conduit::try_calls("UCX", {{"accept", SYS_accept}, {"timerfd_settime", SYS_timerfd_settime}});
      code != OMPL_OK)
    return code;
  ::pthread_t thread{};
  const int error = ::pthread_create(
      &thread, nullptr, [](void*) -> void* { return nullptr; }, nullptr);
  if (error != 0)
    return fail(OMPL_ERR_SYSTEM, "UCX needs a thread, and none can be made: {}",
                call_text("clone3", error));
  ::pthread_join(thread, nullptr);
  return OMPL_OK;
}

// Whether the user's choice of transports has TCP; none of UCX's own devices is better then.
bool speaks_tcp(const std::string& transports) {
  return transports == "all" ||
         (!transports.starts_with('^') && transports.find("tcp") != std::string::npos);
}

// Devices of the fabrics that UCX prefers to TCP.
bool has_fabric() {
  std::error_code none;
  return std::filesystem::directory_iterator("/sys/class/infiniband", none) !=
         std::filesystem::directory_iterator();
}

// Each interface once for each family: UCX takes its first address.
void keep_first_of_each(std::vector<NetworkInterface>* networks) {
  std::vector<NetworkInterface> kept;
  for (NetworkInterface& one : *networks) {
    const bool known = std::ranges::any_of(kept, [&](const NetworkInterface& other) {
      return other.name == one.name && other.ip.size() == one.ip.size();
    });
    if (!known && kept.size() < kMostNetworks) kept.push_back(std::move(one));
  }
  *networks = std::move(kept);
}

// One context for each network that may lead to others, by the user's choice: UCX_NET_DEVICES, else OMPL_NET_INTERFACE. UCX
// chooses itself where its setting names other devices, transports without TCP, or where it has a fabric.
int UcxConduit::choose_networks(const Settings& settings) {
  interfaces_ = own_interfaces();
  const UcxChoice user = read_choice(library_);
  if (!speaks_tcp(user.transports)) return OMPL_OK;
  if (user.devices != "all") {
    for (std::string_view rest = user.devices; !rest.empty();) {
      const std::string_view name = rest.substr(0, rest.find(','));
      if (std::ranges::find(interfaces_, name, &NetworkInterface::name) == interfaces_.end())
        return OMPL_OK;
      rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    }
    networks_ = choose_interfaces(interfaces_, user.devices);
  } else {
    if (settings.interfaces().empty() && user.transports == "all" && has_fabric()) return OMPL_OK;
    if (const int code = chosen_interfaces(settings.interfaces(), &networks_); code != OMPL_OK)
      return code;
  }
  std::erase_if(networks_, [](const NetworkInterface& one) { return one.doubt == Doubt::down; });
  const bool asked = user.devices != "all" || !settings.interfaces().empty();
  if (asked && networks_.empty())
    return fail(OMPL_ERR_UNSUPPORTED,
                "no network that UCX_NET_DEVICES or OMPL_NET_INTERFACE names is up; this host has {}",
                list_interfaces(interfaces_));
  const auto leads_away = [](const NetworkInterface& one) { return one.doubt != Doubt::loopback; };
  if (std::ranges::any_of(networks_, leads_away)) std::erase_if(networks_, std::not_fn(leads_away));
  keep_first_of_each(&networks_);
  return OMPL_OK;
}

int UcxConduit::open_contexts(const Job& job) {
  std::vector<NetworkInterface> opened;
  for (const NetworkInterface& network : networks_) {
    auto context = std::make_unique<UcpContext>(library_);
    if (context->open(job, &network) != OMPL_OK) {
      log::info("ucx: {} {} is not used: {}", network.name, ip_text(network.ip), error_detail());
      continue;
    }
    contexts_.push_back(std::move(context));
    own_.networks.push_back(
        {.ip = network.ip, .key = contexts_.back()->key(), .slots = {}, .ports = {}});
    opened.push_back(network);
  }
  networks_ = std::move(opened);
  if (!contexts_.empty()) return OMPL_OK;
  contexts_.push_back(std::make_unique<UcpContext>(library_));
  const int code = contexts_.back()->open(job, nullptr);
  own_.networks.push_back({.ip = {}, .key = contexts_.back()->key(), .slots = {}, .ports = {}});
  return code;
}

int UcxConduit::open(const Job& job) {
  if (job.size > 1 && job.secret.empty()) return fail(OMPL_ERR_ARG, "the job has no secret");
  int code = try_calls();
  if (code == OMPL_OK) code = library_.load();
  if (code == OMPL_OK) code = choose_networks(*job.settings);
  if (code == OMPL_OK) code = open_contexts(job);
  if (code != OMPL_OK) return code;

  peers_.resize(job.size);
  own_.host = HostAddresses::of(networks_);
  shared_ = {.library = &library_,
             .job = &job,
             .peers = &peers_,
             .error_mode = contexts_.front()->error_mode(),
             .cookies = {},
             .network = own_.host.network,
             .networks = &networks_,
             .connect_timeout_ms = job.settings->connect_timeout_ms()};
  own_.challenge = unpredictable_number();
  for (uint32_t rank = 0; rank < job.size; ++rank)
    shared_.cookies.push_back(cookie(job.secret, rank, job.rank, own_.challenge));
  own_.version = library_.version();
  own_.base = reinterpret_cast<uintptr_t>(job.segment);
  for (uint32_t slot = 0; slot < job.slots; ++slot) {
    endpoints_.push_back(std::make_unique<UcxEndpoint>(shared_, slot));
    code = endpoints_.back()->open(contexts_, &own_.networks);
    if (code != OMPL_OK) return code;
    max_fused_put_ = endpoints_.back()->copy_limit();
  }
  log::info("ucx: UCX {}, {} endpoints, by {}", own_.version, job.slots,
            networks_.empty() ? "devices of UCX's choice" : list_interfaces(networks_));
  return OMPL_OK;
}

Reach UcxConduit::connect(uint32_t rank, std::string_view address) {
  Address peer;
  const char* wrong = peer.parse(address, shared_.job->secret);
  if (wrong != nullptr) return {.why = wrong};
  if (rank == shared_.job->rank) return {.why = "this rank itself"};
  if (peer.version != own_.version)
    return {.why =
                fmt::format("versions of UCX differ (here {}, there {})", own_.version, peer.version)};
  if (!peer.host.list.empty() && !networks_.empty()) {
    wrong = order_for_use(interfaces_, own_.host.network, &peer.host);
    if (wrong != nullptr) return {.why = fmt::format("{}; {}", wrong, kInterfaceHint)};
  }
  const std::string host = peer.host.text();
  peers_[rank] = std::move(peer);
  return {.usable = true,
          .why = fmt::format("{}{}UCX {}", host, host.empty() ? "" : " by ", own_.version)};
}

int UcxConduit::endpoint(uint32_t slot, std::unique_ptr<Endpoint>* out) {
  if (slot >= endpoints_.size() || !endpoints_[slot])
    return fail(OMPL_ERR_ARG, "endpoint {} is not there to be opened", slot);
  *out = std::move(endpoints_[slot]);
  return OMPL_OK;
}

}  // namespace

std::unique_ptr<Conduit> make() { return std::make_unique<UcxConduit>(); }

}  // namespace ompl::conduit::ucx
