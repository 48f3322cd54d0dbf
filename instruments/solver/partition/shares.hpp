// SPDX-License-Identifier: BSD-3-Clause
// A coordinate file of Matrix Market that several read at once: each takes the lines that begin in its share of the
// bytes. Nobody knows how many lines and entries stand before his own until all have read; so who must refuse reads his
// share again, and what is refused has the file's line, as if one had read it all.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>

#include "solver/matrix/matrix_market.hpp"

namespace ompl::solver {

// Bytes of a file, from `first` up to, but without, `last`.
struct Share {
  uint64_t first, last;
};

// One of so many shares of what follows the head, in the file's order; `size` is the file's.
[[nodiscard]] Share share_of(const MatrixMarketHead& head, uint64_t size, uint32_t index,
                             uint32_t shares);

// What was found in a share, up to what is wrong with it.
struct Tally {
  uint64_t entries = 0, lines = 0;
  uint64_t refused = 0;  // 1: something is wrong
};

// Gives each entry to take(), its line counted from the share's first, which is 1. Does not throw InputError.
[[nodiscard]] Tally read_share(Lines lines, const MatrixMarketHead& head, Share share,
                               const std::function<void(const Entry&)>& take);

// Where reading from the file's beginning would have ended, and what stands before that share.
struct Fault {
  std::size_t share;
  uint64_t entries, lines;
};

// Of all shares, in the file's order. Throws InputError for fewer entries than the head says. `file`: for its name.
[[nodiscard]] std::optional<Fault> first_fault(const Lines& file, const MatrixMarketHead& head,
                                               std::span<const Tally> tallies);

// Throws InputError for that share.
[[noreturn]] void refuse_share(Lines lines, const MatrixMarketHead& head, Share share,
                               const Fault& fault);

}  // namespace ompl::solver
