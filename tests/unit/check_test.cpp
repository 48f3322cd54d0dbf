// SPDX-License-Identifier: BSD-3-Clause
// What `ompl-info --check` makes of files of the kernel, of settings and of limits: each check to both outcomes, as far as
// files decide. tests/process/ompl_info_check.py runs the command under limits and in namespaces.
#include "check/check.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "arch/cores.hpp"
#include "arch/machine.hpp"

namespace {
int pretended_policy = -1;  // -1: the real one
}  // namespace

// In place of the C library's: a test that had the idle policy would not end beside others.
extern "C" int sched_getscheduler(pid_t pid) noexcept {
  return pretended_policy >= 0 ? pretended_policy
                               : static_cast<int>(::syscall(SYS_sched_getscheduler, pid));
}

namespace ompl::check {
namespace {

// A folder that stands in for /, and the checks of it.
class Checks : public testing::Test {
 protected:
  Checks() {
    std::string name = (std::filesystem::temp_directory_path() / "check_test.XXXXXX").string();
    at_.root = ::mkdtemp(name.data());
    at_.lookup = [this](const char* variable) -> const char* {
      const auto found = variables_.find(variable);
      return found != variables_.end() ? found->second.c_str() : nullptr;
    };
    write("/proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable: 4194304 kB\n");
    write("/proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\nSeccomp:\t0\n");
    write("/proc/self/mountinfo", "");
  }
  ~Checks() override { std::filesystem::remove_all(at_.root); }

  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = at_.root + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }
  [[nodiscard]] Finding look(std::string_view name) const {
    const std::vector<Check> all = all_checks();
    const auto check = std::ranges::find(all, name, &Check::name);
    if (check == all.end()) throw std::runtime_error(fmt::format("there is no check {}", name));
    Finding finding = check->look(at_);
    if (finding.verdict != Verdict::fine && finding.means.empty()) finding.means = check->means;
    return finding;
  }
  void expect(std::string_view name, Verdict verdict, std::string_view says = "") const {
    const Finding finding = look(name);
    EXPECT_EQ(text_of(finding.verdict), text_of(verdict)) << name << ": " << finding.found;
    EXPECT_NE((finding.found + " " + finding.means).find(says), std::string::npos)
        << name << ": " << finding.found << " " << finding.means;
  }

  Surroundings at_;
  std::map<std::string, std::string> variables_;
};

// A soft limit of this process while it lives.
class Limit {
 public:
  Limit(__rlimit_resource which, rlim_t soft) : which_(which) {
    ::getrlimit(which, &before_);
    const rlimit now{.rlim_cur = std::min(soft, before_.rlim_max), .rlim_max = before_.rlim_max};
    ::setrlimit(which, &now);
  }
  ~Limit() { ::setrlimit(which_, &before_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  const __rlimit_resource which_;
  rlimit before_{};
};

TEST_F(Checks, EveryCheckHasANameOfItsOwnAndAdvice) {
  std::vector<std::string_view> names;
  for (const Check& check : all_checks()) {
    names.push_back(check.name);
    EXPECT_FALSE(check.area.empty()) << check.name;
    EXPECT_TRUE(!check.change.empty() || check.name == "seccomp") << check.name;
  }
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

TEST_F(Checks, BuildsForFindingFaults) {
  at_.build_type = "Release";
  expect("build", Verdict::fine);
  at_.build_type = "Debug";
  expect("build", Verdict::slow, "Debug");
  at_.build_type = "RelWithDebInfo";
  at_.sanitizers = "address";
  expect("build", Verdict::slow, "sanitizers address");
}

TEST_F(Checks, AllValuesOutOfRangeAreTold) {
  variables_ = {{"OMPL_CREDITS", "8"}};
  expect("settings", Verdict::fine, "OMPL_CREDITS=8");
  variables_ = {{"OMPL_CREDITS", "0"}, {"OMPL_LOG", "loud"}, {"OMPL_SPIN", "3"}};
  const Finding finding = look("settings");
  EXPECT_EQ(finding.verdict, Verdict::fails);
  EXPECT_NE(finding.found.find("OMPL_CREDITS=\"0\""), std::string::npos) << finding.found;
  EXPECT_NE(finding.found.find("OMPL_LOG=\"loud\""), std::string::npos) << finding.found;
}

TEST_F(Checks, UnknownVariables) {
  for (const Settings::Stranger& stranger : Settings::strangers()) ::unsetenv(stranger.name.c_str());
  expect("unknown variables", Verdict::fine);
  ::setenv("OMPL_QUITE_ELSE", "1", 1);
  expect("unknown variables", Verdict::note, "OMPL_QUITE_ELSE");
  ::setenv("OMPL_SEGMENTSIZE", "1M", 1);
  expect("unknown variables", Verdict::slow, "OMPL_SEGMENTSIZE, did you mean OMPL_SEGMENT_SIZE?");
  ::unsetenv("OMPL_QUITE_ELSE");
  ::unsetenv("OMPL_SEGMENTSIZE");
}

TEST_F(Checks, WhatTheLauncherSays) {
  expect("launcher", Verdict::fine, "a job of one rank");
  at_.launched = {.by = "pmix", .ranks = 8, .on_node = 4, .nodes = 2};
  expect("launcher", Verdict::fine, "pmix: 8 rank(s), 4 on this node");
  at_.launched.error = "PMI_FD is not set";
  expect("launcher", Verdict::fails, "PMI_FD is not set");
}

TEST_F(Checks, FoldersThatCannotBeWritten) {
  variables_["TMPDIR"] = at_.root;
  expect("temporary files", Verdict::fine, "is writable");
  variables_["TMPDIR"] = at_.root + "/nowhere";
  expect("temporary files", Verdict::slow, "No such file");
  at_.settings.cache_folder = at_.root + "/made/when/needed";
  expect("cache folder", Verdict::fine);
  at_.settings.cache_folder = "/proc/self";  // where nobody makes files
  expect("cache folder", Verdict::note);
  at_.settings.tuner = "1";
  expect("cache folder", Verdict::slow);
  at_.settings.cache_folder = "";
  expect("cache folder", Verdict::slow, "neither HOME nor XDG_CACHE_HOME");
  at_.settings.tuner_table = at_.root + "/tables/mine.json";
  expect("cache folder", Verdict::fine, "/tables");
  at_.settings.tuner_table = "/proc/self/mine.json";
  expect("cache folder", Verdict::slow, "/proc/self");
  at_.settings.tuner_table = "none";
  expect("cache folder", Verdict::fine);
}

TEST_F(Checks, AddressSpace) {
  at_.settings.segment_size = std::size_t{1} << 40;
  at_.plan.ranks = 3;
  expect("address space", Verdict::fine);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer takes more address space than that";
#endif
  const Limit limit(RLIMIT_AS, (std::size_t{5} << 40) / 2);
  expect("address space", Verdict::slow, "use a network");
  at_.plan.ranks = 2;
  expect("address space", Verdict::fine);
  at_.settings.segment_size = std::size_t{3} << 40;
  expect("address space", Verdict::fails, "cannot reserve");
}

TEST_F(Checks, ProcessesAndThreads) {
  at_.plan = {.ranks = 4, .threads = 8};
  write("/proc/self/status", "CapEff:\t0000000001000000\n");
  expect("processes and threads", Verdict::fine, "the cgroup sets no limit");
  write("/proc/self/mountinfo", "1 1 0:1 / /sys/fs/cgroup rw - cgroup2 none rw");
  write("/proc/self/cgroup", "0::/job/step");
  write("/sys/fs/cgroup/job/step/cgroup.procs", "");
  write("/sys/fs/cgroup/job/step/pids.max", "max");
  write("/sys/fs/cgroup/job/step/pids.current", "5");
  write("/sys/fs/cgroup/job/pids.max", "100");
  write("/sys/fs/cgroup/job/pids.current", "60");
  expect("processes and threads", Verdict::fine, "allows 40 more");
  write("/sys/fs/cgroup/job/pids.current", "61");
  expect("processes and threads", Verdict::fails, "allows 39 more");
}

TEST_F(Checks, TasksOfTheUserCountAgainstItsLimit) {
  at_.plan = {.ranks = 2, .threads = 3};
  write("/proc/17/status", fmt::format("Uid:\t{0}\t{0}\t{0}\t{0}\nThreads:\t30", ::getuid()));
  write("/proc/18/status", fmt::format("Uid:\t{0}\t{0}\t{0}\t{0}\nThreads:\t900", ::getuid() + 1));
  {
    const Limit limit(RLIMIT_NPROC, 40);
    expect("processes and threads", Verdict::fine, "10 more (30 of 40 are used)");
  }
  const Limit limit(RLIMIT_NPROC, 39);
  expect("processes and threads", Verdict::fails, "9 more");
}

TEST_F(Checks, LockedMemoryMattersOnlyToRdma) {
  const Limit limit(RLIMIT_MEMLOCK, 65536);
  expect("locked memory", Verdict::fine, "no RDMA device");
  write("/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE");
  expect("locked memory", Verdict::fails, "64 KiB");
  write("/proc/self/status", "CapEff:\t0000000000004000\n");
  expect("locked memory", Verdict::fine, "CAP_IPC_LOCK");
}

TEST_F(Checks, CoreFilesOfSeveralRanks) {
  const Limit limit(RLIMIT_CORE, 4096);
  at_.plan.ranks = 2;
  write("/proc/sys/kernel/core_pattern", "core");
  write("/proc/sys/kernel/core_uses_pid", "0");
  expect("core dumps", Verdict::note, "overwrite");
  for (const char* pattern : {"core.%p", "|/usr/lib/systemd/systemd-coredump %P"}) {
    write("/proc/sys/kernel/core_pattern", pattern);
    expect("core dumps", Verdict::fine);
  }
  write("/proc/sys/kernel/core_pattern", "core");
  write("/proc/sys/kernel/core_uses_pid", "1");
  expect("core dumps", Verdict::fine);
}

TEST_F(Checks, MemoryForAllRanks) {
  at_.plan = {.ranks = 4, .allocated = std::size_t{1000} << 20};
  expect("available memory", Verdict::fine, "4 GiB available");
  at_.plan.allocated = std::size_t{1020} << 20;
  expect("available memory", Verdict::fails, "OMPL_ERR_MEMORY");
  std::filesystem::remove(at_.root + "/proc/meminfo");
  expect("available memory", Verdict::note, "not known");
}

TEST_F(Checks, SharedMemory) {
  expect("shared memory", Verdict::slow, "/dev/shm");
  std::filesystem::create_directories(at_.root + "/dev/shm");
  expect("shared memory", Verdict::fine, "free of");
  at_.plan.ranks = 1U << 30;
  expect("shared memory", Verdict::slow, "MPI");
}

TEST_F(Checks, HugePages) {
  const std::string file = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";
  expect("huge pages", Verdict::note, "not offered");
  write(file, "always within_size advise [never] deny force");
  expect("huge pages", Verdict::note, "never");
  write(file, "always within_size [advise] never deny force");
  expect("huge pages", Verdict::fine);
  write(file, "always within_size advise never [deny] force");
  at_.settings.huge_pages = "never";
  expect("huge pages", Verdict::fine, "not wanted");
}

TEST_F(Checks, MemoryNodes) {
  write("/proc/sys/kernel/numa_balancing", "1");
  write("/sys/devices/system/node/online", "0");
  expect("memory nodes", Verdict::fine);
  write("/sys/devices/system/node/online", "0-1");
  expect("memory nodes", Verdict::note, "balancing on");
  write("/proc/sys/kernel/numa_balancing", "0");
  expect("memory nodes", Verdict::fine, "balancing off");
}

TEST_F(Checks, ProcessorsForAllThreads) {
  std::array<uint64_t, 16> mask{};
  arch::affinity(mask);
  const auto allowed = static_cast<uint32_t>(arch::processors_of(mask).size());
  write("/sys/devices/system/cpu/online", fmt::format("0-{},4000", allowed - 1));
  at_.plan = {.ranks = 1, .threads = allowed};
  expect("processors", Verdict::fine);
  at_.plan = {.ranks = 2, .threads = allowed};
  expect("processors", Verdict::slow, "take turns");
  at_.launched.ranks =
      2;  // one of two ranks that a launcher has bound: the machine has one processor more
  expect("processors", Verdict::fine);
  write("/sys/devices/system/cpu/online", fmt::format("0-{}", allowed - 1));
  expect("processors", Verdict::slow);
}

TEST_F(Checks, QuotaOfTheCgroup) {
  write("/proc/self/mountinfo", "1 1 0:1 / /sys/fs/cgroup rw - cgroup2 none rw");
  write("/proc/self/cgroup", "0::/");
  write("/sys/fs/cgroup/cgroup.procs", "");
  write("/sys/fs/cgroup/cpu.max", "100000 100000");
  expect("processors", Verdict::fine, "1 by the quota");
  std::array<uint64_t, 16> mask{};
  arch::affinity(mask);
  if (arch::processors_of(mask).size() < 2) GTEST_SKIP() << "one processor is less than any quota";
  at_.plan.threads = 2;
  expect("processors", Verdict::slow, "the kernel stops all threads");
}

TEST_F(Checks, OfflineProcessors) {
  write("/sys/devices/system/cpu/offline", "");
  expect("offline processors", Verdict::fine);
  write("/sys/devices/system/cpu/offline", "2,5-7");
  expect("offline processors", Verdict::note, "processors 2,5-7");
}

TEST_F(Checks, FrequencyGovernors) {
  expect("frequency governor", Verdict::fine, "no governor");
  std::array<uint64_t, 16> mask{};
  arch::affinity(mask);
  const auto govern = [&](const char* governor, const char* driver) {
    for (const unsigned processor : arch::processors_of(mask)) {
      const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/", processor);
      write(folder + "scaling_governor", governor);
      write(folder + "scaling_driver", driver);
    }
  };
  govern("performance", "acpi-cpufreq");
  expect("frequency governor", Verdict::fine, "performance");
  govern("powersave", "acpi-cpufreq");
  expect("frequency governor", Verdict::slow, "powersave");
  govern("powersave", "intel_pstate");
  expect("frequency governor", Verdict::note, "by the processor");
  govern("schedutil", "acpi-cpufreq");
  expect("frequency governor", Verdict::note, "schedutil");
}

TEST_F(Checks, PoliciesThatLetOthersGoFirst) {
  for (const auto& [policy, verdict] : {std::pair{SCHED_IDLE, Verdict::slow},
                                        {SCHED_FIFO, Verdict::slow},
                                        {SCHED_RR | SCHED_RESET_ON_FORK, Verdict::slow}}) {
    pretended_policy = policy;
    expect("scheduling", verdict, "policy ");
  }
  pretended_policy = -1;
  if (::getpriority(PRIO_PROCESS, 0) == 0) expect("scheduling", Verdict::fine, "policy other, nice 0");
}

TEST_F(Checks, Clocks) {
  const std::string file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
  expect("clock", Verdict::note, "not known");
  for (const char* quick : {"tsc", "kvm-clock", "arch_sys_counter"}) {
    write(file, quick);
    expect("clock", Verdict::fine, quick);
  }
  write(file, "hpet");
  expect("clock", Verdict::slow, "hpet");
}

TEST_F(Checks, ProcAndSys) {
  expect("/proc and /sys", Verdict::note, "/sys is missing");
  write("/sys/devices/system/cpu/online", "0");
  expect("/proc and /sys", Verdict::fine);
  std::filesystem::remove_all(at_.root + "/proc");
  expect("/proc and /sys", Verdict::slow, "/proc is missing");
}

TEST_F(Checks, AFilterOfSystemCalls) {
  expect("seccomp", Verdict::fine);
  write("/proc/self/status", "Seccomp:\t2\n");
  expect("seccomp", Verdict::note, "a filter");
}

TEST_F(Checks, KindsOfContainers) {
  expect("namespaces", Verdict::fine);
  variables_["container"] = "lxc";
  expect("namespaces", Verdict::note, "container: lxc");
  write("/.dockerenv", "");
  expect("namespaces", Verdict::note, "container: Docker");
}

TEST_F(Checks, RdmaDevicesAndTheirLinks) {
  expect("RDMA devices", Verdict::fine, "none");
  at_.plan.nodes = 2;
  write("/sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN");
  write("/sys/class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand");
  expect("RDMA devices", Verdict::slow, "mlx5_0:1 InfiniBand 1: DOWN");
  write("/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE");
  expect("RDMA devices", Verdict::slow, "uverbs");
  write("/dev/infiniband/uverbs0", "");
#ifdef OMPL_HAVE_VERBS
  expect("RDMA devices", Verdict::fine, "4: ACTIVE");
#else
  expect("RDMA devices", Verdict::slow, "no conduit verbs");
#endif
  at_.plan.nodes = 1;
  write("/sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN");
  expect("RDMA devices", Verdict::note);
}

TEST_F(Checks, ConduitsThatAreNotThere) {
  at_.settings.conduits = "self,shm";
  expect("conduits", Verdict::note, "no network");
  at_.plan.nodes = 2;
  expect("conduits", Verdict::fails, "no network");
  at_.settings.conduits = "self,shm,mpi";  // only the program knows its MPI
  expect("conduits", Verdict::fine, "mpi: ");
  at_.plan = {.ranks = 2};
  at_.settings.conduits = "self";
  expect("conduits", Verdict::fails, "shm: left out");
  at_.settings.conduits = "self,shm,nonesuch";
  expect("conduits", Verdict::slow, "not in this build: \"nonesuch\"");
}

TEST_F(Checks, ACheckThatDiesIsAFinding) {
  const Check dies{"test", "dies",
                   [](const Surroundings&) -> Finding {
                     ::raise(SIGKILL);
                     return {};
                   },
                   "", ""};
  const Finding killed = look_apart(dies, at_);
  EXPECT_EQ(killed.verdict, Verdict::fails);
  EXPECT_NE(killed.found.find("SIGKILL"), std::string::npos) << killed.found;
  const Check ends{"test", "ends", [](const Surroundings&) -> Finding { ::_exit(0); }, "", ""};
  EXPECT_EQ(look_apart(ends, at_).verdict, Verdict::fails);
  const Check sleeps{"test", "sleeps",
                     [](const Surroundings&) -> Finding {
                       ::sleep(600);
                       return {};
                     },
                     "", ""};
  const Finding late = look_apart(sleeps, at_, std::chrono::milliseconds(100));
  EXPECT_EQ(late.verdict, Verdict::fails);
  EXPECT_NE(late.found.find("no answer within 0.1 s"), std::string::npos) << late.found;
  const Check throws{"test", "throws",
                     [](const Surroundings&) -> Finding { throw std::runtime_error("no way"); }, "",
                     ""};
  const Finding thrown = look_apart(throws, at_);
  EXPECT_EQ(thrown.verdict, Verdict::note);
  EXPECT_NE(thrown.found.find("no way"), std::string::npos) << thrown.found;
}

TEST_F(Checks, WhatAFindingSays) {
  const auto slow = [](const Surroundings&) -> Finding {
    return {.verdict = Verdict::slow, .found = "a\xff\n"};
  };
  const auto fine = [](const Surroundings&) -> Finding { return {.found = "b", .means = "nothing"}; };
  const std::vector<Check> checks{{"test", "slow", slow, "it is slow", "change it"},
                                  {"test", "fine", fine, "it is slow", "change it"}};
  std::vector<Row> rows;
  for (const Check& check : checks) rows.push_back({check, look_apart(check, at_)});
  EXPECT_EQ(rows[0].finding.means, "it is slow");
  EXPECT_EQ(rows[0].finding.change, "change it");
  EXPECT_EQ(rows[1].finding.means + rows[1].finding.change, "");
  EXPECT_EQ(status_of(verdict_of(rows)), 1);
  const std::string text = table(rows);
  EXPECT_NE(text.find("slow   test: slow"), std::string::npos) << text;
  EXPECT_NE(text.find("change: change it"), std::string::npos) << text;
  EXPECT_NE(text.find("0 fails, 1 slow, 0 note, 1 fine"), std::string::npos) << text;
  const std::string document = json(at_, rows);
  EXPECT_NE(document.find("\"status\": 1"), std::string::npos) << document;
  rows.erase(rows.begin());
  EXPECT_EQ(status_of(verdict_of(rows)), 0);
  rows[0].finding.verdict = Verdict::note;
  EXPECT_EQ(status_of(verdict_of(rows)), 0);
  rows[0].finding.verdict = Verdict::fails;
  EXPECT_EQ(status_of(verdict_of(rows)), 2);
}

}  // namespace
}  // namespace ompl::check
