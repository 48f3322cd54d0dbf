// SPDX-License-Identifier: BSD-3-Clause
// What the kernel, a container or a seccomp filter lets a rank do.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "arch/futex.hpp"
#include "arch/memory/process_memory.hpp"
#include "arch/system_call.hpp"
#include "check/check.hpp"
#include "check/status_file.hpp"
#include "util/status.hpp"

namespace ompl::check {
namespace {

Finding proc_and_sys(const Surroundings& at) {
  const bool proc = ::access((at.root + "/proc/self/status").c_str(), R_OK) == 0;
  const bool sys = ::access((at.root + "/sys/devices/system/cpu").c_str(), R_OK) == 0;
  return {.verdict = !proc  ? Verdict::slow
                     : !sys ? Verdict::note
                            : Verdict::fine,
          .found = fmt::format("/proc {}, /sys {}", proc ? "is there" : "is missing",
                               sys ? "is there" : "is missing")};
}

// A system call that the layer uses if it is there, and what it does else.
struct Call {
  std::string_view name;
  Verdict without;
  std::string_view means;
  long (*attempt)();
};

constexpr auto kCalls = std::to_array<Call>({
    {"pidfd_open", Verdict::slow,
     "deaths of ranks of this node are found by looking at locks, not told by the kernel",
     [] {
       const long fd = ::syscall(SYS_pidfd_open, ::getpid(), 0);
       if (fd >= 0) ::close(static_cast<int>(fd));
       return fd;
     }},
    {"close_range", Verdict::note, "omplrun closes descriptors one by one",
     [] { return ::syscall(SYS_close_range, ~0U, ~0U, 0); }},
    {"getrandom", Verdict::note, "random numbers come from the processor or a device",
     [] {
       char byte = 0;
       return ::syscall(SYS_getrandom, &byte, 1, GRND_NONBLOCK);
     }},
    {"sched_getaffinity", Verdict::slow, "the layer takes the machine for one without processors",
     [] {
       std::array<uint64_t, 1024> mask{};
       return ::syscall(SYS_sched_getaffinity, 0, sizeof mask, mask.data());
     }},
    {"sched_yield", Verdict::slow, "waiting threads keep the core from those that they wait for",
     [] { return ::syscall(SYS_sched_yield); }},
});

Finding system_calls(const Surroundings& /*at*/) {
  Finding out;
  for (const Call& call : kCalls) {
    if (call.attempt() >= 0) continue;
    out.verdict = std::max(out.verdict, call.without);
    out.found += fmt::format("{}{}: {}", out.found.empty() ? "" : "; ", call.name, error_text(errno));
    out.means += fmt::format("{}{}", out.means.empty() ? "" : "; ", call.means);
  }
  if (out.found.empty())
    out.found = fmt::format("all {} that the layer prefers are there", kCalls.size());
  return out;
}

Finding futex(const Surroundings& /*at*/) {
  if (const int error = arch::futex_refusal(true); error != 0)
    return {.verdict = Verdict::fails,
            .found = call_text("futex", error),
            .means = "the C library aborts a process whose locks need it, so no job starts"};
  if (const int error = arch::futex_refusal(false); error != 0)
    return {.verdict = Verdict::slow, .found = call_text("futex", error)};
  return {.found = "ranks may sleep on words that they share, and wake each other"};
}

Finding process_memory(const Surroundings& at) {
  const int error = arch::probe_process_memory();
  if (error == 0) return {.found = "processes may read each other's"};
  const std::string scope = line_of(at.root + "/proc/sys/kernel/yama/ptrace_scope");
  const bool wanted = at.settings.coll_progress == "node";
  return {.verdict = wanted ? Verdict::slow : Verdict::note,
          .found = fmt::format("processes may not read each other's: {}{}", error_text(error),
                               scope.empty() ? "" : "; kernel.yama.ptrace_scope is " + scope)};
}

Finding seccomp(const Surroundings& at) {
  const std::string mode = StatusFile(at.root + "/proc/self/status").word("Seccomp");
  if (mode.empty()) return {.found = "not known"};
  return {.verdict = mode == "0" ? Verdict::fine : Verdict::note,
          .found = mode == "0" ? "no filter" : "a filter of system calls is in force"};
}

// The first namespaces have fixed numbers; that of networks has none, but "network interfaces" shows what is in it.
std::vector<std::string> own_namespaces(const std::string& root) {
  constexpr std::array kFirst{std::pair{"user", 0xEFFFFFFDU}, std::pair{"pid", 0xEFFFFFFCU},
                              std::pair{"ipc", 0xEFFFFFFFU}};
  std::vector<std::string> own;
  for (const auto& [name, first] : kFirst) {
    struct stat status {};
    const std::string path = fmt::format("{}/proc/self/ns/{}", root, name);
    if (::stat(path.c_str(), &status) == 0 && status.st_ino != first) own.emplace_back(name);
  }
  return own;
}

std::string container_kind(const Surroundings& at) {
  constexpr std::array kFiles{
      std::pair{"/.dockerenv", "Docker"}, std::pair{"/run/.containerenv", "Podman"},
      std::pair{"/.singularity.d", "Apptainer"}, std::pair{"/ch/environment", "Charliecloud"}};
  for (const auto& [file, kind] : kFiles) {
    if (::access((at.root + file).c_str(), F_OK) == 0) return kind;
  }
  const std::string named = at.variable("container");
  return !named.empty() ? named : at.variable("KUBERNETES_SERVICE_HOST").empty() ? "" : "Kubernetes";
}

Finding namespaces(const Surroundings& at) {
  const std::vector<std::string> own = own_namespaces(at.root);
  const std::string kind = container_kind(at);
  if (own.empty() && kind.empty()) return {.found = "those of the machine, no container"};
  return {.verdict = Verdict::note,
          .found = fmt::format("{}{}", kind.empty() ? "no known container" : "container: " + kind,
                               own.empty() ? "" : fmt::format("; its own: {}", fmt::join(own, ", ")))};
}

constexpr auto kSystemChecks = std::to_array<Check>({
    {"system", "/proc and /sys", proc_and_sys,
     "limits of cgroups, processors and the identity of the node are not seen",
     "mount /proc and /sys in the container"},
    {"system", "system calls", system_calls, "",
     "use a newer kernel, or allow them in the container's seccomp profile"},
    {"system", "futex", futex,
     "threads that wait look every millisecond instead of sleeping until they are woken",
     "allow the system call futex in the container's seccomp profile"},
    {"system", "memory of other processes", process_memory,
     "progress mode `node` leaves collectives to the callers",
     "set kernel.yama.ptrace_scope to 0, or give the container SYS_PTRACE"},
    {"system", "seccomp", seccomp, "calls that it refuses are found by the checks beside this one", ""},
    {"system", "namespaces", namespaces,
     "if each rank has its own, memory is handed over by sockets, which takes a common network "
     "namespace; "
     "without that, ranks of a node reach each other over a network or not at all",
     "start all ranks of a node in one container, or share its namespaces (--net host, --ipc host)"},
});

}  // namespace

std::span<const Check> checks_of_the_system() { return kSystemChecks; }

}  // namespace ompl::check
