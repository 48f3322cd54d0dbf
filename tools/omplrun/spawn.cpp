// SPDX-License-Identifier: BSD-3-Clause
#include "spawn.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "event_loop.hpp"
#include "util/status.hpp"

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

// What the new process tells of its failure, through a pipe.
struct Failure {
  int error = 0;
  char call[24] = {};
};

// In the new process: becomes the program, or returns the call that failed, with errno set.
const char* become_program(const ProcessPlan& plan, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);         // omplrun ended before the line above
  if (setpgid(0, 0) != 0) return "setpgid";  // by its group it is ended
  if (dup2(plan.standard_input, STDIN_FILENO) < 0 || dup2(plan.standard_output, STDOUT_FILENO) < 0 ||
      dup2(plan.standard_error, STDERR_FILENO) < 0)
    return "dup2";
  if (fcntl(plan.pmi, F_SETFD, 0) < 0) return "fcntl";
  if (!plan.directory.empty() && chdir(plan.directory.c_str()) != 0) return "chdir";
  set_environment(plan.environment);
  plan.prepare();
  signal(SIGPIPE, SIG_DFL);
  sigprocmask(SIG_SETMASK, &plan.signal_mask, nullptr);
  std::vector<char*> arguments;
  for (const auto& argument : plan.command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments.front(), arguments.data());
  return "execve";
}

}  // namespace

pid_t spawn(const ProcessPlan& plan, std::string* why) {
  std::array<int, 2> ends;  // exec closes the pipe
  if (pipe2(ends.data(), O_CLOEXEC) != 0) give_up("pipe2");
  const Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  const pid_t parent = getpid();
  // omplrun has one thread and little memory: a plain fork is quick, and safe to run any code after.
  const pid_t pid = fork();
  if (pid < 0) give_up("fork");
  Failure failure;
  if (pid == 0) {
    const char* const call = become_program(plan, parent);
    failure.error = errno;
    std::strncpy(failure.call, call, sizeof failure.call - 1);
    [[maybe_unused]] const ssize_t told = write(write_end.get(), &failure, sizeof failure);
    _exit(127);
  }
  write_end.reset();
  ssize_t count = 0;
  do {
    count = read(read_end.get(), &failure, sizeof failure);
  } while (count < 0 && errno == EINTR);
  if (count != sizeof failure) return pid;
  waitpid(pid, nullptr, 0);
  const bool of_program = failure.call == std::string_view("execve") && failure.error != ENOSYS;
  *why = of_program ? ompl::error_text(failure.error) : ompl::call_text(failure.call, failure.error);
  return -failure.error;
}

}  // namespace omplrun
