// SPDX-License-Identifier: BSD-3-Clause
#include "model/collectives.hpp"

#include <bit>

namespace ompl::model {

namespace {

using Steps = std::vector<Exchange>;

uint64_t sent_to(const CollectiveCall& call, uint32_t rank) {
  return call.sent.empty() ? call.bytes : call.sent[rank];
}

uint32_t around(const CollectiveCall& call, uint64_t rank) {
  return static_cast<uint32_t>(rank % call.size);
}

// In round i each tells the one 2^i above.
Steps dissemination(const CollectiveCall& call) {
  Steps steps;
  int32_t round = 0;
  for (uint64_t distance = 1; distance < call.size; distance *= 2)
    steps.push_back({.to = around(call, call.rank + distance),
                     .bytes = call.bytes,
                     .from = around(call, uint64_t{call.rank} + call.size - distance),
                     .tag = round++});
  return steps;
}

// From the root down: a rank's parent is it without its lowest bit, counted from the root.
Steps tree_down(const CollectiveCall& call) {
  Steps steps;
  const uint64_t place = (uint64_t{call.rank} + call.size - call.root) % call.size;
  uint64_t bit = 1;
  while (bit < call.size && (place & bit) == 0) bit *= 2;
  if (place != 0) steps.push_back({.from = around(call, place - bit + call.root)});
  for (bit /= 2; bit > 0; bit /= 2)
    if (place + bit < call.size)
      steps.push_back({.to = around(call, place + bit + call.root), .bytes = call.bytes});
  return steps;
}

// The same tree, up: every arrow turned round, the last first.
Steps tree_up(const CollectiveCall& call) {
  const Steps down = tree_down(call);
  Steps steps;
  for (auto step = down.rbegin(); step != down.rend(); ++step)
    steps.push_back({.to = step->from, .bytes = call.bytes, .from = step->to});
  return steps;
}

Steps to_root(const CollectiveCall& call) {
  if (call.rank != call.root) return {{.to = call.root, .bytes = call.bytes}};
  Steps steps;
  for (uint32_t rank = 0; rank < call.size; ++rank)
    if (rank != call.root) steps.push_back({.from = rank});
  return steps;
}

Steps from_root(const CollectiveCall& call) {
  if (call.rank != call.root) return {{.from = call.root}};
  Steps steps;
  for (uint32_t rank = 0; rank < call.size; ++rank)
    if (rank != call.root) steps.push_back({.to = rank, .bytes = sent_to(call, rank)});
  return steps;
}

// Each passes on to its right neighbour what it received in the step before; its own block first.
Steps ring(const CollectiveCall& call) {
  Steps steps;
  for (uint32_t step = 0; step + 1 < call.size; ++step) {
    const uint32_t owner = around(call, uint64_t{call.rank} + call.size - step);
    steps.push_back({.to = around(call, uint64_t{call.rank} + 1),
                     .bytes = call.received.empty() ? call.bytes : call.received[owner],
                     .from = around(call, uint64_t{call.rank} + call.size - 1),
                     .tag = static_cast<int32_t>(step)});
  }
  return steps;
}

Steps recursive_doubling(const CollectiveCall& call) {
  const uint32_t half = std::bit_floor(call.size);
  const uint32_t extra = call.size - half;  // these fold into the ranks below them
  constexpr int32_t kFold = 64, kUnfold = 65;
  if (call.rank >= half)
    return {{.to = call.rank - half, .bytes = call.bytes, .tag = kFold},
            {.from = call.rank - half, .tag = kUnfold}};
  Steps steps;
  if (call.rank < extra) steps.push_back({.from = call.rank + half, .tag = kFold});
  int32_t round = 0;
  for (uint32_t bit = 1; bit < half; bit *= 2)
    steps.push_back(
        {.to = call.rank ^ bit, .bytes = call.bytes, .from = call.rank ^ bit, .tag = round++});
  if (call.rank < extra) steps.push_back({.to = call.rank + half, .bytes = call.bytes, .tag = kUnfold});
  return steps;
}

Steps pairwise(const CollectiveCall& call) {
  Steps steps;
  for (uint32_t step = 1; step < call.size; ++step) {
    const uint32_t to = around(call, uint64_t{call.rank} + step);
    steps.push_back({.to = to,
                     .bytes = sent_to(call, to),
                     .from = around(call, uint64_t{call.rank} + call.size - step),
                     .tag = static_cast<int32_t>(step)});
  }
  return steps;
}

Steps chain(const CollectiveCall& call) {
  Steps steps;
  if (call.rank > 0) steps.push_back({.from = call.rank - 1});
  if (call.rank + 1 < call.size) steps.push_back({.to = call.rank + 1, .bytes = call.bytes});
  return steps;
}

}  // namespace

std::vector<Exchange> expand(const CollectiveCall& call) {
  switch (call.kind) {
    case Collective::barrier:
      return dissemination(call);
    case Collective::bcast:
      return tree_down(call);
    case Collective::reduce:
      return tree_up(call);
    case Collective::gather:
      return to_root(call);
    case Collective::scatter:
      return from_root(call);
    case Collective::allgather:
      return ring(call);
    case Collective::allreduce:
      return recursive_doubling(call);
    case Collective::alltoall:
    case Collective::reduce_scatter:
      return pairwise(call);
    case Collective::scan:
      return chain(call);
  }
  return {};
}

}  // namespace ompl::model
