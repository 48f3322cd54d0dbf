// SPDX-License-Identifier: BSD-3-Clause
// Keeps a small put at its endpoint until the signal to its rank, which mostly comes at once: then both are one request.
// Nothing may rely on a put that neither a signal nor a flush follows. Under the endpoint's claim, so without the states
// of the core's CoalescedPut, which a thread may take that is not its context's; that one serves max_fused_put.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ompl::conduit {

template <class Link>
struct PutCoalescer {
  static constexpr std::size_t kMost = 64;

  Link* link = nullptr;  // null: none
  uint64_t offset = 0;
  std::size_t length = 0;
  bool seen = false;  // by progress()
  std::array<std::byte, kMost> bytes;

  // At most kMost bytes, while there is none.
  void hold(Link& to, const void* source, uint64_t at, std::size_t count) {
    std::copy_n(static_cast<const std::byte*>(source), count, bytes.data());
    link = &to;
    offset = at;
    length = count;
    seen = false;
  }
  // Asked at every progress(): it has waited for a whole turn.
  [[nodiscard]] bool is_due() { return link != nullptr && std::exchange(seen, true); }
};

}  // namespace ompl::conduit
