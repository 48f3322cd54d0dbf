// SPDX-License-Identifier: BSD-3-Clause
// Waiting until some of several conditions hold, of whatever kind.
#pragma once

#include <cstddef>

#include "core/wait/block.hpp"

namespace ompl {

// Until `holds(i)` for at least one i below `count`, which may take what it finds; stores up to `most` of those i in `indices`
// and their number in *found. With a `most` of 1 the search begins behind the one found last by this context, so that none starves.
// `name`: of the call, for the error's text.
template <class Holds>
int wait_for_some(Context& c, const Blocked& what, const char* name, std::size_t count,
                  std::size_t* indices, std::size_t most, std::size_t* found, Deadline deadline,
                  Holds holds) {
  if (indices == nullptr || found == nullptr)
    return fail(OMPL_ERR_ARG, "{}: a result pointer is null", name);
  std::size_t met = 0;
  const std::size_t from = most == 1 ? c.searched_from % count : 0;
  Blocker blocker(c, what, deadline);
  const int code = blocker.run([&] {
    for (std::size_t i = 0; i < count && met < most; ++i) {
      const std::size_t index = (from + i) % count;
      if (holds(index)) indices[met++] = index;
    }
    return met > 0 ? 1 : 0;
  });
  if (code != OMPL_OK) return code;
  *found = met;
  Context& now = blocker.context();
  now.searched_from = indices[met - 1] + 1;
  now.statistics.waits += met;
  return OMPL_OK;
}

}  // namespace ompl
