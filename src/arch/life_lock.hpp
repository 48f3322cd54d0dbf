// SPDX-License-Identifier: BSD-3-Clause
// A lock that a process holds on a byte of a file until it ends, however that happens: POSIX record locks are the process's own, and
// a fork has no part in them.
#pragma once

#include <fcntl.h>

#include <cstdint>

#include "arch/system_call.hpp"

namespace ompl::arch {

inline struct flock life_lock_at(uint64_t byte) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(byte);
  lock.l_len = 1;
  return lock;
}

// False if the system has no such locks. The process gives it up by closing any descriptor of that file.
inline bool hold_life_lock(int fd, uint64_t byte = 0) {
  struct flock lock = life_lock_at(byte);
  return uninterrupted([&] { return ::fcntl(fd, F_SETLK, &lock); }) == 0;
}

// Whether another process holds it; true also if that cannot be found out.
inline bool is_life_lock_held(int fd, uint64_t byte = 0) {
  struct flock lock = life_lock_at(byte);
  return uninterrupted([&] { return ::fcntl(fd, F_GETLK, &lock); }) != 0 || lock.l_type != F_UNLCK;
}

// The other process that holds it, as this one's PID namespace numbers it, or 0.
inline pid_t holder_of_life_lock(int fd, uint64_t byte) {
  struct flock lock = life_lock_at(byte);
  const int result = uninterrupted([&] { return ::fcntl(fd, F_GETLK, &lock); });
  return result == 0 && lock.l_type != F_UNLCK ? lock.l_pid : 0;
}

}  // namespace ompl::arch
