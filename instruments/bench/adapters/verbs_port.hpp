// SPDX-License-Identifier: BSD-3-Clause
// The port that the adapter of Verbs uses: the first active one of the machine's devices, with its best GID. Every function
// throws std::runtime_error.
#pragma once

#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace bench {

inline void check(int error, const char* what) {
  if (error != 0) throw std::system_error(error, std::generic_category(), what);
}
// What libibverbs made; a null pointer has left its reason in errno.
template <class Object>
Object* made(Object* object, const char* what) {
  if (object == nullptr) check(errno, what);
  return object;
}

// The library tells its version by the name of its file alone.
inline std::string verbs_version() {
  Dl_info found{};
  if (dladdr(dlsym(RTLD_DEFAULT, "ibv_get_device_list"), &found) == 0) return "libibverbs";
  return std::filesystem::canonical(found.dli_fname).filename();
}

class Port {
 public:
  Port() {
    int count = 0;
    ibv_device** const devices = ibv_get_device_list(&count);
    for (int i = 0; i < count && context_ == nullptr; ++i) look_at(devices[i]);
    if (devices != nullptr) ibv_free_device_list(devices);
    if (count == 0 || devices == nullptr)
      throw std::runtime_error("this machine has no InfiniBand or RoCE device (see ibv_devices)");
    if (context_ == nullptr)
      throw std::runtime_error(
          "no InfiniBand or RoCE device has a port that is active and has an address (see ibv_devinfo "
          "-v)");
  }
  ~Port() { ibv_close_device(context_); }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  [[nodiscard]] ibv_context* context() const { return context_; }
  [[nodiscard]] uint8_t number() const { return number_; }
  [[nodiscard]] const ibv_port_attr& limits() const { return limits_; }
  [[nodiscard]] const ibv_gid& gid() const { return gid_; }
  [[nodiscard]] std::string describe() const {
    return std::string(ibv_get_device_name(context_->device)) + ", port " + std::to_string(number_) +
           (is_ethernet() ? ", RoCE" : ", InfiniBand");
  }
  // Where a packet to that port goes.
  [[nodiscard]] ibv_ah_attr path_to(const ibv_gid& gid, uint16_t lid) const {
    ibv_ah_attr path{};
    path.dlid = lid;
    path.port_num = number_;
    path.is_global = is_ethernet() ? 1 : 0;
    path.grh.dgid = gid;
    path.grh.sgid_index = gid_index_;
    path.grh.hop_limit = 64;
    return path;
  }

 private:
  [[nodiscard]] bool is_ethernet() const { return limits_.link_layer == IBV_LINK_LAYER_ETHERNET; }

  // Keeps the device open if it has such a port.
  void look_at(ibv_device* device) {
    ibv_context* const context = ibv_open_device(device);
    if (context == nullptr) return;
    ibv_device_attr attributes{};
    if (ibv_query_device(context, &attributes) == 0) {
      for (number_ = 1; number_ <= attributes.phys_port_cnt; ++number_) {
        if (ibv_query_port(context, number_, &limits_) == 0 && limits_.state == IBV_PORT_ACTIVE &&
            choose_gid(context)) {
          context_ = context;
          return;
        }
      }
    }
    ibv_close_device(context);
  }
  bool choose_gid(ibv_context* context) {
    int best = 0;
    for (int index = 0; index < limits_.gid_tbl_len; ++index) {
      ibv_gid_entry entry{};
      if (ibv_query_gid_ex(context, number_, static_cast<uint32_t>(index), &entry, 0) != 0) continue;
      const int value = is_ethernet() ? suitability(entry) : 1;
      if (value <= best) continue;
      best = value;
      gid_ = entry.gid;
      gid_index_ = static_cast<uint8_t>(index);
    }
    return best > 0;
  }
  // Version 2 of RoCE before 1, IPv4 before IPv6 before link-local.
  static int suitability(const ibv_gid_entry& entry) {
    const auto* const address = reinterpret_cast<const in6_addr*>(entry.gid.raw);
    const int scope = IN6_IS_ADDR_V4MAPPED(address) ? 3 : IN6_IS_ADDR_LINKLOCAL(address) ? 1 : 2;
    return entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? 3 + scope : scope;
  }

  ibv_context* context_ = nullptr;
  uint8_t number_ = 1;
  ibv_port_attr limits_{};
  ibv_gid gid_{};
  uint8_t gid_index_ = 0;
};

// Memory that other ranks may write, in a protection domain of its own.
struct Registered {
  Registered(const Port& port, std::byte* base, std::size_t bytes)
      : domain(made(ibv_alloc_pd(port.context()), "ibv_alloc_pd")),
        memory(made(ibv_reg_mr(domain, base, bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
                    "ibv_reg_mr (is the limit of locked memory too low, ulimit -l?)")) {}
  ~Registered() {
    ibv_dereg_mr(memory);
    ibv_dealloc_pd(domain);
  }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;

  ibv_pd* const domain;
  ibv_mr* const memory;
};

}  // namespace bench
