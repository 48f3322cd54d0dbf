// SPDX-License-Identifier: BSD-3-Clause
#include "solver/partition/partition.hpp"

#include <algorithm>
#include <numeric>

namespace ompl::solver {

namespace {

// The rows of all parts, part after part.
struct RowsByPart {
  explicit RowsByPart(const Partition& partition)
      : start(partition.parts + 1), row(partition.part_of.size()) {
    for (const uint32_t part : partition.part_of) ++start[part + 1];
    std::partial_sum(start.begin(), start.end(), start.begin());
    std::vector<uint64_t> next(start.begin(), start.end() - 1);
    for (uint32_t i = 0; i < row.size(); ++i) row[next[partition.part_of[i]]++] = i;
  }
  std::vector<uint64_t> start;
  std::vector<uint32_t> row;
};

}  // namespace

std::vector<PartCost> costs_of_parts(const Csr& matrix, const Partition& partition) {
  const std::vector<uint32_t>& owner = partition.part_of;
  const RowsByPart rows(partition);
  std::vector<PartCost> out(partition.parts);
  std::vector<uint32_t> last_needed_by(matrix.rows, partition.parts);
  std::vector<uint64_t> from(partition.parts);
  for (uint32_t part = 0; part < partition.parts; ++part) {
    PartCost& cost = out[part];
    std::ranges::fill(from, 0);
    for (uint64_t i = rows.start[part]; i < rows.start[part + 1]; ++i) {
      uint64_t cut = 0;
      for (const uint32_t column : matrix.columns_of(rows.row[i])) {
        ++cost.entries;
        if (owner[column] == part) continue;
        ++cut;
        if (last_needed_by[column] != part) ++from[owner[column]];
        last_needed_by[column] = part;
      }
      ++cost.rows;
      cost.cut += cut;
      if (cut == 0) ++cost.interior;
    }
    for (uint32_t other = 0; other < partition.parts; ++other)
      if (from[other] > 0) cost.from.push_back({other, from[other]});
  }
  return out;
}

Quality quality(std::span<const PartCost> parts) {
  Quality out;
  uint64_t rows = 0, most_rows = 0, neighbours = 0, smallest = ~uint64_t{0};
  for (const PartCost& part : parts) {
    rows += part.rows;
    most_rows = std::max(most_rows, part.rows);
    out.cut += part.cut;
    neighbours += part.from.size();
    out.neighbours_most = std::max(out.neighbours_most, static_cast<uint32_t>(part.from.size()));
    for (const PartCost::Source& source : part.from) {
      out.halo += source.values;
      smallest = std::min(smallest, source.values * sizeof(double));
    }
    if (part.rows > 0)
      out.interior_least = std::min(
          out.interior_least, static_cast<double>(part.interior) / static_cast<double>(part.rows));
  }
  const auto count = static_cast<double>(parts.size());
  out.rows_most = static_cast<double>(most_rows) * count / static_cast<double>(rows);
  out.neighbours_mean = static_cast<double>(neighbours) / count;
  if (neighbours > 0) out.smallest_message = smallest;
  return out;
}

Quality quality(const Csr& matrix, const Partition& partition) {
  return quality(costs_of_parts(matrix, partition));
}

}  // namespace ompl::solver
