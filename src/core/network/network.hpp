// SPDX-License-Identifier: BSD-3-Clause
// The network side of a rank: the conduit's endpoints, what is sent through them, and how it completes.
#pragma once

#include "core/job/membership.hpp"
#include "core/network/completion.hpp"
#include "core/network/endpoint_pool.hpp"
#include "core/network/sender.hpp"

namespace ompl {

struct Network {
  Network(const GlobalMemory& memory, const Membership& members, Sleepers& sleepers, Failures& failures,
          const ContextTable& contexts, conduit::Conduit& conduit, uint32_t slots)
      : pool(members, sleepers, failures, conduit, slots),
        sender(pool, memory.segment().capacity(), contexts),
        completion(pool, sender) {}

  EndpointPool pool;
  Sender sender;
  Completion completion;
};

}  // namespace ompl
