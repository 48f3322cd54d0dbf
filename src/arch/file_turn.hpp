// SPDX-License-Identifier: BSD-3-Clause
// Processes that have the same file open do something one after the other. A process that ends gives its turn up.
#pragma once

#include <fcntl.h>

#include "arch/system_call.hpp"

namespace ompl::arch {

// Waits for this process's turn, and passes it on at the end of its life. By a record lock on the second byte; the first is
// that of life_lock.hpp. Without a file, or where there are no such locks, everybody's turn comes at once.
class FileTurn {
 public:
  explicit FileTurn(int fd) : fd_(fd) { lock(F_WRLCK); }
  ~FileTurn() { lock(F_UNLCK); }
  FileTurn(const FileTurn&) = delete;
  FileTurn& operator=(const FileTurn&) = delete;

 private:
  void lock(short kind) const {
    if (fd_ < 0) return;
    struct flock lock {};
    lock.l_type = kind;
    lock.l_whence = SEEK_SET;
    lock.l_start = 1;
    lock.l_len = 1;
    uninterrupted([&] { return ::fcntl(fd_, F_SETLKW, &lock); });
  }
  const int fd_;
};

}  // namespace ompl::arch
