// SPDX-License-Identifier: BSD-3-Clause
// Networks between nodes: the address that this rank would publish, names, devices.
#include <fmt/format.h>
#include <netdb.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>

#include "check/check.hpp"
#include "conduit/common/liveness_probe.hpp"
#include "conduit/common/network_interfaces.hpp"
#include "conduit/registry.hpp"

namespace ompl::check {
namespace {

using conduit::Doubt;
using conduit::LivenessProbe;
using conduit::NetworkInterface;
using std::chrono::steady_clock;

// In the order in which others try them.
std::vector<NetworkInterface> published(const Settings& settings) {
  return conduit::choose_interfaces(conduit::own_interfaces(), settings.interfaces());
}

// As one reads it, with what is doubtful.
std::string text_of(const NetworkInterface& one) {
  const char* const doubt = one.doubt == Doubt::made_here ? " (bridge)"
                            : one.doubt == Doubt::down    ? " (no carrier)"
                                                          : "";
  return fmt::format("{} {}{}", one.name, conduit::ip_text(one.ip), doubt);
}

Finding interfaces(const Surroundings& at) {
  const std::vector<NetworkInterface> all = published(at.settings);
  if (all.empty()) {
    const std::string& wanted = at.settings.interfaces();
    return {.verdict = wanted.empty() ? at.between_nodes(Verdict::fails) : Verdict::fails,
            .found = wanted.empty()
                         ? "no interface that is up has an address"
                         : fmt::format("OMPL_NET_INTERFACE=\"{}\" is none that is up", wanted)};
  }
  Finding out{.found = fmt::format("first {}", text_of(all.front()))};
  for (std::size_t i = 1; i < all.size(); ++i) out.found += fmt::format(", then {}", text_of(all[i]));
  const auto leads_somewhere = [](const NetworkInterface& one) { return one.doubt == Doubt::none; };
  if (all.front().doubt == Doubt::loopback) {
    out.verdict = at.between_nodes(Verdict::fails);
    out.means = "no other node reaches this one";
    out.change = "bring a network interface up, or start the container with the host's network";
  } else if (!leads_somewhere(all.front())) {
    out.verdict = at.between_nodes(Verdict::slow);
  } else if (std::ranges::count_if(all, leads_somewhere) > 1) {
    out.verdict = Verdict::note;
    out.means = "another node tries those in a subnet of its own first, then the next ones";
  }
  return out;
}

// Whether a connection to an address of one's own is taken: a firewall may refuse, or swallow it.
Finding own_address(const Surroundings& at) {
  const std::vector<NetworkInterface> all = published(at.settings);
  if (all.empty()) return {.found = "no address"};
  const NetworkInterface& first = all.front();
  conduit::LivenessListener listener;
  uint16_t port = 0;
  if (listener.open({first.ip}, &port) != OMPL_OK || port == 0)
    return {.verdict = Verdict::note, .found = text_of(first) + ": no port can be listened at"};
  LivenessProbe probe;
  probe.begin(first.ip, port);
  auto answer = LivenessProbe::Answer::none;
  for (const auto end = steady_clock::now() + std::chrono::seconds(5);
       answer == LivenessProbe::Answer::none && steady_clock::now() < end; ::usleep(1000))
    answer = probe.look();
  Finding out{.found = fmt::format("{} {}, port {}: ", first.name, conduit::ip_text(first.ip), port)};
  switch (answer) {
    case LivenessProbe::Answer::lives:
      out.found += "answers";
      break;
    case LivenessProbe::Answer::none:
    case LivenessProbe::Answer::silent:
      out.found += "no answer within 5 s";
      out.verdict = at.between_nodes(Verdict::fails);
      break;
    default:
      out.found += "refused";
      out.verdict = at.between_nodes(Verdict::fails);
  }
  return out;
}

// The layer asks for no names; MPIs' launchers do.
Finding host_name(const Surroundings& at) {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  const auto begin = steady_clock::now();
  addrinfo* list = nullptr;
  const int error = ::getaddrinfo(name.data(), nullptr, nullptr, &list);
  if (error == 0) ::freeaddrinfo(list);
  const std::chrono::duration<double> taken = steady_clock::now() - begin;
  const bool slow = error != 0 || taken > std::chrono::seconds(2);
  return {.verdict = slow ? at.between_nodes(Verdict::slow) : Verdict::fine,
          .found = fmt::format("{}: {} after {:.1f} s", name.data(),
                               error == 0 ? "resolved" : ::gai_strerror(error), taken.count())};
}

struct Ports {
  unsigned active = 0;
  std::string text;
};

// /sys/class/infiniband/DEVICE/ports/N/state: "4: ACTIVE".
Ports rdma_ports(const std::string& folder, const std::vector<std::string>& devices) {
  Ports out;
  for (const std::string& device : devices) {
    for (const std::string& port : names_in(folder + device + "/ports")) {
      const std::string place = fmt::format("{}{}/ports/{}/", folder, device, port);
      const std::string state = line_of(place + "state");
      out.active += state.find("ACTIVE") != std::string::npos ? 1 : 0;
      out.text += fmt::format("{}{}:{} {} {}", out.text.empty() ? "" : ", ", device, port,
                              line_of(place + "link_layer"), state);
    }
  }
  return out;
}

Finding rdma(const Surroundings& at) {
  const std::string folder = at.root + "/sys/class/infiniband/";
  const std::vector<std::string> devices = names_in(folder);
  if (devices.empty()) return {.found = "none"};
  const Ports ports = rdma_ports(folder, devices);
  Finding out{.found = ports.text};
  const std::string nodes = at.root + "/dev/infiniband/";
  const auto usable = [&](const std::string& name) {
    return name.starts_with("uverbs") && ::access((nodes + name).c_str(), R_OK | W_OK) == 0;
  };
  if (ports.active == 0) {
    out.verdict = at.between_nodes(Verdict::slow);
  } else if (std::ranges::none_of(names_in(nodes), usable)) {
    out.verdict = at.between_nodes(Verdict::slow);
    out.found += "; no file /dev/infiniband/uverbs* may be opened";
    out.change = "give the container its devices (--device /dev/infiniband), and the user the rights";
  } else if (std::ranges::none_of(conduit::registry(),
                                  [](const conduit::Entry& entry) { return entry.name == "verbs"; })) {
    out.verdict = at.between_nodes(Verdict::slow);
    out.found += "; this build has no conduit verbs";
    out.change = "install libibverbs' headers, and build again";
  }
  return out;
}

constexpr auto kNetworkChecks = std::to_array<Check>({
    {"network", "interfaces", interfaces,
     "ranks of other nodes try an address that probably leads nowhere first",
     "set OMPL_NET_INTERFACE to the interface or address that other nodes reach"},
    {"network", "own address", own_address, "a firewall of this node keeps ranks from each other",
     "allow TCP between the nodes' ports of the kernel's range (net.ipv4.ip_local_port_range)"},
    {"network", "host name", host_name,
     "the layer does not use it, but launchers of MPI wait for the name server, or fail",
     "put the name of this host into /etc/hosts"},
    {"network", "RDMA devices", rdma, "TCP is used in place of RDMA",
     "bring the link up (ibstat, rdma link; a subnet manager on InfiniBand)"},
});

}  // namespace

std::span<const Check> checks_of_networks() { return kNetworkChecks; }

}  // namespace ompl::check
