// SPDX-License-Identifier: BSD-3-Clause
// omplrun: starts the ranks of a job on this machine.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <exception>
#include <string>

#include "arch/futex.hpp"
#include "job.hpp"
#include "options.hpp"
#include "util/printable.hpp"
#include "util/status.hpp"

namespace {

// Runs before the C++ library sets up its streams, which abort the process where the system refuses futexes.
[[gnu::constructor(101)]] void look_for_futexes() {
  const int error = ompl::arch::futex_refusal(true);
  if (error == 0) return;
  const std::string line = "omplrun: " + ompl::call_text("futex", error) + '\n';
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
  _exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  // Nothing we open may take the number of a standard stream that was closed.
  while (true) {
    const int fd = open("/dev/null", O_RDWR);
    if (fd > STDERR_FILENO || fd < 0) {
      close(fd);
      break;
    }
  }
  omplrun::Options options;
  if (const auto exit_code = omplrun::parse_options(argc, argv, &options)) return *exit_code;
  try {
    return omplrun::Job(options).run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "omplrun: {}\n", ompl::printable(error.what()));
    return 1;
  }
}
