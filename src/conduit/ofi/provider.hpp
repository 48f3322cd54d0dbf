// SPDX-License-Identifier: BSD-3-Clause
// Which provider of libfabric, and which network interface of this node, the conduit uses.
#pragma once

#include "conduit/ofi/library.hpp"

namespace ompl {
struct Settings;
}

namespace ompl::conduit::ofi {

// Finds one entry of fi_getinfo() that can carry the conduit: connected endpoints (FI_EP_MSG) with a
// shared receive context, RMA with 8 bytes of remote CQ data, and the orders write after write and send
// after write. OMPL_ERR_UNSUPPORTED, with the reason for each provider that was tried.
int choose_provider(const Library& library, const Settings& settings, Info* out);

}  // namespace ompl::conduit::ofi
