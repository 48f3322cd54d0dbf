// SPDX-License-Identifier: BSD-3-Clause
// What one rank refuses, all refuse.
#pragma once

#include <functional>
#include <string>

namespace ompl::solver {

// Why f() cannot be done on this rank: the input, memory or threads. "" if it is done.
[[nodiscard]] std::string refusal_of(const std::function<void()>& f);

// f() on every rank. Where it cannot be done on one, throws InputError on all, with the words of the lowest: for what
// concerns all, such as the line of a file, whoever has read it. f() may not be collective; this is. Throws LayerError.
void alike(const std::function<void()>& f);

}  // namespace ompl::solver
