// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "conduit/common/held.hpp"
#include "conduit/common/operations.hpp"
#include "conduit/ucx/wire.hpp"

namespace ompl::conduit::ucx {

struct UcpLink;
class UcxEndpoint;

// What UCX was asked for and has not done at once.
struct UcpOperation {
  UcxEndpoint* endpoint = nullptr;
  UcpLink* link = nullptr;
  uint64_t ticket = 0;  // 0: nobody waits for it
  // UCX reads these until the operation is complete.
  Message message;
  std::array<std::byte, Held<UcpLink>::kMost> data;  // of a put that was held
  UcpOperation* next = nullptr;
};

}  // namespace ompl::conduit::ucx
