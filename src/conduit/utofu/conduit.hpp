// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "conduit/conduit.hpp"

namespace ompl::conduit::utofu {

std::unique_ptr<Conduit> make();

}  // namespace ompl::conduit::utofu
