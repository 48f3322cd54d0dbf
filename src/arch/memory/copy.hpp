// SPDX-License-Identifier: BSD-3-Clause
// The copy of a direct put or get. Ordinary stores: a later release or seq_cst operation of the same
// thread publishes them, also after the large copy, which ends in a store fence if it used
// non-temporal stores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ompl::arch {

// Copies of more bytes than a function call costs; chosen by size, see copy.cpp.
void copy_long(void* to, const void* from, std::size_t length);

namespace detail {
template <class Word>
inline void ends(void* to, const void* from, std::size_t length) {
  // Two overlapping words cover sizeof(Word) .. 2 * sizeof(Word) bytes.
  Word head;
  Word tail;
  std::memcpy(&head, from, sizeof head);
  std::memcpy(&tail, static_cast<const char*>(from) + length - sizeof tail, sizeof tail);
  std::memcpy(to, &head, sizeof head);
  std::memcpy(static_cast<char*>(to) + length - sizeof tail, &tail, sizeof tail);
}
}  // namespace detail

inline void copy(void* to, const void* from, std::size_t length) {
  if (length == 8) [[likely]] {
    detail::ends<uint64_t>(to, from, 8);
  } else if (length > 16) {
    copy_long(to, from, length);
  } else if (length > 8) {
    detail::ends<uint64_t>(to, from, length);
  } else if (length >= 4) {
    detail::ends<uint32_t>(to, from, length);
  } else if (length >= 2) {
    detail::ends<uint16_t>(to, from, length);
  } else if (length == 1) {
    std::memcpy(to, from, 1);
  }
}

}  // namespace ompl::arch
