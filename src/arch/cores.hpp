// SPDX-License-Identifier: BSD-3-Clause
// Which processors (hardware threads) make one core.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ompl::arch {

using Core = std::vector<unsigned>;  // its processors, as the system numbers them, ascending

struct Cores {
  std::vector<Core> list{};  // near ones side by side
  std::string known_by{};    // hwloc and its interface, or why every processor counts as a core
};

// The processors of a set (bit i of word i / 64).
Core processors_of(std::span<const uint64_t> set);

// The cores of such a set, each with those of its processors that are in the set. Asks hwloc, whose
// library is loaded now, if it was there when this was built. Any thread; takes milliseconds.
Cores cores_of(std::span<const uint64_t> set);

// The same by hwloc alone. Returns why not; "" if it can.
std::string ask_hwloc(std::span<const uint64_t> set, Cores* cores);

}  // namespace ompl::arch
