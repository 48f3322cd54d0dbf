// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>

namespace ompl::model {

// Runs `work` in a child process, for libraries that a bad file may crash, and returns its exit status. What the child
// writes to standard error comes out once it has ended. Throws InputError, which names the input, if a signal ended it.
// Call it before there are threads.
[[nodiscard]] int isolated(const std::string& input, const std::function<int()>& work);

}  // namespace ompl::model
