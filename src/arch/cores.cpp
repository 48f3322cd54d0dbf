// SPDX-License-Identifier: BSD-3-Clause
#include "arch/cores.hpp"

namespace ompl::arch {

Cores cores_of(std::span<const uint64_t> set) {
  Cores cores;
  const std::string why_not = ask_hwloc(set, &cores);
  if (why_not.empty()) return cores;
  cores = {.list = {}, .known_by = "every processor taken for a core: " + why_not};
  for (unsigned i = 0; i < set.size() * 64; ++i)
    if ((set[i / 64] >> i % 64 & 1) != 0) cores.list.push_back({i});
  return cores;
}

}  // namespace ompl::arch
