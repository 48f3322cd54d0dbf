// SPDX-License-Identifier: BSD-3-Clause
#include "model/readers/isolated.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "common/input_error.hpp"

namespace ompl::model {

namespace {

[[noreturn]] void run(int errors, pid_t parent, const std::function<int()>& work) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent || dup2(errors, STDERR_FILENO) < 0) std::_Exit(1);
  std::exit(work());  // NOLINT(concurrency-mt-unsafe)
}

std::string read_all(int file) {
  std::string out;
  std::array<char, 4096> piece{};
  lseek(file, 0, SEEK_SET);
  for (ssize_t count = 0; (count = read(file, piece.data(), piece.size())) > 0;)
    out.append(piece.data(), static_cast<std::size_t>(count));
  return out;
}

}  // namespace

int isolated(const std::string& input, const std::function<int()>& work) {
  const int errors = memfd_create("errors", MFD_CLOEXEC);
  std::fflush(nullptr);
  std::signal(SIGCHLD, SIG_DFL);  // where it is ignored a child leaves no status
  const pid_t parent = getpid();
  const pid_t child = errors < 0 ? -1 : fork();
  if (child < 0) refuse("{}: no process to read it in: {}", input, std::strerror(errno));
  if (child == 0) run(errors, parent, work);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const std::string said = read_all(errors);
  close(errors);
  if (WIFSIGNALED(status))
    refuse(
        "{}: it cannot be read: the process that did so ended by signal {} ({}); the file is damaged, "
        "or memory was short",
        input, WTERMSIG(status), strsignal(WTERMSIG(status)));
  std::fputs(said.c_str(), stderr);
  return WEXITSTATUS(status);
}

}  // namespace ompl::model
