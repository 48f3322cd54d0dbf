// SPDX-License-Identifier: BSD-3-Clause
// UCX's objects behind the pool: one context per rank with the segment in it, one worker per slot.
#pragma once

#include <string>

#include "conduit/conduit.hpp"
#include "conduit/ucx/library.hpp"

namespace ompl::conduit::ucx {

inline constexpr unsigned kMessageId = 1;  // of our active messages

class UcpContext {
 public:
  explicit UcpContext(const Library& library) : library_(library) {}
  ~UcpContext();
  UcpContext(const UcpContext&) = delete;
  UcpContext& operator=(const UcpContext&) = delete;

  // Makes the context and registers the segment.
  int open(const Job& job);
  [[nodiscard]] ucp_context_h get() const { return context_; }
  // Whether the transports tell of broken connections, which they then have to be asked for.
  [[nodiscard]] ucp_err_handling_mode_t error_mode() const { return error_mode_; }
  [[nodiscard]] const std::string& key() const { return key_; }  // of the segment, packed

 private:
  int make(const Job& job);
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
