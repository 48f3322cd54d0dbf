// SPDX-License-Identifier: BSD-3-Clause
// A collective operation as calls of a program.
#pragma once

#include <cstdint>

#include "model/program.hpp"
#include "model/readers/collectives.hpp"

namespace ompl::model {

// Every rank's part of an operation of `bytes`; returns the bytes of all its messages.
inline uint64_t add_collective(Program& program, Collective kind, uint32_t size, uint32_t root,
                               uint64_t bytes, const Algorithms& algorithms = {}) {
  uint64_t sent = 0;
  for (uint32_t rank = 0; rank < size; ++rank) {
    uint64_t posted = 0;
    for (const Exchange& step : expand({kind, rank, size, root, bytes, {}, {}}, algorithms)) {
      const bool both = step.to != Exchange::kNobody && step.from != Exchange::kNobody;
      Op op{.tag = step.tag, .bytes = step.bytes};
      if (step.from != Exchange::kNobody) {
        op.kind = both ? OpKind::irecv : OpKind::recv;
        op.peer = static_cast<int32_t>(step.from);
        program.add(rank, op);
      }
      if (step.to != Exchange::kNobody) {
        op.kind = both ? OpKind::isend : OpKind::send;
        op.peer = static_cast<int32_t>(step.to);
        program.add(rank, op);
        sent += step.bytes;
      }
      if (!both) continue;
      program.add(rank, {.kind = OpKind::wait, .more = true, .request = posted});
      program.add(rank, {.kind = OpKind::wait, .request = posted + 1});
      posted += 2;
    }
  }
  return sent;
}

}  // namespace ompl::model
