// SPDX-License-Identifier: BSD-3-Clause
#include "coll/meeting.hpp"

#include <cstring>

namespace ompl::coll {

int Meeting::exchange(Context& c, const std::vector<uint32_t>& ranks, uint64_t value,
                      std::vector<uint64_t>* values) {
  const uint32_t me = runtime_.rank();
  for (const uint32_t rank : ranks) {
    if (rank == me) continue;
    const uint64_t there = place(me, met_[rank]);
    const int code = runtime_.put_signal(c, &value, rank, there + offsetof(Message, value),
                                         sizeof value, {.offset = there + offsetof(Message, flag)});
    if (code != OMPL_OK) return code;
  }
  values->assign(ranks.size(), value);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const uint32_t rank = ranks[i];
    if (rank == me) continue;
    const uint64_t here = place(rank, met_[rank]++);
    const int code = runtime_.wait(c, here + offsetof(Message, flag));
    if (code != OMPL_OK) return code;
    std::memcpy(&(*values)[i], runtime_.pointer(me, here + offsetof(Message, value)), sizeof value);
  }
  return OMPL_OK;
}

}  // namespace ompl::coll
