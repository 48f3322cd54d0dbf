// SPDX-License-Identifier: BSD-3-Clause
// omplrun: starts the ranks of a job on this machine.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <exception>

#include "job.hpp"
#include "options.hpp"

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
    fmt::print(stderr, "omplrun: {}\n", error.what());
    return 1;
  }
}
