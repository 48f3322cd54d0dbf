// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/verbs/device.hpp"

#include <net/if.h>
#include <netinet/in.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>

#include "util/settings.hpp"
#include "util/status.hpp"

namespace ompl::conduit::verbs {
namespace {

// OMPL_VERBS_DEVICE: "NAME" or "NAME:PORT".
struct DeviceRequest {
  std::string name;
  uint8_t port = 0;  // 0: any
};

int parse_request(const std::string& text, DeviceRequest* out) {
  const auto colon = text.find(':');
  out->name = text.substr(0, colon);
  if (colon == std::string::npos) return OMPL_OK;
  const char* const begin = text.data() + colon + 1;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, out->port);
  if (error == std::errc{} && stop == end && out->port > 0) return OMPL_OK;
  return fail(
      OMPL_ERR_ARG,
      "OMPL_VERBS_DEVICE=\"{}\" is not usable; set it to a device (mlx5_0) or a port (mlx5_0:1)", text);
}

// In units of 0.5 Gbit/s; the codes are those of the port's attributes.
unsigned rate(const ibv_port_attr& port) {
  const unsigned lanes = port.active_width == 2   ? 4
                         : port.active_width == 4 ? 8
                         : port.active_width == 8 ? 12
                                                  : 1;
  unsigned lane = 5;
  for (const auto& [code, speed] :
       {std::pair{2U, 10U}, {4U, 20U}, {8U, 20U}, {16U, 28U}, {32U, 50U}, {64U, 100U}, {128U, 200U}})
    if (port.active_speed == code) lane = speed;
  return lanes * lane;
}

// How well a GID of a port suits; 0 not at all. Over Ethernet the version 2 (routable) before 1, IPv4 before IPv6
// before link-local.
int suitability(const ibv_gid_entry& entry, bool ethernet) {
  if (!ethernet) return entry.gid_type == IBV_GID_TYPE_IB ? 1 : 0;
  const auto* address = reinterpret_cast<const in6_addr*>(entry.gid.raw);
  const int scope = IN6_IS_ADDR_V4MAPPED(address) ? 3 : IN6_IS_ADDR_LINKLOCAL(address) ? 1 : 2;
  return entry.gid_type == IBV_GID_TYPE_ROCE_V2   ? 3 + scope
         : entry.gid_type == IBV_GID_TYPE_ROCE_V1 ? scope
                                                  : 0;
}

// The network interface of a device whose GIDs name none (InfiniBand): its IPoIB, if there is one.
unsigned interface_of(const std::string& device) {
  std::error_code none;
  for (const auto& entry :
       std::filesystem::directory_iterator("/sys/class/infiniband/" + device + "/device/net", none))
    if (const unsigned number = if_nametoindex(entry.path().filename().c_str()); number != 0)
      return number;
  return 0;
}

class Search {
 public:
  Search(const Library& library, const Settings& settings) : library_(library), settings_(settings) {}

  int run(Device* out);

 private:
  void look_at(ibv_device* device);
  void look_at_port(ibv_context* context, uint8_t port, const std::string& name);
  bool choose_gid(ibv_context* context, const ibv_port_attr& port, Device* device);
  void no(const std::string& what, std::string_view why) {
    reasons_ += fmt::format("{}{} {}", reasons_.empty() ? "" : "; ", what, why);
  }

  const Library& library_;
  const Settings& settings_;
  DeviceRequest request_;
  Device best_;
  ibv_device* best_device_ = nullptr;
  unsigned best_rate_ = 0;
  std::string reasons_;
};

bool Search::choose_gid(ibv_context* context, const ibv_port_attr& port, Device* device) {
  int best = 0;
  for (int index = 0; index < port.gid_tbl_len; ++index) {
    if (settings_.verbs_gid >= 0 && index != settings_.verbs_gid) continue;
    ibv_gid_entry entry{};
    if (library_.query_gid(context, device->port, static_cast<uint32_t>(index), &entry, 0,
                           sizeof entry) != 0)
      continue;
    const int value = suitability(entry, device->ethernet);
    if (value <= best) continue;
    best = value;
    device->gid = entry.gid;
    device->gid_index = static_cast<uint8_t>(index);
    device->interface = entry.ndev_ifindex;
  }
  if (device->interface == 0) device->interface = interface_of(device->name);
  return best > 0;
}

void Search::look_at_port(ibv_context* context, uint8_t number, const std::string& name) {
  const std::string what = fmt::format("{}:{}", name, number);
  if (request_.port != 0 && request_.port != number) return;
  ibv_port_attr port{};
  // The symbol fills the older, shorter structure, which is how every one begins.
  if (library_.query_port(context, number, reinterpret_cast<_compat_ibv_port_attr*>(&port)) != 0)
    return no(what, "cannot be queried");
  if (port.state != IBV_PORT_ACTIVE) return no(what, "is not active");
  Device device;
  device.name = name;
  device.port = number;
  device.ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET;
  device.lid = device.ethernet ? uint16_t{0} : port.lid;
  device.mtu = port.active_mtu;
  device.max_message = port.max_msg_sz;
  if (!choose_gid(context, port, &device)) {
    return no(what, settings_.verbs_gid >= 0
                        ? fmt::format("has no usable GID {} (OMPL_VERBS_GID)", settings_.verbs_gid)
                        : "has no usable GID: does its interface have an address?");
  }
  if (rate(port) <= best_rate_) return;
  best_rate_ = rate(port);
  best_ = std::move(device);
}

void Search::look_at(ibv_device* device) {
  const std::string name = device->name;
  if (!request_.name.empty() && request_.name != name) return;
  const Owned<ibv_context> context(library_.open_device(device), library_.close_device);
  ibv_device_attr limits{};
  if (!context || library_.query_device(context.get(), &limits) != 0)
    return no(name, "cannot be opened");
  const unsigned before = best_rate_;
  for (uint8_t port = 1; port <= limits.phys_port_cnt; ++port) look_at_port(context.get(), port, name);
  if (best_rate_ == before) return;
  best_.limits = limits;
  best_device_ = device;
}

int Search::run(Device* out) {
  if (const int code = parse_request(settings_.verbs_device, &request_); code != OMPL_OK) return code;
  int count = 0;
  ibv_device** list = library_.get_device_list(&count);
  for (ibv_device* device : std::span(list, list != nullptr ? static_cast<std::size_t>(count) : 0))
    look_at(device);
  int code = OMPL_OK;
  if (best_device_ == nullptr) {
    if (reasons_.empty())
      reasons_ = request_.name.empty() ? "there is none" : fmt::format("there is no {}", request_.name);
    code = fail(OMPL_ERR_UNSUPPORTED, "no InfiniBand or RoCE device can be used: {}", reasons_);
  } else {
    best_.context = {library_.open_device(best_device_), library_.close_device};
    if (best_.context) best_.domain = {library_.alloc_pd(best_.context.get()), library_.dealloc_pd};
    if (!best_.domain)
      code = fail(OMPL_ERR_SYSTEM, "cannot open {}: {}", best_.name, error_text(errno));
  }
  if (list != nullptr) library_.free_device_list(list);
  if (code == OMPL_OK) *out = std::move(best_);
  return code;
}

}  // namespace

ibv_ah_attr Device::path_to(const ibv_gid& to, uint16_t to_lid) const {
  ibv_ah_attr path{};
  path.dlid = to_lid;
  path.port_num = port;
  path.is_global = ethernet || to.global.subnet_prefix != gid.global.subnet_prefix ? 1 : 0;
  path.grh.dgid = to;
  path.grh.sgid_index = gid_index;
  path.grh.hop_limit = 64;
  return path;
}

std::string Device::describe() const {
  return fmt::format("{}, port {}, {}", name, port, ethernet ? "RoCE" : "InfiniBand");
}

int open_device(const Library& library, const Settings& settings, Device* out) {
  return Search(library, settings).run(out);
}

}  // namespace ompl::conduit::verbs
