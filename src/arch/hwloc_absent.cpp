// SPDX-License-Identifier: BSD-3-Clause
// In builds without hwloc's headers.
#include "arch/cores.hpp"

namespace ompl::arch {

std::string ask_hwloc(std::span<const uint64_t> /*set*/, Cores* /*cores*/) {
  return "hwloc is not built in";
}

}  // namespace ompl::arch
