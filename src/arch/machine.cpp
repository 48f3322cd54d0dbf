// SPDX-License-Identifier: BSD-3-Clause
#include "arch/machine.hpp"

#include <sched.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <fstream>
#include <string>

namespace ompl::arch {
namespace {

// The path of this process's cgroup (version 2) below /sys/fs/cgroup, or "" if there is none.
std::string cgroup_folder() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::")) return "/sys/fs/cgroup" + line.substr(3);
  }
  return {};
}

std::size_t cgroup_memory() {
  const std::string folder = cgroup_folder();
  std::ifstream limit_file(folder + "/memory.max");
  std::ifstream used_file(folder + "/memory.current");
  std::size_t limit = 0;
  std::size_t used = 0;
  if (!(limit_file >> limit) || !(used_file >> used)) return SIZE_MAX;
  return limit > used ? limit - used : 0;
}

}  // namespace

void affinity(std::span<uint64_t> mask) {
  cpu_set_t set;
  CPU_ZERO(&set);
  ::sched_getaffinity(0, sizeof set, &set);
  std::ranges::fill(mask, 0);
  for (std::size_t core = 0; core < mask.size() * 64 && core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) mask[core / 64] |= uint64_t{1} << core % 64;
  }
}

// cpu.max holds "max 100000" or "150000 100000".
unsigned core_quota() {
  std::ifstream file(cgroup_folder() + "/cpu.max");
  double quota = 0;
  double period = 0;
  if (!(file >> quota >> period) || period <= 0) return UINT_MAX;
  return std::max(1U, static_cast<unsigned>(std::ceil(quota / period)));
}

std::size_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::size_t available = SIZE_MAX;
  for (std::string key; file >> key;) {
    if (key == "MemAvailable:") {
      std::size_t kib = 0;
      file >> kib;
      available = kib * 1024;
      break;
    }
    file.ignore(256, '\n');
  }
  return std::min(available, cgroup_memory());
}

std::string host_identity() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  file >> boot;
  return boot.empty() ? "unknown" : boot;
}

}  // namespace ompl::arch
