// SPDX-License-Identifier: BSD-3-Clause
#include "leftovers.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>
#include <memory>
#include <system_error>

#include "bootstrap/pmi1_wire.hpp"

namespace omplrun {
namespace {

// A killed process takes a moment to vanish, and may have just begun another one.
constexpr int kQuietRounds = 3;
constexpr useconds_t kRoundMicroseconds = 5000;
constexpr int kMostRounds = 1000;

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

bool is_marked(std::string_view pid, const std::string& mark) {
  std::ifstream file(fmt::format("/proc/{}/environ", pid), std::ios::binary);
  const std::string environment{std::istreambuf_iterator<char>(file), {}};
  return environment.find(mark) != std::string::npos;
}

[[noreturn]] void guard(int line, const std::string& mark) {
  prctl(PR_SET_NAME, "omplrun-guard");
  setsid();  // what is sent to omplrun's terminal or process group is not for this process
  dup2(line, STDIN_FILENO);
  close_range(STDERR_FILENO + 1, ~0U, 0);  // above all, the other end of the line
  dup2(STDIN_FILENO, STDOUT_FILENO);       // nobody shall wait for this process to close them
  dup2(STDIN_FILENO, STDERR_FILENO);
  char word = 0;
  ssize_t count = 0;
  do {
    count = read(STDIN_FILENO, &word, 1);
  } while (count < 0 && errno == EINTR);
  if (count == 1) _exit(0);  // dismissed
  for (int round = 0, quiet = 0; round < kMostRounds && quiet < kQuietRounds; ++round) {
    quiet = kill_marked(mark) == 0 ? quiet + 1 : 0;
    usleep(kRoundMicroseconds);
  }
  _exit(0);
}

}  // namespace

std::string random_mark() {
  std::array<unsigned char, 12> random;
  if (getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  return fmt::format("OMPLRUN_JOB_{:02x}", fmt::join(random, ""));
}

int kill_marked(const std::string& mark) {
  int found = 0;
  const std::unique_ptr<DIR, CloseDirectory> processes(opendir("/proc"));
  if (!processes) return 0;
  while (const dirent* entry = readdir(processes.get())) {
    const auto pid = ompl::bootstrap::pmi1::to_number(entry->d_name);
    if (!pid || !is_marked(entry->d_name, mark)) continue;
    if (kill(static_cast<pid_t>(*pid), SIGKILL) == 0) ++found;
  }
  return found;
}

Guard::Guard(const std::string& mark) {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw std::system_error(errno, std::generic_category(), "pipe2");
  const Fd read_end(ends[0]);
  line_ = Fd(ends[1]);
  pid_ = fork();
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid_ == 0) guard(read_end.get(), mark);
}

Guard::~Guard() {
  if (line_) wait();
}

void Guard::dismiss() {
  [[maybe_unused]] const ssize_t told = write(line_.get(), "", 1);
  wait();
}

void Guard::wait() {
  line_.reset();
  waitpid(pid_, nullptr, 0);
}

}  // namespace omplrun
