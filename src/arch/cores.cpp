// SPDX-License-Identifier: BSD-3-Clause
#include "arch/cores.hpp"

namespace ompl::arch {

Core processors_of(std::span<const uint64_t> set) {
  Core processors;
  for (unsigned i = 0; i < set.size() * 64; ++i)
    if ((set[i / 64] >> i % 64 & 1) != 0) processors.push_back(i);
  return processors;
}

Cores cores_of(std::span<const uint64_t> set) {
  Cores cores;
  const std::string why_not = ask_hwloc(set, &cores);
  if (why_not.empty()) return cores;
  cores = {.list = {}, .known_by = "every processor taken for a core: " + why_not};
  for (const unsigned processor : processors_of(set)) cores.list.push_back({processor});
  return cores;
}

}  // namespace ompl::arch
