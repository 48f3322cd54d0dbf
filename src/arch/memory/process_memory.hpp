// SPDX-License-Identifier: BSD-3-Clause
// Memory of another process of this machine, copied by the kernel (cross-memory attach), where it permits that: same user, dumpable, and
// not forbidden by Yama (kernel.yama.ptrace_scope).
#pragma once

#include <cstddef>
#include <cstdint>

namespace ompl::arch {

// Copies `length` bytes from, or to, address `there` of process `pid`. 0, or the error: EPERM it is not permitted, ENOSYS nor to anybody,
// ESRCH there is no such process, EFAULT it has no such memory; some bytes may have been copied.
int read_process(int pid, void* to, uint64_t there, std::size_t length);
int write_process(int pid, uint64_t there, const void* from, std::size_t length);

// Whether a process may read the memory of another one of the same user that is not its child: 0, or the error. Forks a child, which tries.
int probe_process_memory();

}  // namespace ompl::arch
