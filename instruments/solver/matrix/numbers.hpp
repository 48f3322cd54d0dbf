// SPDX-License-Identifier: BSD-3-Clause
// Numbers as files of matrices have them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "solver/matrix/lines.hpp"

namespace ompl::solver {

// Takes the next word, without the blanks around it, off `rest`; "" at the end.
[[nodiscard]] std::string_view take_word(std::string_view& rest);

[[nodiscard]] std::string_view trim(std::string_view text);
[[nodiscard]] std::string lower(std::string_view text);

// What a message can bear of a word, without what a terminal might obey.
[[nodiscard]] std::string shown(std::string_view text);

// These fail with the line, naming what was meant.
[[nodiscard]] uint64_t parse_count(const Lines& lines, std::string_view word, const char* what);
// A size that must fit kMostRows and be above 0.
[[nodiscard]] uint32_t parse_size(const Lines& lines, std::string_view word, const char* what);
// From 1 to `most`; returns it less 1.
[[nodiscard]] uint32_t parse_index(const Lines& lines, std::string_view word, const char* what,
                                   uint32_t most);
// A finite number; Fortran's exponents (1.5D+03, 1.5+103) too.
[[nodiscard]] double parse_real(const Lines& lines, std::string_view word);

}  // namespace ompl::solver
