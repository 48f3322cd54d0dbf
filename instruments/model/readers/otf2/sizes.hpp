// SPDX-License-Identifier: BSD-3-Clause
// The bytes of collectives. OTF2 has what a rank sends and what it receives in all, its own part among it, as Score-P
// counts them; docs/reference/trace-format.md has the vector or the block.
#pragma once

#include <cstdint>
#include <span>

#include "trace/reader/reader.hpp"

namespace ompl::model::otf2 {

// A rank in an operation.
struct Part {
  trace::Kind kind;  // the blocking form
  uint64_t rank, size, root;
};

struct Sizes {
  uint64_t sent, received;
};

// `bytes`, `sent` and `received` as docs/reference/trace-format.md has them; the counts may be empty.
[[nodiscard]] Sizes sizes_of(const Part& part, uint64_t bytes, std::span<const uint64_t> sent,
                             std::span<const uint64_t> received);

// The other way. Exact where ranks have the same amount; in the forms with counts the mean. OTF2 does not tell
// MPI_IN_PLACE, of which a rank's own part is left out: operations in which all send to all come out shorter by it.
[[nodiscard]] uint64_t bytes_of(const Part& part, const Sizes& sizes);

}  // namespace ompl::model::otf2
