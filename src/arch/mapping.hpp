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
constexpr uint32_t place_of_peer(uint32_t rank) { return 1 + rank % 127; }

// How far apart segments of `capacity` bytes lie in a file that holds those of several ranks, so that they come to lie at different
// places; and where such a file is mapped by the rank whose own segment begins at `own_offset` in it.
std::size_t segment_stride(std::size_t capacity);
uint32_t place_of_file(uint64_t own_offset);

}  // namespace ompl::arch
