// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/ofi/provider.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "conduit/common/network_interfaces.hpp"
#include "conduit/ofi/address.hpp"
#include "util/log.hpp"
#include "util/settings.hpp"
#include "util/status.hpp"

namespace ompl::conduit::ofi {
namespace {

constexpr uint32_t kApi = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);
constexpr std::size_t kCqData = sizeof(uint64_t);  // flag and source, see wire.hpp
// An order that ends at smaller messages is as good as none: every put would go in pieces of that size.
constexpr std::size_t kLeastOrdered = std::size_t{1} << 20;

struct ProviderCandidate {
  std::string_view name;
  bool addressed = true;
  bool reconnects = true;  // it makes broken connections anew, in secret
  bool unasked = false;    // taken without being asked for
  bool verified = false;
  std::string_view reason = "asked for";
};

// In order of preference. "/rdm" is ours: the address-vector endpoints of a provider that has both kinds.
constexpr auto kCandidates = std::to_array<ProviderCandidate>({
    {"cxi", true, false, true, false, "HPE Slingshot"},
    {"efa", true, false, true, false, "Elastic Fabric Adapter"},
    {"opx", true, false, true, false, "Omni-Path, without a library below"},
    {"psm2", true, false, true, false, "Omni-Path, through libpsm2"},
    {"verbs;ofi_rxm", true, true, true, false, "InfiniBand or RoCE"},
    {"tcp", false, false, true, true, "TCP by connections of our own, and a rank can sleep on it"},
    {"net", false, false, true, true, "TCP by connections of our own"},
    {"psm3", true, false, false, false, "asked for: without RDMA it is slower than tcp"},
    {"tcp;ofi_rxm", true, true, false, true, "asked for: tcp is one layer less"},
    {"net/rdm", true, true, false, true, "asked for: net has connections of our own"},
    {"tcp/rdm", true, true, false, true, "asked for: tcp has connections of our own"},
    {"shm", true, false, false, true, "asked for: the shm conduit does without libfabric"},
});

// What is asked of a provider, the best first.
struct OrderRequest {
  bool ordered;
  bool immediates;
};
constexpr auto kOrderRequests =
    std::to_array<OrderRequest>({{true, true}, {true, false}, {false, false}});

std::string provider_of(std::string_view name) {
  constexpr std::string_view kOurs = "/rdm";
  if (name.ends_with(kOurs)) name.remove_suffix(kOurs.size());
  return std::string(name);
}

Info empty_hints(const Library& library, const ProviderCandidate& candidate) {
  Info hints = library.copy(nullptr);
  hints->fabric_attr->prov_name =
      strdup(provider_of(candidate.name).c_str());  // fi_freeinfo() frees it
  hints->ep_attr->type = candidate.addressed ? FI_EP_RDM : FI_EP_MSG;
  return hints;
}

void ask_for_order(fi_info* hints, const ProviderCandidate& candidate, bool ordered) {
  uint64_t order = ordered ? FI_ORDER_WAW | FI_ORDER_SAW : 0;
  if (candidate.addressed) order |= FI_ORDER_SAS;
  if (candidate.addressed && candidate.reconnects && ordered) order |= FI_ORDER_WAS;
  hints->tx_attr->msg_order = order;
  hints->rx_attr->msg_order = order;
  if (!ordered) hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
}

Info make_hints(const Library& library, const ProviderCandidate& candidate,
                const OrderRequest& request) {
  Info hints = empty_hints(library, candidate);
  hints->caps = FI_MSG | FI_RMA;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_PROV_KEY;
  if (candidate.addressed) {
    hints->domain_attr->mr_mode |= FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_ENDPOINT;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
  } else {
    hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
  }
  ask_for_order(hints.get(), candidate, request.ordered);
  if (request.immediates) hints->domain_attr->cq_data_size = kCqData;
  return hints;
}

// And not of something layered over it.
bool is_of(const fi_info& info, const ProviderCandidate& candidate) {
  return info.fabric_attr->prov_name == provider_of(candidate.name);
}

// What the user lets it choose from.
struct Choice {
  std::string wanted;  // OMPL_NET_INTERFACE
  std::vector<NetworkInterface>
      interfaces;  // of this host, those that it names; the most plausible first
};

// How well an entry suits: 0 not at all. Those that speak IP by the place of their address.
std::size_t suitability(const fi_info& info, const ProviderCandidate& candidate, const Choice& choice) {
  if (!is_of(info, candidate)) return 0;
  if (!speaks_ip(info)) {
    const char* const name = info.domain_attr->name;
    return candidate.addressed && (choice.wanted.empty() || (name != nullptr && choice.wanted == name))
               ? 1
               : 0;
  }
  const auto place = std::ranges::find(
      choice.interfaces, ip_of(static_cast<const sockaddr*>(info.src_addr)), &NetworkInterface::ip);
  return static_cast<std::size_t>(choice.interfaces.end() - place);
}

const fi_info* best(const fi_info* list, const ProviderCandidate& candidate, const Choice& choice) {
  const fi_info* found = nullptr;
  std::size_t found_suitability = 0;
  for (const fi_info* info = list; info != nullptr; info = info->next) {
    const std::size_t value = suitability(*info, candidate, choice);
    if (value > found_suitability) {
      found = info;
      found_suitability = value;
    }
  }
  return found;
}

// Why a provider that fits no request does not. Empty if it is not there at all.
std::string shortcoming(const Library& library, const ProviderCandidate& candidate) {
  const Info loose = empty_hints(library, candidate);
  loose->domain_attr->mr_mode = ~3;  // every mode bit, neither FI_MR_BASIC nor FI_MR_SCALABLE
  loose->mode = ~uint64_t{0};
  fi_info* list = nullptr;
  library.getinfo(kApi, nullptr, nullptr, 0, loose.get(), &list);
  const Info owner = library.own(list);
  const fi_info* info = list;
  while (info != nullptr && !is_of(*info, candidate)) info = info->next;
  if (info == nullptr) return {};
  if ((info->domain_attr->mr_mode & FI_MR_RAW) != 0) return "has keys longer than 8 bytes (FI_MR_RAW)";
  return candidate.addressed
             ? "has no endpoints with messages in order, one-sided access and progress by their thread"
             : "has no connected endpoints that order writes, carry 8 bytes of CQ data "
               "and need no registration of local memory";
}

// Fills `out` from the first request that the provider fulfils; else false, and a better reason if there is one.
bool query(const Library& library, const ProviderCandidate& candidate, const Choice& choice,
           const Demands& demands, ProviderChoice* out, std::string* reason) {
  const bool must_number = candidate.addressed && candidate.reconnects;
  for (const OrderRequest& request : kOrderRequests) {
    if (!candidate.addressed && !(request.ordered && request.immediates)) break;
    if (request.ordered && demands.unordered) continue;
    if (request.immediates && demands.no_immediates) continue;
    const Info hints = make_hints(library, candidate, request);
    fi_info* list = nullptr;
    if (library.getinfo(kApi, nullptr, nullptr, 0, hints.get(), &list) != 0) continue;
    const Info owner = library.own(list);
    const fi_info* info = best(list, candidate, choice);
    if (info == nullptr) {
      *reason = choice.wanted.empty()
                    ? "has no suitable interface"
                    : fmt::format("has no interface or address \"{}\" (this host has {})",
                                  choice.wanted, list_interfaces(own_interfaces()));
    } else if (request.ordered && info->ep_attr->max_order_waw_size < kLeastOrdered) {
      *reason = "orders no writes of a useful size";
    } else {
      out->info = library.copy(info);
      out->ordered = request.ordered;
      out->immediates = request.immediates;
      out->numbered = must_number && request.ordered && request.immediates;
      out->registers = out->mr_mode(FI_MR_LOCAL) || demands.registration;
      return true;
    }
  }
  return false;
}

bool is_plain_tcp(std::string_view provider) { return provider == "tcp" || provider == "net"; }

std::vector<ProviderCandidate> candidates_for(const std::string& asked) {
  std::vector<ProviderCandidate> out;
  for (const ProviderCandidate& candidate : kCandidates) {
    if (asked.empty() ? candidate.unasked : candidate.name == asked) out.push_back(candidate);
  }
  if (out.empty()) out.push_back({.name = asked});
  return out;
}

}  // namespace

void ProviderChoice::set_source(const SocketAddress& address) const {
  void* const copy = std::malloc(address.size());  // fi_freeinfo() frees it
  if (copy == nullptr) return;
  std::memcpy(copy, &address, address.size());
  std::free(std::exchange(info->src_addr, copy));
  info->src_addrlen = address.size();
  if (info->addr_format != FI_SOCKADDR)
    info->addr_format = address.any.sa_family == AF_INET ? FI_SOCKADDR_IN : FI_SOCKADDR_IN6;
}

int choose_provider(const Library& library, const Settings& settings, const Demands& demands,
                    ProviderChoice* out) {
  const uint32_t version = library.version();
  const std::string libfabric = fmt::format("libfabric {}.{}", FI_MAJOR(version), FI_MINOR(version));
  const std::string& wanted = settings.interfaces();
  const Choice choice{.wanted = wanted, .interfaces = choose_interfaces(own_interfaces(), wanted)};
  std::string absent;
  std::string unsuitable;
  const bool leaves_tcp = settings.ofi_provider.empty() && settings.names_conduit("tcp");
  for (const ProviderCandidate& candidate : candidates_for(settings.ofi_provider)) {
    if (leaves_tcp && is_plain_tcp(candidate.name)) {
      unsuitable += fmt::format("; {} is left to the conduit tcp", candidate.name);
      continue;
    }
    std::string reason = shortcoming(library, candidate);
    if (reason.empty()) {
      absent += fmt::format("{}{}", absent.empty() ? "" : ", ", candidate.name);
      continue;
    }
    if (query(library, candidate, choice, demands, out, &reason)) {
      out->name = candidate.name;
      out->addressed = candidate.addressed;
      out->over_tcp = out->name.starts_with("tcp") || out->name.starts_with("net");
      const char* doubt = candidate.verified ? "" : ", never run on its hardware";
      out->why = fmt::format("provider {} of {} ({}{}){}{}{}", out->name, libfabric, candidate.reason,
                             doubt, unsuitable, absent.empty() ? "" : "; not here: ", absent);
      if (!candidate.verified) log::warn("ofi: provider {} was never run on its hardware", out->name);
      return OMPL_OK;
    }
    unsuitable += fmt::format("; {} {}", candidate.name, reason);
  }
  if (!absent.empty()) absent = fmt::format("; not in this libfabric, or without a device: {}", absent);
  return fail(OMPL_ERR_UNSUPPORTED, "no provider of {} can be used{}{}", libfabric, unsuitable, absent);
}

}  // namespace ompl::conduit::ofi
