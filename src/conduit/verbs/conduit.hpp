// SPDX-License-Identifier: BSD-3-Clause
// InfiniBand Verbs: reliable connections over InfiniBand and RoCE.
#pragma once

#include <memory>

#include "conduit/conduit.hpp"

namespace ompl::conduit::verbs {

std::unique_ptr<Conduit> make();

}  // namespace ompl::conduit::verbs
