// SPDX-License-Identifier: BSD-3-Clause
// Memory of the program that becomes a second mapping of pages of a file, and private again.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ompl::arch {

// Whether all of [address, address + length) is mapped private, to read and write.
bool is_private_memory(const void* address, std::size_t length);

// Copies [address, address + length) to `copy`, where the pages of `fd` from `offset` on are mapped, and maps those pages at
// `address`. Whole pages; nobody else may change or read that memory meanwhile, and no signal handler runs. False, with
// errno set: the memory is as before.
bool share_memory(void* address, std::size_t length, void* copy, int fd, uint64_t offset);

// Private memory of that many bytes; nullptr, with errno set: there is none.
void* reserve_private(std::size_t length);
// Puts such memory, with what it holds, in the place of what is mapped at `address`. False, with errno set: neither is changed.
bool put_in_place(void* memory, std::size_t length, void* address);
// The same for the child of a fork, where nobody may be told: other threads may have held any lock.
bool move_private(void* memory, std::size_t length, void* address);

}  // namespace ompl::arch
