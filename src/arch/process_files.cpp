// SPDX-License-Identifier: BSD-3-Clause
#include "arch/process_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ompl::arch {
namespace {

uint64_t own_namespace(const char* kind) {
  struct stat status {};
  return ::stat(fmt::format("/proc/self/ns/{}", kind).c_str(), &status) == 0 ? status.st_ino : 0;
}

}  // namespace

ProcessView ProcessView::own() {
  return {.pid = ::getpid(),
          .pid_namespace = own_namespace("pid"),
          .user_namespace = own_namespace("user"),
          .dumpable = ::prctl(PR_GET_DUMPABLE) == 1};
}

int open_descriptor_of(pid_t pid, int fd, int flags) {
  return ::open(fmt::format("/proc/{}/fd/{}", pid, fd).c_str(), flags | O_CLOEXEC);
}

uint64_t inode_of(int fd) {
  struct stat status {};
  return fd >= 0 && ::fstat(fd, &status) == 0 ? status.st_ino : 0;
}

bool is_file(int fd, uint64_t inode, uint64_t length) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && status.st_ino == inode &&
         static_cast<uint64_t>(status.st_size) == length;
}

}  // namespace ompl::arch
