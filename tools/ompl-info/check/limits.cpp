// SPDX-License-Identifier: BSD-3-Clause
// What the user's limits (ulimit) and the cgroup's allow.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "arch/machine.hpp"
#include "check/check.hpp"
#include "check/status_file.hpp"
#include "conduit/shm/passing.hpp"

namespace ompl::check {
namespace {

rlimit limit_of(__rlimit_resource which) {
  rlimit limit{.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
  ::getrlimit(which, &limit);
  return limit;
}

std::string count_text(rlim_t limit) {
  return limit == RLIM_INFINITY ? "unlimited" : fmt::format("{}", limit);
}

std::string size_text(rlim_t limit) { return limit == RLIM_INFINITY ? "unlimited" : bytes_text(limit); }

// The layer raises the soft limit by itself.
Finding open_files(const Surroundings& at) {
  constexpr rlim_t kLeastOfTheProgram = 10;
  const rlimit limit = limit_of(RLIMIT_NOFILE);
  const rlim_t peers = conduit::shm::descriptors_of_peers(at.plan.ranks);
  Finding out{.found = fmt::format("{} soft, {} hard; {} for {} rank(s) on this node",
                                   count_text(limit.rlim_cur), count_text(limit.rlim_max), peers,
                                   at.plan.ranks)};
  if (limit.rlim_max < peers + kLeastOfTheProgram) {
    out.verdict = Verdict::fails;
  } else if (limit.rlim_max < peers + conduit::shm::kDescriptorsOfTheProgram) {
    out.verdict = Verdict::note;
    out.means = fmt::format("{} descriptors are left for the program and its connections",
                            limit.rlim_max - peers);
  }
  return out;
}

// Tasks of this user: those count against ulimit -u.
std::size_t own_tasks(const std::string& root) {
  const std::string own = fmt::format("{}", ::getuid());
  std::size_t tasks = 0;
  for (const std::string& name : names_in(root + "/proc")) {
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const StatusFile status(fmt::format("{}/proc/{}/status", root, name));
    if (status.word("Uid") == own) tasks += status.number("Threads").value_or(1);
  }
  return tasks;
}

Finding processes(const Surroundings& at) {
  constexpr std::size_t kOfTheLayer =
      2;  // beside the program's threads: of a network library, of progress
  const std::size_t wanted = std::size_t{at.plan.ranks} * (at.plan.threads + kOfTheLayer);
  const rlimit limit = limit_of(RLIMIT_NPROC);
  const StatusFile status(at.root + "/proc/self/status");
  const bool exempt = status.has_capability(kSysResource) || status.has_capability(kSysAdmin);
  std::size_t room = arch::available_tasks(at.root);
  std::string found = room == SIZE_MAX ? "the cgroup sets no limit"
                                       : fmt::format("the cgroup allows {} more tasks", room);
  if (limit.rlim_cur != RLIM_INFINITY && !exempt) {
    const std::size_t used = own_tasks(at.root);
    const std::size_t left = limit.rlim_cur - std::min<rlim_t>(limit.rlim_cur, used);
    room = std::min(room, left);
    found += fmt::format(", ulimit -u {} more ({} of {} are used)", left, used, limit.rlim_cur);
  }
  return {.verdict = room < wanted ? Verdict::fails : Verdict::fine,
          .found = fmt::format("{}; the job has about {}", found, wanted)};
}

Finding address_space(const Surroundings& at) {
  constexpr std::size_t kOfTheProgram = std::size_t{256} << 20;
  const rlimit limit = limit_of(RLIMIT_AS);
  const std::size_t segment = at.settings.segment_size;
  Finding out{.found = fmt::format("{}; {} segment(s) of {} on this node", size_text(limit.rlim_cur),
                                   at.plan.ranks, bytes_text(segment))};
  if (limit.rlim_cur < segment + kOfTheProgram) {
    out.verdict = Verdict::fails;
    out.means = "a rank cannot reserve its segment, and ompl_init fails";
  } else if (limit.rlim_cur / at.plan.ranks < segment) {
    out.verdict = Verdict::slow;
  }
  return out;
}

// Only RDMA pins memory.
Finding locked_memory(const Surroundings& at) {
  const rlimit limit = limit_of(RLIMIT_MEMLOCK);
  const std::size_t wanted = std::max(at.plan.allocated, std::size_t{64} << 20);
  const std::string found = size_text(limit.rlim_cur);
  if (names_in(at.root + "/sys/class/infiniband").empty())
    return {.found = found + "; no RDMA device here needs it"};
  if (StatusFile(at.root + "/proc/self/status").has_capability(kIpcLock))
    return {.found = found + "; this user is exempt (CAP_IPC_LOCK)"};
  return {
      .verdict = limit.rlim_cur < wanted ? Verdict::fails : Verdict::fine,
      .found = fmt::format("{}; an RDMA device pins about {} of each rank", found, bytes_text(wanted))};
}

Finding core_dumps(const Surroundings& at) {
  const rlimit limit = limit_of(RLIMIT_CORE);
  const std::string pattern = line_of(at.root + "/proc/sys/kernel/core_pattern");
  const bool told_apart = pattern.find("%p") != std::string::npos ||
                          pattern.find("%P") != std::string::npos || pattern.starts_with('|') ||
                          line_of(at.root + "/proc/sys/kernel/core_uses_pid") == "1";
  const bool mixed = limit.rlim_cur != 0 && at.plan.ranks > 1 && !told_apart && !pattern.empty();
  return {.verdict = mixed ? Verdict::note : Verdict::fine,
          .found = fmt::format("{}, to \"{}\"", size_text(limit.rlim_cur), pattern)};
}

Finding processor_time(const Surroundings& /*at*/) {
  const rlim_t limit = limit_of(RLIMIT_CPU).rlim_cur;
  return {.verdict = limit == RLIM_INFINITY ? Verdict::fine : Verdict::note,
          .found = limit == RLIM_INFINITY ? "unlimited" : fmt::format("{} s for each rank", limit)};
}

constexpr auto kLimitChecks = std::to_array<Check>({
    {"limits", "open files", open_files,
     "ranks of this node cannot hold each other's descriptors: the job fails to start, or uses a "
     "network",
     "raise the hard limit on open files (ulimit -Hn; LimitNOFILE of a service; --ulimit nofile of a "
     "container)"},
    {"limits", "processes and threads", processes, "threads or ranks cannot be started (EAGAIN)",
     "raise ulimit -u, pids.max of the cgroup or --pids-limit of the container, or use fewer threads"},
    {"limits", "address space", address_space,
     "ranks that cannot map each other's segments use a network instead of memory",
     "raise ulimit -v (a batch system may set it from the memory asked for), or lower "
     "OMPL_SEGMENT_SIZE"},
    {"limits", "locked memory", locked_memory,
     "memory cannot be registered with the RDMA device: verbs fails, TCP is used if it is allowed",
     "raise ulimit -l to unlimited (limits.conf; PropagateResourceLimitsExcept=MEMLOCK under Slurm)"},
    {"limits", "processor time", processor_time,
     "a rank whose threads have used so much is killed (SIGXCPU)", "raise ulimit -t"},
    {"limits", "core dumps", core_dumps, "ranks that crash overwrite each other's core file",
     "set kernel.core_uses_pid to 1, or put %p into kernel.core_pattern"},
});

}  // namespace

std::span<const Check> checks_of_limits() { return kLimitChecks; }

}  // namespace ompl::check
