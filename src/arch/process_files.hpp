// SPDX-License-Identifier: BSD-3-Clause
// Whether processes of a machine may open each other's descriptors under /proc, and doing so.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace ompl::arch {

// What decides it, of one process.
struct ProcessView {
  int32_t pid = 0;
  uint64_t pid_namespace = 0;   // 0: not known, as without /proc
  uint64_t user_namespace = 0;  // likewise
  uint8_t dumpable = 1;         // 0: nobody may open its descriptors

  // Of the calling process.
  static ProcessView own();
  // Whether each of the two shows its descriptors to the other. Both come to the same answer.
  [[nodiscard]] bool shows(const ProcessView& other) const {
    return pid_namespace != 0 && other.pid_namespace == pid_namespace && user_namespace != 0 &&
           other.user_namespace == user_namespace && other.dumpable != 0 && dumpable != 0;
  }

  // As part of what a rank tells others (util/bytes.hpp).
  template <class Writer>
  void add_to(Writer& writer) const {
    writer.add(pid).add(pid_namespace).add(user_namespace).add(dumpable);
  }
  template <class Reader>
  void get_from(Reader& reader) {
    reader.get(&pid);
    reader.get(&pid_namespace);
    reader.get(&user_namespace);
    reader.get(&dumpable);
  }
};

// Opens what /proc shows as descriptor `fd` of that process; -1 with errno if it may not be.
int open_descriptor_of(pid_t pid, int fd, int flags);

// 0: it cannot be found out.
uint64_t inode_of(int fd);
// Whether it is the file of that number, and that long.
bool is_file(int fd, uint64_t inode, uint64_t length);

}  // namespace ompl::arch
