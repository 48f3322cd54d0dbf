// SPDX-License-Identifier: BSD-3-Clause
// Where a segment is mapped.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ompl::arch {

// Maps `length` bytes of `fd` from `offset` on, shared, to read and write, at one of 128 places, which differ in bits 21 to 27
// of the address. Returns MAP_FAILED as mmap does, and sets errno.
//
// Equal offsets in the own segment and in those of 127 consecutive ranks get addresses that differ in those bits. AMD's first-level
// cache finds lines by a hash of the bits 12 to 27 of their addresses (Lipp et al., "Take A Way: Exploring the
// Security Implications of AMD's Cache Way Predictors", 2020): of two lines with equal hashes in one set it holds
// only one, and a thread that polls its own flag and raises the same flag of its peer would lose one at each turn.
void* map_segment(int fd, std::size_t length, uint32_t place, uint64_t offset = 0);

// The own segment begins at a multiple of 256 MiB on every rank, so that an offset is aligned as its address is.
constexpr uint32_t kOwnPlace = 0;
// The place of another rank's segment; the two numbers are counted alike, among all ranks or among those of the node.
constexpr uint32_t place_of(uint32_t rank, uint32_t own) { return (rank - own) % 128; }

// How far apart segments of `capacity` bytes lie in a file that holds those of consecutive ranks, so that each comes to lie at its
// place when the file is mapped at that of the first.
std::size_t segment_stride(std::size_t capacity);

}  // namespace ompl::arch
