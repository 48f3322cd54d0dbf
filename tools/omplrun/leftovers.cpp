// SPDX-License-Identifier: BSD-3-Clause
#include "leftovers.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>

#include "bootstrap/pmi1_wire.hpp"
#include "util/secret.hpp"
#include "util/status.hpp"

namespace omplrun {
namespace {

// A killed process takes a moment to vanish, and may have just begun another one.
constexpr int kQuietRounds = 3;
constexpr useconds_t kRoundMicroseconds = 5000;
constexpr int kMostRounds = 1000;
// Beyond, closing one after another takes too long; omplrun itself has no more.
constexpr rlim_t kMostDescriptors = 65536;

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

bool is_marked(std::string_view pid, const std::string& mark) {
  std::ifstream file(fmt::format("/proc/{}/environ", pid), std::ios::binary);
  const std::string environment{std::istreambuf_iterator<char>(file), {}};
  return environment.find(mark) != std::string::npos;
}

// The system call is newer than some kernels, and some containers refuse it.
void close_all_from(int first) {
  if (close_range(static_cast<unsigned>(first), ~0U, 0) == 0) return;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const auto end = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, kMostDescriptors));
  for (int fd = first; fd < end; ++fd) close(fd);
}

// That of a process, or -1.
pid_t parent_of(std::string_view pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  const auto name_end = text.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return -1;
  std::istringstream rest(text.substr(name_end + 1));
  char state = 0;
  pid_t parent = -1;
  rest >> state >> parent;
  return parent;
}

bool is_earlier(const timespec& a, const timespec& b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

// The files that a process has open, by device and inode; a file that is mapped only is not among them.
using FileNumber = std::pair<dev_t, ino_t>;
void forget_open_files(std::string_view pid, std::map<FileNumber, std::string>* files) {
  const std::unique_ptr<DIR, CloseDirectory> open(opendir(fmt::format("/proc/{}/fd", pid).c_str()));
  while (const dirent* entry = open ? readdir(open.get()) : nullptr) {
    struct stat file {};
    if (fstatat(dirfd(open.get()), entry->d_name, &file, 0) == 0)
      files->erase({file.st_dev, file.st_ino});
  }
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  const std::string text{std::istreambuf_iterator<char>(maps), {}};
  std::erase_if(*files,
                [&text](const auto& file) { return text.find(file.second) != std::string::npos; });
}

[[noreturn]] void guard(int line, const std::string& mark) {
  const timespec since = time_of_files();
  prctl(PR_SET_NAME, "omplrun-guard");
  setsid();  // what is sent to omplrun's terminal or process group is not for this process
  dup2(line, STDIN_FILENO);
  close_all_from(STDERR_FILENO + 1);  // above all, the other end of the line
  dup2(STDIN_FILENO, STDOUT_FILENO);  // nobody shall wait for this process to close them
  dup2(STDIN_FILENO, STDERR_FILENO);
  std::set<pid_t> ranks;
  for (pid_t word = 0;;) {
    const ssize_t count = read(STDIN_FILENO, &word, sizeof word);
    if (count < 0 && errno == EINTR) continue;
    if (count != sizeof word) break;
    if (word == 0) _exit(0);
    if (word > 0) ranks.insert(word);
    ranks.erase(-word);
  }
  for (int round = 0, quiet = 0; round < kMostRounds && quiet < kQuietRounds; ++round) {
    const auto found = kill_marked(mark);
    ranks.insert(found.begin(), found.end());
    quiet = found.empty() ? quiet + 1 : 0;
    usleep(kRoundMicroseconds);
  }
  for (const pid_t pid : ranks) remove_names_of(pid);
  remove_unused_names(since);
  _exit(0);
}

}  // namespace

std::string random_mark() {
  std::array<unsigned char, 12> random;
  for (std::size_t at = 0; at < random.size(); at += sizeof(uint64_t)) {
    const uint64_t number = ompl::unpredictable_number();
    std::memcpy(random.data() + at, &number, std::min(sizeof number, random.size() - at));
  }
  return fmt::format("OMPLRUN_JOB_{:02x}", fmt::join(random, ""));
}

std::vector<pid_t> kill_marked(const std::string& mark) {
  std::vector<pid_t> found;
  const std::unique_ptr<DIR, CloseDirectory> processes(opendir("/proc"));
  if (!processes) return found;
  while (const dirent* entry = readdir(processes.get())) {
    const auto pid = ompl::bootstrap::pmi1::to_number(entry->d_name);
    if (!pid || !is_marked(entry->d_name, mark)) continue;
    if (kill(static_cast<pid_t>(*pid), SIGKILL) == 0) found.push_back(static_cast<pid_t>(*pid));
  }
  return found;
}

std::set<pid_t> children() {
  std::set<pid_t> found;
  const std::unique_ptr<DIR, CloseDirectory> processes(opendir("/proc"));
  if (!processes) return found;
  while (const dirent* entry = readdir(processes.get())) {
    const auto pid = ompl::bootstrap::pmi1::to_number(entry->d_name);
    if (pid && parent_of(entry->d_name) == getpid()) found.insert(static_cast<pid_t>(*pid));
  }
  return found;
}

bool dies_by_signal(pid_t pid) {
  constexpr unsigned long kExiting = 4;                      // PF_EXITING of the kernel
  constexpr std::size_t kFlags = 9 - 3, kExitCode = 52 - 3;  // fields of proc(5), behind the name
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  std::istringstream words(text.substr(std::min(text.rfind(')') + 1, text.size())));
  std::vector<std::string> fields{std::istream_iterator<std::string>(words), {}};
  if (fields.size() <= kExitCode) return false;
  const bool exits = (std::strtoul(fields[kFlags].c_str(), nullptr, 10) & kExiting) != 0;
  return exits && WIFSIGNALED(static_cast<int>(std::strtol(fields[kExitCode].c_str(), nullptr, 10)));
}

void remove_names_of(pid_t pid) {
  const std::unique_ptr<DIR, CloseDirectory> names(opendir("/dev/shm"));
  if (!names) return;
  const std::string prefix = fmt::format("{}:{}:", pid, geteuid());
  while (const dirent* entry = readdir(names.get())) {
    struct stat file {};
    if (!std::string_view(entry->d_name).starts_with(prefix)) continue;
    if (fstatat(dirfd(names.get()), entry->d_name, &file, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISREG(file.st_mode) && file.st_uid == geteuid())
      unlinkat(dirfd(names.get()), entry->d_name, 0);
  }
}

timespec time_of_files() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return now;
}

void remove_unused_names(const timespec& since) {
  const std::unique_ptr<DIR, CloseDirectory> names(opendir("/dev/shm"));
  const std::unique_ptr<DIR, CloseDirectory> processes(opendir("/proc"));
  if (!names || !processes) return;
  std::map<FileNumber, std::string> files;
  while (const dirent* entry = readdir(names.get())) {
    struct stat file {};
    if (!std::string_view(entry->d_name).starts_with("ucx_shm_posix_")) continue;
    if (fstatat(dirfd(names.get()), entry->d_name, &file, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISREG(file.st_mode) && file.st_uid == geteuid() && !is_earlier(file.st_mtim, since))
      files[{file.st_dev, file.st_ino}] = entry->d_name;
  }
  while (const dirent* entry = files.empty() ? nullptr : readdir(processes.get())) {
    if (ompl::bootstrap::pmi1::to_number(entry->d_name)) forget_open_files(entry->d_name, &files);
  }
  for (const auto& [number, name] : files) unlinkat(dirfd(names.get()), name.c_str(), 0);
}

Guard::Guard(const std::string& mark) {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) give_up("pipe2");
  const Fd read_end(ends[0]);
  line_ = Fd(ends[1]);
  pid_ = fork();
  if (pid_ < 0) give_up("fork");
  if (pid_ == 0) guard(read_end.get(), mark);
}

Guard::~Guard() {
  if (line_) wait();
}

void Guard::dismiss() {
  tell(0);
  wait();
}

void Guard::tell(pid_t word) {
  [[maybe_unused]] const ssize_t told = write(line_.get(), &word, sizeof word);
}

void Guard::wait() {
  line_.reset();
  waitpid(pid_, nullptr, 0);
}

pid_t ended_child() {
  siginfo_t info{};
  if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0) return info.si_pid;
  if (errno != ECHILD) give_up("waitid");
  return -1;
}

bool has_children_in(pid_t group) {
  siginfo_t info{};
  return waitid(P_PGID, static_cast<id_t>(group), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

// No child is waited for: the options are wrong.
void try_waitpid() {
  constexpr int kNoOptions = ~0;
  if (waitpid(-1, nullptr, kNoOptions) != 0 && ompl::is_refusal(errno)) give_up("wait4");
}

}  // namespace omplrun
