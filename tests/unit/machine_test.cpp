// SPDX-License-Identifier: BSD-3-Clause
// What a process may use of its machine: processors, quotas and limits of cgroups, a turn for others.
#include "arch/machine.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "arch/give_way.hpp"
#include "arch/process_watch.hpp"

namespace {
// Processors of a machine that there is none of here; empty: this one's own.
std::vector<uint64_t> pretended;
}  // namespace

// In place of the C library's.
extern "C" int sched_getaffinity(pid_t pid, size_t size, cpu_set_t* set) noexcept {
  if (pretended.empty()) return ::syscall(SYS_sched_getaffinity, pid, size, set) < 0 ? -1 : 0;
  const std::size_t wanted = pretended.size() * sizeof(uint64_t);
  if (size < wanted) {
    errno = EINVAL;
    return -1;
  }
  std::fill_n(reinterpret_cast<char*>(set), size, 0);
  std::ranges::copy(pretended, reinterpret_cast<uint64_t*>(set));
  return 0;
}

namespace ompl::arch {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

int count(const std::array<uint64_t, 16>& mask) {
  int bits = 0;
  for (const uint64_t word : mask) bits += std::popcount(word);
  return bits;
}

TEST(Affinity, OfMoreThan1024Processors) {
  pretended.assign(64, 0);  // 4,096
  pretended[1] = 0b110;
  pretended[20] = 0b1;
  std::array<uint64_t, 16> mask{};
  affinity(mask);
  pretended.clear();
  EXPECT_EQ(mask[1], 0b110U);
  EXPECT_EQ(mask[20 % 16], 0b1U) << "folded: better than none";
  EXPECT_EQ(count(mask), 3);
}

TEST(Affinity, OfThisMachine) {
  std::array<uint64_t, 16> mask{};
  affinity(mask);
  EXPECT_GE(count(mask), 1);
}

// A folder that stands in for /, with what the kernel tells of cgroups.
class Cgroups : public testing::Test {
 protected:
  Cgroups() {
    std::string name = (std::filesystem::temp_directory_path() / "machine_test.XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    write("/proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable: 4096000 kB\n");
  }
  ~Cgroups() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void v2(const std::string& folder, const std::string& max, const std::string& current,
          const std::string& stat = "") {
    const std::string point = "/sys/fs/cgroup" + folder;
    write(point + "/cgroup.procs", "");
    write(point + "/memory.max", max + "\n");
    write(point + "/memory.current", current + "\n");
    write(point + "/memory.stat", stat);
  }
  void mounted(const std::string& top, const std::string& type, const std::string& point,
               const std::string& options) {
    mounts_ +=
        "30 20 0:26 " + top + " " + point + " rw,nosuid shared:4 - " + type + " none " + options + "\n";
    write("/proc/self/mountinfo", mounts_);
  }
  [[nodiscard]] std::size_t available_mib() const { return available_memory(root_) / kMiB; }

  std::string root_;
  std::string mounts_ = "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n";
};

TEST_F(Cgroups, NoneLimitNothing) {
  EXPECT_EQ(available_mib(), 4000U);
  EXPECT_EQ(core_quota(root_), UINT_MAX);
}

TEST_F(Cgroups, ALimitOfAGroupAboveCounts) {
  mounted("/", "cgroup2", "/sys/fs/cgroup", "rw");
  write("/proc/self/cgroup", "0::/job/step\n");
  v2("/job/step", "max", "1000");
  v2("/job", std::to_string(400 * kMiB), std::to_string(100 * kMiB));
  EXPECT_EQ(available_mib(), 300U);
}

TEST_F(Cgroups, CachesThatTheKernelCanDropAreNotUsed) {
  mounted("/", "cgroup2", "/sys/fs/cgroup", "rw");
  write("/proc/self/cgroup", "0::/job\n");
  const std::string stat = "anon 5\nactive_file " + std::to_string(50 * kMiB) + "\ninactive_file " +
                           std::to_string(150 * kMiB) + "\nslab_reclaimable " +
                           std::to_string(10 * kMiB) + "\n";
  v2("/job", std::to_string(400 * kMiB), std::to_string(390 * kMiB), stat);
  EXPECT_EQ(available_mib(), 220U);
}

TEST_F(Cgroups, OfVersion1) {
  mounted("/", "cgroup", "/sys/fs/cgroup/memory", "rw,memory");
  mounted("/", "cgroup", "/sys/fs/cgroup/cpu,cpuacct", "rw,cpu,cpuacct");
  write("/proc/self/cgroup", "5:cpu,cpuacct:/job/step\n4:memory:/job/step\n1:name=systemd:/x\n");
  const std::string memory = "/sys/fs/cgroup/memory/job";
  write(memory + "/memory.limit_in_bytes", std::to_string(600 * kMiB));
  write(memory + "/memory.usage_in_bytes", std::to_string(300 * kMiB));
  write(memory + "/memory.stat", "total_inactive_file " + std::to_string(100 * kMiB) + "\n");
  write(memory + "/step/cgroup.procs", "");
  write(memory + "/step/memory.limit_in_bytes", "9223372036854771712");
  write(memory + "/step/memory.usage_in_bytes", "1");
  EXPECT_EQ(available_mib(), 400U);
  const std::string cpu = "/sys/fs/cgroup/cpu,cpuacct/job";
  write(cpu + "/cpu.cfs_quota_us", "250000");
  write(cpu + "/cpu.cfs_period_us", "100000");
  write(cpu + "/step/cgroup.procs", "");
  write(cpu + "/step/cpu.cfs_quota_us", "-1");
  write(cpu + "/step/cpu.cfs_period_us", "100000");
  EXPECT_EQ(core_quota(root_), 3U);
}

TEST_F(Cgroups, TasksOfBothVersions) {
  EXPECT_EQ(available_tasks(root_), SIZE_MAX);
  mounted("/", "cgroup", "/sys/fs/cgroup/pids", "rw,pids");
  write("/proc/self/cgroup", "3:pids:/job/step\n");
  write("/sys/fs/cgroup/pids/job/step/cgroup.procs", "");
  write("/sys/fs/cgroup/pids/job/step/pids.max", "max");
  write("/sys/fs/cgroup/pids/job/step/pids.current", "7");
  EXPECT_EQ(available_tasks(root_), SIZE_MAX);
  write("/sys/fs/cgroup/pids/job/pids.max", "50");
  write("/sys/fs/cgroup/pids/job/pids.current", "20");
  EXPECT_EQ(available_tasks(root_), 30U);
  mounted("/", "cgroup2", "/sys/fs/cgroup", "rw");
  write("/proc/self/cgroup", "3:pids:/job/step\n0::/new\n");
  write("/sys/fs/cgroup/new/cgroup.procs", "");
  write("/sys/fs/cgroup/new/pids.max", "4");
  write("/sys/fs/cgroup/new/pids.current", "9");  // a limit that was lowered
  EXPECT_EQ(available_tasks(root_), 0U);
}

TEST_F(Cgroups, InAContainerTheFileSystemBeginsAtItsOwn) {
  mounted("/docker/abc", "cgroup2", "/sys/fs/cgroup", "rw");
  write("/proc/self/cgroup", "0::/docker/abc\n");
  v2("", std::to_string(200 * kMiB), "0");
  write("/sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_EQ(available_mib(), 200U);
  EXPECT_EQ(core_quota(root_), 2U);
  write("/proc/self/cgroup", "0::/elsewhere/that/is/not/seen\n");
  EXPECT_EQ(available_mib(), 200U);
}

// With sched_yield() it would have its core for itself until the system takes it away.
TEST(GiveWay, AThreadOfRealTimePriorityLetsOthersWork) {
  cpu_set_t all;
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int core = 0; CPU_COUNT(&one) == 0; ++core) {
    if (CPU_ISSET(core, &all)) CPU_SET(core, &one);
  }
  std::atomic<bool> stop{false};
  std::atomic<bool> refused{false};
  std::atomic<uint64_t> work{0};
  std::thread other([&] {
    ::sched_setaffinity(0, sizeof one, &one);
    while (!stop) ++work;
  });
  std::thread waiter([&] {
    ::sched_setaffinity(0, sizeof one, &one);
    while (work == 0) ::sched_yield();
    const sched_param priority{.sched_priority = 1};
    if (::sched_setscheduler(0, SCHED_FIFO, &priority) != 0) {
      refused = true;
      return;
    }
    for (int i = 0; i < 64; ++i) give_way();  // by now it has looked
    const uint64_t before = work;
    for (int i = 0; i < 100'000 && work == before; ++i)
      give_way();  // sched_yield() takes no time for that
    EXPECT_GT(work, before);
  });
  waiter.join();
  stop = true;
  other.join();
  if (refused) GTEST_SKIP() << "no real-time priority may be set here";
}

TEST(ProcessWatch, AnotherFileUnderItsNumberTellsNothing) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const int watch = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  if (watch < 0) GTEST_SKIP() << "no pidfds here";
  EXPECT_FALSE(tells_of_end(watch));
  const int zero = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  EXPECT_FALSE(tells_of_end(zero)) << "always readable";
  ::close(zero);
  EXPECT_FALSE(tells_of_end(zero)) << "closed";
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(tells_of_end(watch));
  ::close(watch);
}

}  // namespace
}  // namespace ompl::arch
