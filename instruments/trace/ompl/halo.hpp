// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace ompl::trace {

// From a halo to its number, before the first one is made. False if there is no memory.
bool create_halo_table();

}  // namespace ompl::trace
