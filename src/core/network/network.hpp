// SPDX-License-Identifier: BSD-3-Clause
// The network side of a rank: the conduit's endpoints, what is sent through them, and how it completes.
#pragma once

#include "core/network/completion.hpp"
#include "core/network/endpoint_pool.hpp"
#include "core/network/sender.hpp"

namespace ompl {

struct Network {
  Network(Runtime& runtime, conduit::Conduit& conduit, uint32_t slots)
      : pool(runtime, conduit, slots), sender(runtime, pool), completion(runtime, pool, sender) {}

  EndpointPool pool;
  Sender sender;
  Completion completion;
};

}  // namespace ompl
