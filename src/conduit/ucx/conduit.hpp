// SPDX-License-Identifier: BSD-3-Clause
// The network conduit over UCX. See README.md.
#pragma once

#include <memory>

#include "conduit/conduit.hpp"

namespace ompl::conduit::ucx {

std::unique_ptr<Conduit> make();

}  // namespace ompl::conduit::ucx
