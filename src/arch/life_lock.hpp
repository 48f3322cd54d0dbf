// SPDX-License-Identifier: BSD-3-Clause
// A lock that a process holds on a file until it ends, however that happens: POSIX record locks are the process's own, and a fork
// has no part in them.
#pragma once

#include <fcntl.h>

#include "arch/system_call.hpp"

namespace ompl::arch {

// False if the system has no such locks. The process gives it up by closing any descriptor of that file.
inline bool hold_life_lock(int fd) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  return uninterrupted([&] { return ::fcntl(fd, F_SETLK, &lock); }) == 0;
}

// Whether another process holds it; true also if that cannot be found out.
inline bool is_life_lock_held(int fd) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  return uninterrupted([&] { return ::fcntl(fd, F_GETLK, &lock); }) != 0 || lock.l_type != F_UNLCK;
}

}  // namespace ompl::arch
