// SPDX-License-Identifier: BSD-3-Clause
#include "solver/ranks/rows.hpp"

#include <algorithm>
#include <array>

#include "solver/ranks/all_to_all.hpp"
#include "solver/ranks/layer.hpp"

namespace ompl::solver {

namespace {

struct RowHead {
  uint32_t row, length;
};

// For each owner what of(row) gives of its rows.
template <class T, class F>
std::vector<std::vector<T>> by_owner(const Slice& block, const Partition& partition, const F& of) {
  std::vector<std::vector<T>> out(partition.parts);
  for (uint32_t row = 0; row < block.rows.rows; ++row) {
    std::vector<T>& to = out[partition.part_of[block.global[row]]];
    const auto more = of(row);
    to.insert(to.end(), more.begin(), more.end());
  }
  return out;
}

// To rank 0 alone.
template <class T>
std::vector<T> gather_at_0(std::span<const T> mine) {
  std::vector<std::span<const T>> out(all_ranks());
  out[0] = mine;
  return exchange<T>(out).all;
}

}  // namespace

bool is_symmetric(const Slice& block) {
  const uint32_t ranks = all_ranks(), rows = block.rows.columns;
  const uint32_t first = row_block(rows, ranks, my_rank()).first;
  bool symmetric = true;
  std::vector<std::vector<Entry>> elsewhere(ranks);  // the mirror images that others must have
  for (uint32_t row = 0; row < block.rows.rows; ++row) {
    for (uint64_t k = block.rows.start[row]; k < block.rows.start[row + 1]; ++k) {
      const uint32_t column = block.rows.column[k];
      const double value = block.rows.value[k];
      if (const uint32_t owner = block_of_row(rows, ranks, column); owner != my_rank())
        elsewhere[owner].push_back({column, block.global[row], value});
      else
        symmetric = symmetric && has(block.rows, column - first, block.global[row], value);
    }
  }
  for (const Entry& e : exchange(std::move(elsewhere)).all)
    symmetric = symmetric && has(block.rows, e.row - first, e.column, e.value);
  const char mine = symmetric ? 1 : 0;
  return std::ranges::count(gather_everywhere<char>({&mine, 1}, ranks).all, 0) == 0;
}

std::vector<uint32_t> all_row_lengths(const Slice& block) {
  return gather_everywhere<uint32_t>(block.rows.row_lengths(), all_ranks()).all;
}

Csr whole_pattern(const Slice& block) {
  Csr out;
  const std::vector<uint32_t> lengths = gather_at_0<uint32_t>(block.rows.row_lengths());
  for (const uint32_t length : lengths) out.start.push_back(out.start.back() + length);
  out.rows = static_cast<uint32_t>(lengths.size());
  out.columns = block.rows.columns;
  out.column = gather_at_0<uint32_t>(block.rows.column);
  return out;
}

Slice move_to_owners(Slice block, const Partition& partition) {
  Slice out;
  const Csr& from = block.rows;
  out.rows.columns = from.columns;
  // Blocks come in the order of their ranks, and so rows in the order of the matrix.
  const auto heads = exchange(by_owner<RowHead>(block, partition, [&](uint32_t row) {
    return std::array{
        RowHead{block.global[row], static_cast<uint32_t>(from.start[row + 1] - from.start[row])}};
  }));
  for (const RowHead& head : heads.all) {
    out.global.push_back(head.row);
    out.rows.start.push_back(out.rows.start.back() + head.length);
  }
  out.rows.rows = static_cast<uint32_t>(out.global.size());
  out.rows.column = exchange(by_owner<uint32_t>(block, partition, [&](uint32_t row) {
                      return from.columns_of(row);
                    })).all;
  block.rows.column = {};
  out.rows.value =
      exchange(by_owner<double>(block, partition, [&](uint32_t row) { return from[row].values; })).all;
  return out;
}

LocalMatrix localize(const Rows& mine, const Partition& partition, Storage storage) {
  Traffic traffic{.send = {}, .receive = needed_by(mine, partition, my_rank())};
  const Received<uint32_t> wanted = exchange(traffic.receive);
  for (uint32_t rank = 0; rank < all_ranks(); ++rank)
    traffic.send.emplace_back(wanted.from(rank).begin(), wanted.from(rank).end());
  return localize(mine, partition, my_rank(), traffic, storage);
}

}  // namespace ompl::solver
