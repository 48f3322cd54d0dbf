// SPDX-License-Identifier: BSD-3-Clause
// Waiting for words that plain puts and stores change, of which nobody is told. Protocol rule 28. Results as those of
// operations.hpp.
#pragma once

#include <cstddef>

#include "core/wait/conditions.hpp"

namespace ompl {

// `most`: 1 for any, else the number of conditions.
int wait_memory_some(Context& c, Conditions conditions, std::size_t* indices, std::size_t most,
                     std::size_t* found, Deadline deadline);
// Until each has held.
int wait_memory_all(Context& c, Conditions conditions, Deadline deadline);

}  // namespace ompl
