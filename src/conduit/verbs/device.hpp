// SPDX-License-Identifier: BSD-3-Clause
// The device, port and GID that a rank uses.
#pragma once

#include <cstdint>
#include <string>

#include "conduit/verbs/library.hpp"

namespace ompl {
struct Settings;
}

namespace ompl::conduit::verbs {

struct Device {
  Owned<ibv_context> context{nullptr, nullptr};
  Owned<ibv_pd> domain{nullptr, nullptr};
  ibv_device_attr limits{};
  std::string name;
  uint8_t port = 1;
  uint8_t gid_index = 0;
  ibv_gid gid{};
  uint16_t lid = 0;
  bool ethernet = false;  // RoCE
  ibv_mtu mtu = IBV_MTU_256;
  uint32_t max_message = 0;  // bytes
  unsigned interface = 0;    // number of its network interface, 0 if not known

  // Where a packet to that port goes. `lid` is 0 over Ethernet.
  [[nodiscard]] ibv_ah_attr path_to(const ibv_gid& gid, uint16_t lid) const;
  // "mlx5_0, port 1, InfiniBand"
  [[nodiscard]] std::string describe() const;
};

// Opens what OMPL_VERBS_DEVICE and OMPL_VERBS_GID say, else the fastest active port and its best GID.
int open_device(const Library& library, const Settings& settings, Device* out);

}  // namespace ompl::conduit::verbs
