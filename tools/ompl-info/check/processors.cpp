// SPDX-License-Identifier: BSD-3-Clause
// Processors that the ranks' threads get, and how fast these are.
#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <fstream>
#include <map>
#include <sstream>

#include "arch/cores.hpp"
#include "arch/machine.hpp"
#include "check/check.hpp"
#include "core/memory/segment_header.hpp"

namespace ompl::check {
namespace {

using Mask = std::array<uint64_t, kCoreWords>;
constexpr std::string_view kSystem = "/sys/devices/system/cpu/";

Mask own_processors() {
  Mask mask{};
  arch::affinity(mask);
  return mask;
}

// How many processors such a list names: "0-3,8".
unsigned count_in(const std::string& list) {
  unsigned count = 0;
  std::istringstream ranges(list);
  for (std::string range; std::getline(ranges, range, ',');) {
    unsigned first = 0;
    unsigned last = 0;
    const int fields = std::sscanf(range.c_str(), "%u-%u", &first, &last);  // NOLINT(cert-err34-c)
    if (fields >= 1) count += fields == 2 && last >= first ? last - first + 1 : 1;
  }
  return count;
}

// Threads that share the processors of this process: its own alone if a launcher has bound it.
std::size_t threads_here(const Surroundings& at, std::size_t processors) {
  const unsigned online = count_in(line_of(at.root + std::string(kSystem) + "online"));
  const bool bound = at.launched.ranks > 1 && processors < online;
  return std::size_t{at.plan.threads} * (bound ? 1 : at.plan.ranks);
}

Finding processors(const Surroundings& at) {
  const std::size_t allowed = arch::processors_of(own_processors()).size();
  const unsigned quota = arch::core_quota(at.root);
  const std::size_t threads = threads_here(at, allowed);
  Finding out{.found =
                  fmt::format("{} in the affinity mask, {}; {} thread(s)", allowed,
                              quota == UINT_MAX ? std::string("no quota of the cgroup")
                                                : fmt::format("{} by the quota of the cgroup", quota),
                              threads)};
  if (threads > allowed) {
    out.verdict = Verdict::slow;
  } else if (threads > quota) {
    out.verdict = Verdict::slow;
    out.means = "the kernel stops all threads for the rest of each period once the quota is used";
    out.change = "raise cpu.max of the cgroup (--cpus of the container), or use fewer threads";
  }
  return out;
}

Finding hardware_threads(const Surroundings& at) {
  const Mask mask = own_processors();
  const std::size_t allowed = arch::processors_of(mask).size();
  const arch::Cores cores = arch::cores_of(mask);
  const std::size_t threads = threads_here(at, allowed);
  const bool shared = threads > cores.list.size() && threads <= allowed;
  return {.verdict = shared ? Verdict::slow : Verdict::fine,
          .found = fmt::format("{} processor(s) on {} core(s) ({}); {} thread(s)", allowed,
                               cores.list.size(), cores.known_by, threads)};
}

Finding offline(const Surroundings& at) {
  const std::string list = line_of(at.root + std::string(kSystem) + "offline");
  return {.verdict = list.empty() ? Verdict::fine : Verdict::note,
          .found = list.empty() ? "none" : "processors " + list};
}

// How many of this process's processors have each governor.
std::map<std::string, int> governors(const Surroundings& at) {
  std::map<std::string, int> found;
  for (const unsigned processor : arch::processors_of(own_processors())) {
    const std::string folder = fmt::format("{}{}cpu{}/cpufreq/", at.root, kSystem, processor);
    const std::string governor = line_of(folder + "scaling_governor");
    // These drivers leave the choice to the processor, which is quick, and call it powersave.
    const bool by_hardware = line_of(folder + "scaling_driver").find("pstate") != std::string::npos;
    if (!governor.empty())
      ++found[governor == "powersave" && by_hardware ? "by the processor" : governor];
  }
  return found;
}

Finding frequency(const Surroundings& at) {
  Finding out;
  for (const auto& [governor, count] : governors(at)) {
    out.found += fmt::format("{}{} ({})", out.found.empty() ? "" : ", ", governor, count);
    const Verdict verdict = governor == "performance" ? Verdict::fine
                            : governor == "powersave" ? Verdict::slow
                                                      : Verdict::note;
    out.verdict = std::max(out.verdict, verdict);
  }
  if (out.found.empty())
    return {.found = "no governor is offered: the frequency is the host's or fixed"};
  return out;
}

Finding scheduling(const Surroundings& /*at*/) {
  static const std::map<int, std::string_view> kNames{{SCHED_OTHER, "other"}, {SCHED_BATCH, "batch"},
                                                      {SCHED_IDLE, "idle"},   {SCHED_FIFO, "fifo"},
                                                      {SCHED_RR, "rr"},       {6, "deadline"}};
  const int policy = ::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
  errno = 0;
  const int nice = ::getpriority(PRIO_PROCESS, 0);
  const auto name = kNames.find(policy);
  Finding out{.found = fmt::format("policy {}, nice {}",
                                   name != kNames.end() ? name->second : "unknown", nice)};
  if (policy == SCHED_FIFO || policy == SCHED_RR) {
    out.verdict = Verdict::slow;
    out.means = "a thread that waits sleeps for 50 us where others yield, lest it starve its partner";
    out.change =
        "start ranks without a real-time priority (chrt --other 0), unless each thread has a core";
  } else if (policy == SCHED_IDLE || nice > 0) {
    out.verdict = Verdict::slow;
  }
  return out;
}

// Clocks that are read without a system call.
Finding clock(const Surroundings& at) {
  const std::string source =
      line_of(at.root + "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  if (source.empty())
    return {.verdict = Verdict::note,
            .found = "not known: /sys does not tell",
            .means = "times may cost a system call each",
            .change = "mount /sys"};
  constexpr std::array kQuick{"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"};
  const bool quick = std::ranges::find(kQuick, source) != kQuick.end();
  return {.verdict = quick ? Verdict::fine : Verdict::slow, .found = source};
}

constexpr auto kProcessorChecks = std::to_array<Check>({
    {"processors", "processors", processors,
     "threads take turns: one that waits yields or sleeps, and a message takes until its partner runs "
     "again, milliseconds in place of microseconds",
     "use fewer ranks or threads, ask the batch system for more cores, or widen the binding (omplrun "
     "--bind, --cpus-per-task)"},
    {"processors", "hardware threads", hardware_threads,
     "two threads share a core, so that one that polls slows the other",
     "use as many threads as cores, one on each (omplrun --bind)"},
    {"processors", "offline processors", offline, "fewer processors than the machine has",
     "write 1 into /sys/devices/system/cpu/cpuN/online where that is not intended"},
    {"processors", "frequency governor", frequency,
     "cores that have waited begin at a low frequency: the first messages after a pause are slow",
     "cpupower frequency-set -g performance"},
    {"processors", "scheduling", scheduling, "any other process goes before the ranks",
     "start ranks without nice, and not by chrt --idle"},
    {"processors", "clock", clock, "each look at the clock is a system call of a microsecond or more",
     "boot with clocksource=tsc, if the kernel log does not say that the TSC is unstable"},
});

}  // namespace

std::span<const Check> checks_of_processors() { return kProcessorChecks; }

}  // namespace ompl::check
