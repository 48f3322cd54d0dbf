// SPDX-License-Identifier: BSD-3-Clause
// Collective operations as the messages that they are made of, by the algorithms that docs/model.md names.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ompl::model {

enum class Collective : uint8_t {
  barrier,         // dissemination
  bcast,           // binomial tree
  reduce,          // binomial tree
  gather,          // the root receives from one after the other
  scatter,         // the root sends to one after the other
  allgather,       // ring
  allreduce,       // recursive doubling; ranks above a power of two fold into others
  alltoall,        // pairwise
  reduce_scatter,  // pairwise
  scan,            // chain
};

// One step of a rank: a send, a receive, or both at once. Ranks are those of the communicator.
struct Exchange {
  static constexpr uint32_t kNobody = UINT32_MAX;

  uint32_t to = kNobody;
  uint64_t bytes = 0;  // to it
  uint32_t from = kNobody;
  int32_t tag = 0;  // tells the steps of one operation apart
};

// What a rank knows of an operation.
struct CollectiveCall {
  Collective kind;
  uint32_t rank, size, root;
  uint64_t bytes;  // the whole vector, or the block for one rank (docs/trace-format.md)
  // In the forms with counts: to each rank, and from each; else empty.
  std::span<const uint64_t> sent, received;
};

[[nodiscard]] std::vector<Exchange> expand(const CollectiveCall& call);

}  // namespace ompl::model
