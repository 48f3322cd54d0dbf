// SPDX-License-Identifier: BSD-3-Clause
// Where a segment is mapped.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ompl::arch {

// Maps the first `length` bytes of `fd`, shared, to read and write; `rank` is whose segment it is. Returns
// MAP_FAILED as mmap does, and sets errno.
//
// Equal offsets in the segments of 128 consecutive ranks get addresses that differ in bits 21 to 27. AMD's first-level
// cache finds lines by a hash of the bits 12 to 27 of their addresses (Lipp et al., "Take A Way: Exploring the
// Security Implications of AMD's Cache Way Predictors", 2020): of two lines with equal hashes in one set it holds
// only one, and a thread that polls its own flag and raises the same flag of its peer would lose one at each turn.
void* map_segment(int fd, std::size_t length, uint32_t rank);

}  // namespace ompl::arch
