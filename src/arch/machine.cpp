// SPDX-License-Identifier: BSD-3-Clause
#include "arch/machine.hpp"

#include <glob.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cmath>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ompl::arch {
namespace {

// A file that holds one number; nothing if it is not there, or holds a word such as "max".
std::optional<std::size_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::size_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

// The sum of those values of a file of lines "NAME VALUE".
std::size_t sum_in(const std::string& path, std::initializer_list<std::string_view> names) {
  std::ifstream file(path);
  std::size_t sum = 0;
  std::size_t value = 0;
  for (std::string name; file >> name >> value;) {
    if (std::ranges::find(names, name) != names.end()) sum += value;
  }
  return sum;
}

// A cgroup file system, of version 2 or with one controller of version 1.
struct Hierarchy {
  std::string point;  // where it is mounted,
  std::string top;    // and which cgroup is seen there
  bool v2 = false;
};

bool lists(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const auto end = std::min(words.find(','), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

// proc(5), mountinfo: "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS TAGS... - TYPE SOURCE OPTIONS".
std::vector<Hierarchy> hierarchies(const std::string& root, std::string_view controller) {
  std::vector<Hierarchy> found;
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string skipped;
    Hierarchy one;
    fields >> skipped >> skipped >> skipped >> one.top >> one.point;
    while (fields >> skipped && skipped != "-") {
    }
    std::string type;
    std::string options;
    fields >> type >> skipped >> options;
    one.v2 = type == "cgroup2";
    if (one.v2 || (type == "cgroup" && lists(options, controller))) found.push_back(std::move(one));
  }
  return found;
}

// This process's cgroup there: /proc/self/cgroup has lines "NUMBER:CONTROLLERS:PATH", of version 2 without controllers.
std::string cgroup_in(const std::string& root, bool v2, std::string_view controller) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
    if (v2 ? controllers.empty() : lists(controllers, controller)) return line.substr(second + 1);
  }
  return {};
}

// A cgroup's folder, and whether it is of version 2.
using Folders = std::vector<std::pair<std::string, bool>>;

// The folders of this process's cgroup and of all above it that are to be seen.
Folders cgroup_folders(const std::string& root, std::string_view controller) {
  Folders folders;
  for (const Hierarchy& hierarchy : hierarchies(root, controller)) {
    std::string path = cgroup_in(root, hierarchy.v2, controller);
    // In a container the file system may begin at the container's own cgroup, which the path does or does not name.
    if (hierarchy.top != "/" && path.starts_with(hierarchy.top)) path.erase(0, hierarchy.top.size());
    while (!path.empty() && path.back() == '/') path.pop_back();
    const std::string point = root + hierarchy.point;
    if (path.find("/..") != std::string::npos || !std::ifstream(point + path + "/cgroup.procs"))
      path.clear();
    for (;; path.erase(path.rfind('/'))) {
      folders.emplace_back(point + path, hierarchy.v2);
      if (path.empty()) break;
    }
  }
  return folders;
}

std::size_t cgroup_memory(const std::string& root) {
  static const Folders kOfThisMachine =
      cgroup_folders("", "memory");  // asked for with every allocation
  std::size_t least = SIZE_MAX;
  for (const auto& [folder, v2] : root.empty() ? kOfThisMachine : cgroup_folders(root, "memory")) {
    const auto limit = number_in(folder + (v2 ? "/memory.max" : "/memory.limit_in_bytes"));
    const auto used = number_in(folder + (v2 ? "/memory.current" : "/memory.usage_in_bytes"));
    if (!limit || !used) continue;
    const std::size_t reclaimable =
        v2 ? sum_in(folder + "/memory.stat", {"active_file", "inactive_file", "slab_reclaimable"})
           : sum_in(folder + "/memory.stat", {"total_active_file", "total_inactive_file"});
    const std::size_t taken = *used - std::min(*used, reclaimable);
    least = std::min(least, *limit > taken ? *limit - taken : 0);
  }
  return least;
}

// "max 100000" or "150000 100000", in microseconds; of version 1 in two files, -1 without a quota.
double cores_in(const std::string& folder, bool v2) {
  double quota = 0;
  double period = 0;
  if (v2) {
    std::ifstream(folder + "/cpu.max") >> quota >> period;
  } else {
    std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
    std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  }
  return quota > 0 && period > 0 ? quota / period : UINT_MAX;
}

}  // namespace

// The system refuses sets that are smaller than its own: of machines with more than 1,024 processors.
void affinity(std::span<uint64_t> mask) {
  std::ranges::fill(mask, 0);
  constexpr std::size_t kMostWords = 65536 / 64;
  for (std::size_t words = std::max<std::size_t>(mask.size(), CPU_SETSIZE / 64); words <= kMostWords;
       words *= 2) {
    std::vector<uint64_t> set(words);  // a cpu_set_t is an array of such words
    if (::sched_getaffinity(0, words * sizeof(uint64_t), reinterpret_cast<cpu_set_t*>(set.data())) !=
        0) {
      if (errno == EINVAL) continue;
      return;
    }
    // Two processors that fall on one bit look like one: better than none.
    for (std::size_t word = 0; word < words; ++word) mask[word % mask.size()] |= set[word];
    return;
  }
}

unsigned core_quota(const std::string& root) {
  double cores = UINT_MAX;
  for (const auto& [folder, v2] : cgroup_folders(root, "cpu"))
    cores = std::min(cores, cores_in(folder, v2));
  return cores >= UINT_MAX ? UINT_MAX : std::max(1U, static_cast<unsigned>(std::ceil(cores)));
}

std::size_t available_memory(const std::string& root) {
  std::ifstream file(root + "/proc/meminfo");
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
  return std::min(available, cgroup_memory(root));
}

std::size_t available_tasks(const std::string& root) {
  std::size_t least = SIZE_MAX;
  for (const auto& [folder, v2] : cgroup_folders(root, "pids")) {
    const auto limit = number_in(folder + "/pids.max");
    const auto used = number_in(folder + "/pids.current");
    if (limit && used) least = std::min(least, *limit - std::min(*limit, *used));
  }
  return least;
}

void allow_descriptors(rlim_t count) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count) return;
  limit.rlim_cur = std::min(count, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

bool has_file(const char* pattern) {
  glob_t found{};
  const bool any = ::glob(pattern, GLOB_NOSORT, nullptr, &found) == 0 && found.gl_pathc > 0;
  ::globfree(&found);
  return any;
}

std::string host_identity() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  file >> boot;
  return boot.empty() ? "unknown" : boot;
}

}  // namespace ompl::arch
