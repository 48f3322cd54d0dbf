// SPDX-License-Identifier: BSD-3-Clause
#include "model/readers/collectives.hpp"

#include <algorithm>
#include <bit>

#include "common/input_error.hpp"

namespace ompl::model {

namespace {

using Steps = std::vector<Exchange>;

uint64_t sent_to(const CollectiveCall& call, uint32_t rank) {
  return call.sent.empty() ? call.bytes : call.sent[rank];
}

// The rank so many above, or below, around.
uint32_t above(const CollectiveCall& call, uint64_t distance) {
  return static_cast<uint32_t>((call.rank + distance) % call.size);
}
uint32_t below(const CollectiveCall& call, uint64_t distance) {
  return above(call, call.size - distance);
}

// All send to the rank so many above them, and receive from the one below.
Exchange shift(const CollectiveCall& call, uint64_t distance, uint64_t bytes, uint64_t tag) {
  return {.to = above(call, distance),
          .bytes = bytes,
          .from = below(call, distance),
          .tag = static_cast<int32_t>(tag)};
}

// In round i each tells the one 2^i above.
Steps dissemination(const CollectiveCall& call) {
  Steps steps;
  for (uint64_t distance = 1; distance < call.size; distance *= 2)
    steps.push_back(shift(call, distance, call.bytes, steps.size()));
  return steps;
}

// From the root down: a rank's parent is it without its lowest bit, counted from the root.
Steps tree_down(const CollectiveCall& call) {
  Steps steps;
  const uint64_t place = below(call, call.root);
  uint64_t bit = 1;
  while (bit < call.size && (place & bit) == 0) bit *= 2;
  if (place != 0) steps.push_back({.from = below(call, bit)});
  for (bit /= 2; bit > 0; bit /= 2)
    if (place + bit < call.size) steps.push_back({.to = above(call, bit), .bytes = call.bytes});
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

// bytes_of(call, rank): what each gets.
Steps from_root(const CollectiveCall& call, uint64_t (*bytes_of)(const CollectiveCall&, uint32_t)) {
  if (call.rank != call.root) return {{.from = call.root}};
  Steps steps;
  for (uint32_t rank = 0; rank < call.size; ++rank)
    if (rank != call.root) steps.push_back({.to = rank, .bytes = bytes_of(call, rank)});
  return steps;
}
Steps linear_from_root(const CollectiveCall& call) { return from_root(call, sent_to); }

// Each passes on to its right neighbour what it received in the step before; its own block first.
Steps ring(const CollectiveCall& call) {
  Steps steps;
  for (uint32_t step = 0; step + 1 < call.size; ++step) {
    const uint32_t owner = below(call, step);
    steps.push_back(shift(call, 1, call.received.empty() ? call.bytes : call.received[owner], step));
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
  for (uint32_t step = 1; step < call.size; ++step)
    steps.push_back(shift(call, step, sent_to(call, above(call, step)), step));
  return steps;
}

Steps chain(const CollectiveCall& call) {
  Steps steps;
  if (call.rank > 0) steps.push_back({.from = call.rank - 1});
  if (call.rank + 1 < call.size) steps.push_back({.to = call.rank + 1, .bytes = call.bytes});
  return steps;
}

// One after the other, from the root on.
Steps chain_from_root(const CollectiveCall& call) {
  const uint32_t place = below(call, call.root);
  Steps steps;
  if (place > 0) steps.push_back({.from = below(call, 1)});
  if (place + 1 < call.size) steps.push_back({.to = above(call, 1), .bytes = call.bytes});
  return steps;
}

// The vector is cut into as many parts as there are ranks.
uint64_t part(const CollectiveCall& call, uint32_t rank) {
  return call.bytes * (rank + uint64_t{1}) / call.size - call.bytes * rank / call.size;
}

// Appends a ring in which each passes on to its right neighbour, first the part of the rank that many to its left.
// `tag` is that of its first step.
void add_ring_of_parts(Steps& steps, const CollectiveCall& call, uint32_t first, uint32_t tag) {
  for (uint32_t step = 0; step + 1 < call.size; ++step)
    steps.push_back(
        shift(call, 1, part(call, above(call, 2 * uint64_t{call.size} - first - step)), tag + step));
}

// Parts are reduced on their way round, then the results go round.
Steps allreduce_by_ring(const CollectiveCall& call) {
  Steps steps;
  add_ring_of_parts(steps, call, 0, 0);
  add_ring_of_parts(steps, call, call.size - 1, call.size);
  return steps;
}

// Up a tree to rank 0, and down.
Steps up_and_down(const CollectiveCall& call) {
  CollectiveCall from_first = call;
  from_first.root = 0;
  Steps steps = tree_up(from_first);
  for (Exchange& step : tree_down(from_first)) {
    step.tag = 1;
    steps.push_back(step);
  }
  return steps;
}

// The root hands out parts, which then go round.
Steps scatter_then_allgather(const CollectiveCall& call) {
  Steps steps = from_root(call, part);
  add_ring_of_parts(steps, call, 0, 1);
  return steps;
}

// In round i all blocks go whose number has bit i, together (Bruck and others, 1997).
Steps bruck(const CollectiveCall& call) {
  if (!call.sent.empty() || !call.received.empty()) return pairwise(call);
  Steps steps;
  for (uint64_t bit = 1; bit < call.size; bit *= 2) {
    uint64_t blocks = 0;
    for (uint64_t block = 1; block < call.size; ++block) blocks += (block & bit) != 0 ? 1 : 0;
    steps.push_back(shift(call, bit, blocks * call.bytes, steps.size()));
  }
  return steps;
}

// Its own block to everyone, pairwise.
Steps allgather_pairwise(const CollectiveCall& call) {
  CollectiveCall one = call;
  if (!call.received.empty()) one.bytes = call.received[call.rank];
  one.sent = {};
  return pairwise(one);
}

struct Algorithm {
  std::string_view name;
  Steps (*steps)(const CollectiveCall&);
};
struct Operation {
  std::string_view name;
  std::vector<Algorithm> algorithms;  // the first is taken if none is chosen
};

// In the order of Collective.
const std::array<Operation, kCollectives>& operations() {
  static const std::array<Operation, kCollectives> kAll{{
      {"barrier", {{"dissemination", dissemination}, {"tree", up_and_down}}},
      {"bcast",
       {{"binomial", tree_down},
        {"linear", linear_from_root},
        {"chain", chain_from_root},
        {"scatter-allgather", scatter_then_allgather}}},
      {"reduce", {{"binomial", tree_up}, {"linear", to_root}}},
      {"gather", {{"linear", to_root}}},
      {"scatter", {{"linear", linear_from_root}}},
      {"allgather", {{"ring", ring}, {"pairwise", allgather_pairwise}}},
      {"allreduce",
       {{"recursive-doubling", recursive_doubling},
        {"ring", allreduce_by_ring},
        {"tree", up_and_down}}},
      {"alltoall", {{"pairwise", pairwise}, {"bruck", bruck}}},
      {"reduce_scatter", {{"pairwise", pairwise}}},
      {"scan", {{"chain", chain}}},
  }};
  return kAll;
}

const Operation& operation_of(Collective kind) { return operations()[static_cast<std::size_t>(kind)]; }

}  // namespace

std::string_view name_of(Collective kind) { return operation_of(kind).name; }

std::vector<std::string_view> algorithms_of(Collective kind) {
  std::vector<std::string_view> names;
  for (const Algorithm& one : operation_of(kind).algorithms) names.push_back(one.name);
  return names;
}

void Algorithms::choose(std::string_view collective, std::string_view algorithm) {
  const auto kind = std::ranges::find(operations(), collective, &Operation::name);
  if (kind == operations().end()) {
    std::vector<std::string_view> known;
    for (const Operation& one : operations()) known.push_back(one.name);
    refuse("no collective {}; there are {}", collective, fmt::join(known, ", "));
  }
  const auto found = std::ranges::find(kind->algorithms, algorithm, &Algorithm::name);
  const auto place = static_cast<std::size_t>(kind - operations().begin());
  if (found == kind->algorithms.end())
    refuse("no algorithm {} of {}; there are {}", algorithm, collective,
           fmt::join(algorithms_of(static_cast<Collective>(place)), ", "));
  chosen_[place] = static_cast<uint8_t>(found - kind->algorithms.begin());
}

std::vector<Exchange> expand(const CollectiveCall& call, const Algorithms& algorithms) {
  return operation_of(call.kind).algorithms[algorithms.of(call.kind)].steps(call);
}

}  // namespace ompl::model
