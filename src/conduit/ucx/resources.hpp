// SPDX-License-Identifier: BSD-3-Clause
// UCX's objects behind the pool: one context per rank with the segment in it, one worker per slot.
#pragma once

#include <string>

#include "conduit/common/network_interfaces.hpp"
#include "conduit/conduit.hpp"
#include "conduit/ucx/library.hpp"

namespace ompl::conduit::ucx {

inline constexpr unsigned kMessageId = 1;  // of our active messages

// The devices and transports that UCX's own settings name, of its environment and its file.
struct UcxChoice {
  std::string devices = "all";     // UCX_NET_DEVICES
  std::string transports = "all";  // UCX_TLS
};
UcxChoice read_choice(const Library& library);

class UcpContext {
 public:
  explicit UcpContext(const Library& library) : library_(library) {}
  ~UcpContext();
  UcpContext(const UcpContext&) = delete;
  UcpContext& operator=(const UcpContext&) = delete;

  // Makes the context, with the device and the family of the address of `network` alone if that is not null, else with what
  // UCX chooses; and registers the segment.
  int open(const Job& job, const NetworkInterface* network);
  [[nodiscard]] ucp_context_h get() const { return context_; }
  // Whether the transports tell of broken connections, which they then have to be asked for.
  [[nodiscard]] ucp_err_handling_mode_t error_mode() const { return error_mode_; }
  [[nodiscard]] const std::string& key() const { return key_; }  // of the segment, packed

 private:
  int make(const Job& job, const NetworkInterface* network);
  int register_segment(const Job& job);
  int choose_error_mode();
  const Library& library_;
  ucp_context_h context_ = nullptr;
  ucp_mem_h segment_ = nullptr;
  ucp_err_handling_mode_t error_mode_ = UCP_ERR_HANDLING_MODE_NONE;
  std::string key_;
};

class Worker {
 public:
  explicit Worker(const Library& library) : library_(library) {}
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Active messages go to `receive` with `argument`.
  int open(const UcpContext& context, ucp_am_recv_callback_t receive, void* argument);
  [[nodiscard]] ucp_worker_h get() const { return worker_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] const std::string& address() const { return address_; }
  // Longest header and data of an active message that are sure to go out in one piece.
  [[nodiscard]] std::size_t one_piece() const { return one_piece_; }

 private:
  ucs_status_t query(const UcpContext& context);
  const Library& library_;
  ucp_worker_h worker_ = nullptr;
  int descriptor_ = -1;
  std::string address_;
  std::size_t one_piece_ = 0;
};

}  // namespace ompl::conduit::ucx
