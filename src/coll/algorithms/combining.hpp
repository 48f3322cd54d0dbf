// SPDX-License-Identifier: BSD-3-Clause
// Combination of all members' data up a binomial tree; of several algorithms a part.
#pragma once

#include "coll/call.hpp"
#include "coll/schedule/builder.hpp"

namespace ompl::coll {

// What `length` bytes of every member come to, at member `top`, in the order of the members if that is 0. Members that combine do so in
// `room`. Returns where this member's part, and at the top the result, then lies.
Place combine_up(const CollectiveCall& call, Builder& b, uint32_t top, uint64_t length, Place room);

}  // namespace ompl::coll
