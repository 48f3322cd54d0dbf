// SPDX-License-Identifier: BSD-3-Clause
#include "spawn.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "event_loop.hpp"

namespace omplrun {
namespace {

void set_environment(const std::vector<std::string>& assignments) {
  for (const auto& assignment : assignments) {
    const auto equals = assignment.find('=');
    setenv(assignment.substr(0, equals).c_str(), assignment.c_str() + equals + 1, 1);
  }
  // Variables of a launcher that started omplrun itself would mislead the ranks.
  for (const char* name : {"PMI_PORT", "PMI_ID", "PMI_JOBID", "PMI_SPAWNED", "PMIX_RANK"})
    unsetenv(name);
}

// In the new process: becomes the program, or returns with errno set.
void become_program(const ProcessPlan& plan, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // omplrun ended before the line above
  setpgid(0, 0);
  if (dup2(plan.standard_input, STDIN_FILENO) < 0 || dup2(plan.standard_output, STDOUT_FILENO) < 0 ||
      dup2(plan.standard_error, STDERR_FILENO) < 0 || fcntl(plan.pmi, F_SETFD, 0) < 0) {
    return;
  }
  if (!plan.directory.empty() && chdir(plan.directory.c_str()) != 0) return;
  set_environment(plan.environment);
  plan.prepare();
  signal(SIGPIPE, SIG_DFL);
  sigprocmask(SIG_SETMASK, &plan.signal_mask, nullptr);
  std::vector<char*> arguments;
  for (const auto& argument : plan.command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments.front(), arguments.data());
}

}  // namespace

pid_t spawn(const ProcessPlan& plan) {
  std::array<int, 2> ends;  // the errno of a failure comes through this pipe; exec closes it
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return -errno;
  const Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  const pid_t parent = getpid();
  // omplrun has one thread and little memory: a plain fork is quick, and safe to run any code after.
  const pid_t pid = fork();
  if (pid < 0) return -errno;
  if (pid == 0) {
    become_program(plan, parent);
    const int error = errno;
    [[maybe_unused]] const ssize_t told = write(write_end.get(), &error, sizeof error);
    _exit(127);
  }
  write_end.reset();
  int error = 0;
  ssize_t count = 0;
  do {
    count = read(read_end.get(), &error, sizeof error);
  } while (count < 0 && errno == EINTR);
  if (count != sizeof error) return pid;
  waitpid(pid, nullptr, 0);
  return -error;
}

}  // namespace omplrun
