// SPDX-License-Identifier: BSD-3-Clause
// A job of one rank, without any launcher.
#pragma once

#include <memory>

#include "bootstrap/bootstrap.hpp"

namespace ompl::bootstrap {

std::unique_ptr<Bootstrap> open_single();

}  // namespace ompl::bootstrap
