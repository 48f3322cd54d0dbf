// SPDX-License-Identifier: BSD-3-Clause
// Alltoall in two levels, for short blocks (J. L. Träff, "Improved MPI all-to-all communication on a Giganet SMP cluster", 2002): the members
// of a node give all their blocks to their leader, leaders exchange what nodes have for each other, one message for each pair of nodes, and hand
// out what came. With p members on each of N nodes, L' and G' within a node, and copies:
// 2 (L' + 2o + (p - 2) g + (p - 1) n m G') + L + 2o + (N - 2) g + p (n - p) m G.
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/levels.hpp"

namespace ompl::coll {
namespace {

// What the leaders exchange, the rows of their members before and after it: a row has a block for, or of, each member, in the order of the
// nodes.
void exchange_rows(const CollectiveCall& call, const Levels& levels, Place rows, Builder& b) {
  const uint64_t block = call.length;
  const uint32_t n = call.size;
  const std::size_t p = levels.node.size();
  const Place out = b.scratch(p * n * block);
  const Place in = b.scratch(p * n * block);
  for (std::size_t node = 0; node < levels.leaders.size(); ++node) {
    const uint64_t first = levels.firsts[node];
    const uint64_t count = levels.firsts[node + 1] - first;
    for (std::size_t row = 0; row < p; ++row)
      b.copy(rows.plus((row * n + first) * block), out.plus((first * p + row * count) * block),
             count * block);
  }
  b.next_round();
  CollectiveCall between = levels.between(
      call, OMPL_ALLTOALL, levels.blocks_of_nodes([&](uint64_t i) { return i * p * block; }));
  between.in_place = false;
  b.among(levels.leaders);
  b.buffers(out, in);
  compile_part(between, b);
  b.next_round();
  b.among({});
  b.buffers(kSent, kReceived);
  for (uint64_t from = 0; from < n; ++from)
    for (std::size_t row = 0; row < p; ++row)
      b.copy(in.plus((from * p + row) * block), rows.plus((row * n + from) * block), block);
  b.next_round();
}

}  // namespace

void alltoall_hierarchical(const CollectiveCall& call, Builder& b) {
  const Levels levels(call);
  const uint64_t block = call.length;
  const uint64_t row = call.size * block;
  const uint32_t leader = levels.leader();
  const std::vector<uint32_t>& members = levels.node;
  const Place rows = b.scratch(levels.leads(call) ? members.size() * row : row);
  const auto of = [&](std::size_t i) { return rows.plus(i * row); };
  const auto place = std::ranges::find(members, call.me) - members.begin();
  const Place mine = levels.leads(call) ? of(static_cast<std::size_t>(place)) : rows;
  for (uint32_t i = 0; i < call.size; ++i)
    b.copy(call.own().plus(levels.order[i] * block), mine.plus(i * block), block);
  if (levels.leads(call)) {
    for (std::size_t i = 0; i < members.size(); ++i)
      if (members[i] != leader) b.receive(members[i], of(i), row);
    b.next_round();
    exchange_rows(call, levels, rows, b);
    for (std::size_t i = 0; i < members.size(); ++i)
      if (members[i] != leader) b.send(members[i], of(i), row);
  } else {
    b.next_round();
    b.send(leader, mine, row);
    b.next_round();
    b.receive(leader, mine, row);
    b.next_round();
  }
  for (uint32_t i = 0; i < call.size; ++i)
    b.copy(mine.plus(i * block), kReceived.plus(levels.order[i] * block), block);
}

}  // namespace ompl::coll
