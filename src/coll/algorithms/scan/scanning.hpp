// SPDX-License-Identifier: BSD-3-Clause
// Combination of what the members up to each one have; of scan and exscan a part.
#pragma once

#include "coll/call.hpp"
#include "coll/schedule/builder.hpp"

namespace ompl::coll {

// The member's place among those that scan: after how many others, and the first of them.
struct ScanOrder {
  uint32_t place;
  uint32_t count;
  uint32_t first;
};

// Turns combinations of what is at `have` into `kReceived`. Two buffers are used in turn, `other` being one.
void scan_from(const CollectiveCall& call, Builder& b, const ScanOrder& order, Place have, Place other);

// Scan or exscan, as the call says, in two levels: see scan_hierarchical.cpp.
void scan_runs(const CollectiveCall& call, Builder& b);

// How many times a member combines.
uint32_t scan_rounds(uint32_t place);

}  // namespace ompl::coll
