// SPDX-License-Identifier: BSD-3-Clause
#include "solver/quality.hpp"

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

Quality quality(const Csr& matrix, const Partition& partition) {
  const std::vector<uint32_t>& owner = partition.part_of;
  const RowsByPart rows(partition);
  Quality out;
  std::vector<uint32_t> last_needed_by(matrix.rows, partition.parts);
  uint64_t neighbours = 0, smallest = ~uint64_t{0};
  for (uint32_t part = 0; part < partition.parts; ++part) {
    std::vector<uint64_t> from(partition.parts);
    uint64_t inside = 0;
    const uint64_t size = rows.start[part + 1] - rows.start[part];
    for (uint64_t i = rows.start[part]; i < rows.start[part + 1]; ++i) {
      uint64_t cut = 0;
      for (const uint32_t column : matrix.columns_of(rows.row[i])) {
        if (owner[column] == part) continue;
        ++cut;
        if (last_needed_by[column] != part) ++from[owner[column]];
        last_needed_by[column] = part;
      }
      out.cut += cut;
      if (cut == 0) ++inside;
    }
    uint32_t here = 0;
    for (const uint64_t count : from) {
      if (count == 0) continue;
      ++here;
      out.halo += count;
      smallest = std::min(smallest, count * sizeof(double));
    }
    neighbours += here;
    out.neighbours_most = std::max(out.neighbours_most, here);
    if (size > 0)
      out.interior_least =
          std::min(out.interior_least, static_cast<double>(inside) / static_cast<double>(size));
    out.rows_most = std::max(out.rows_most, static_cast<double>(size) * partition.parts / matrix.rows);
  }
  out.neighbours_mean = static_cast<double>(neighbours) / partition.parts;
  if (neighbours > 0) out.smallest_message = smallest;
  return out;
}

}  // namespace ompl::solver
