// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "conduit/operations.hpp"
#include "conduit/ucx/wire.hpp"

namespace ompl::conduit::ucx {

struct Link;
class UcxEndpoint;

// What UCX was asked for and has not done at once.
struct Operation {
  UcxEndpoint* endpoint = nullptr;
  Link* link = nullptr;
  uint64_t ticket = 0;  // 0: nobody waits for it
  Message message;      // UCX reads it until the operation is complete
  Operation* next = nullptr;
};

}  // namespace ompl::conduit::ucx
