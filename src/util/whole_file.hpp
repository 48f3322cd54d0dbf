// SPDX-License-Identifier: BSD-3-Clause
// Files that are there whole or not at all.
#pragma once

#include <string>
#include <string_view>

namespace ompl {

// Puts `text` into the file at `path`, in place of what is there: into a new file beside it, under a name that nobody can
// foresee, which is renamed once all is on the disk. Only this user can read it. "", or what failed: then what was at
// `path` is still there, and nothing else.
std::string write_whole(const std::string& path, std::string_view text);

}  // namespace ompl
