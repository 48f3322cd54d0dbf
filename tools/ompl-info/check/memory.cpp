// SPDX-License-Identifier: BSD-3-Clause
// Whether the memory of the ranks is to be had, and of what kind.
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "arch/machine.hpp"
#include "check/check.hpp"
#include "core/memory/segment.hpp"
#include "util/status.hpp"

namespace ompl::check {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

Finding memory(const Surroundings& at) {
  constexpr std::size_t kOfTheLayer = 16 * kMiB;  // of a rank, in jobs of some hundred ranks on a node
  const std::size_t each = at.plan.allocated + kOfTheLayer;
  const std::size_t available = arch::available_memory(at.root);
  if (available == SIZE_MAX)
    return {.verdict = Verdict::note,
            .found = "not known: /proc/meminfo is not there",
            .means = "a shortage shows only when memory is allocated"};
  return {.verdict = available / at.plan.ranks < each ? Verdict::fails : Verdict::fine,
          .found = fmt::format("{} available on this node and in this cgroup; {} rank(s) take {} each",
                               bytes_text(available), at.plan.ranks, bytes_text(each))};
}

// As the start of a rank does it.
Finding segment(const Surroundings& at) {
  Segment made;
  int code = made.create(at.settings.segment_size, 1, at.settings.huge_pages == "auto");
  const std::size_t part = std::min(kMiB, made.capacity() - std::min(made.capacity(), kFirstOffset));
  if (code == OMPL_OK && part > 0) code = made.commit(kFirstOffset, part);
  if (code != OMPL_OK) return {.verdict = Verdict::fails, .found = error_detail()};
  return {.found = fmt::format("{} can be reserved, and allocated in it",
                               bytes_text(at.settings.segment_size))};
}

// The layer does without it; others do not.
Finding shared_memory(const Surroundings& at) {
  constexpr std::size_t kOfARank = 32 * kMiB;
  const std::string place = at.root + "/dev/shm";
  struct statvfs state {};
  if (::statvfs(place.c_str(), &state) != 0)
    return {.verdict = Verdict::slow, .found = "/dev/shm: " + error_text(errno)};
  const std::size_t room = state.f_bavail * state.f_frsize;
  const bool writable = ::access(place.c_str(), W_OK) == 0;
  const bool enough = at.plan.ranks == 1 || room / at.plan.ranks >= kOfARank;
  return {.verdict = writable && enough ? Verdict::fine : Verdict::slow,
          .found = fmt::format("/dev/shm: {} free of {}{}", bytes_text(room),
                               bytes_text(state.f_blocks * state.f_frsize),
                               writable ? "" : ", not writable")};
}

// "always within_size advise [never] deny force"
std::string chosen_in(const std::string& choices) {
  const auto begin = choices.find('[');
  const auto end = choices.find(']');
  return begin < end && end != std::string::npos ? choices.substr(begin + 1, end - begin - 1) : "";
}

Finding huge_pages(const Surroundings& at) {
  const std::string chosen =
      chosen_in(line_of(at.root + "/sys/kernel/mm/transparent_hugepage/shmem_enabled"));
  if (at.settings.huge_pages == "never") return {.found = "not wanted: OMPL_HUGE_PAGES is never"};
  const bool used =
      chosen == "always" || chosen == "within_size" || chosen == "advise" || chosen == "force";
  return {.verdict = used ? Verdict::fine : Verdict::note,
          .found = fmt::format("transparent huge pages of shared memory: {}",
                               chosen.empty() ? "not offered by this kernel" : chosen)};
}

Finding numa(const Surroundings& at) {
  const std::string nodes = line_of(at.root + "/sys/devices/system/node/online");
  const bool several = nodes.find_first_of("-,") != std::string::npos;
  const std::string moves = line_of(at.root + "/proc/sys/kernel/numa_balancing");
  if (!several) return {.found = "one memory node"};
  const bool balances = !moves.empty() && moves != "0";
  return {
      .verdict = balances ? Verdict::note : Verdict::fine,
      .found = fmt::format("memory nodes {}, automatic balancing {}", nodes, balances ? "on" : "off")};
}

constexpr auto kMemoryChecks = std::to_array<Check>({
    {"memory", "available memory", memory,
     "ompl_alloc returns OMPL_ERR_MEMORY, or the job is killed for want of memory",
     "allocate less on each rank, use fewer ranks on a node, or raise memory.max of the cgroup (--mem "
     "of "
     "the batch system, --memory of the container)"},
    {"memory", "segment", segment, "ompl_init fails on every rank", "change what the text names"},
    {"memory", "shared memory", shared_memory,
     "the layer does not use it, but MPI, UCX and the shm provider of libfabric do: they fail, or take "
     "a "
     "slower way",
     "give the container a larger one (--shm-size), or remove old files from /dev/shm"},
    {"memory", "huge pages", huge_pages, "segments consist of pages of 4 KiB",
     "write advise into /sys/kernel/mm/transparent_hugepage/shmem_enabled"},
    {"memory", "memory nodes", numa,
     "the kernel moves pages between memory nodes meanwhile, which shows as latency now and then",
     "set kernel.numa_balancing to 0, and bind ranks to cores of one memory node"},
});

}  // namespace

std::span<const Check> checks_of_memory() { return kMemoryChecks; }

}  // namespace ompl::check
