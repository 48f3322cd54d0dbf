// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "conduit/common/held.hpp"
#include "conduit/common/operations.hpp"
#include "conduit/ucx/wire.hpp"

namespace ompl::conduit::ucx {

struct Link;
class UcxEndpoint;

// What UCX was asked for and has not done at once.
struct Operation {
  UcxEndpoint* endpoint = nullptr;
  Link* link = nullptr;
  uint64_t ticket = 0;  // 0: nobody waits for it
  // UCX reads these until the operation is complete.
  Message message;
  std::array<std::byte, Held<Link>::kMost> data;  // of a put that was held
  Operation* next = nullptr;
};

}  // namespace ompl::conduit::ucx
