// SPDX-License-Identifier: BSD-3-Clause
// Compiled with OMPL_HAVE_METIS where Debian's libmetis-dev, or another METIS 5, is installed.
#include "common/input_error.hpp"
#include "solver/partition/partition.hpp"

#ifdef OMPL_HAVE_METIS
#include <metis.h>

#include <algorithm>
#include <limits>
#endif

namespace ompl::solver {

#ifdef OMPL_HAVE_METIS

namespace {

struct Graph {
  std::vector<idx_t> start, neighbour;
};

// Rows are vertices; an entry (i, j) or (j, i) is an edge between i and j.
Graph graph_of(const Csr& matrix) {
  Graph out;
  std::vector<uint64_t> count(matrix.rows + 1);
  const auto for_each_edge = [&](const auto& f) {
    for (uint32_t row = 0; row < matrix.rows; ++row)
      for (const uint32_t column : matrix.columns_of(row)) {
        if (column == row) continue;
        f(row, column);
        if (!std::ranges::binary_search(matrix.columns_of(column), row)) f(column, row);
      }
  };
  for_each_edge([&](uint32_t from, uint32_t) { ++count[from + 1]; });
  for (uint32_t row = 0; row < matrix.rows; ++row) count[row + 1] += count[row];
  if (count.back() > static_cast<uint64_t>(std::numeric_limits<idx_t>::max()))
    refuse("{} entries are more than this METIS can count ({} bits); partition by rows", count.back(),
           IDXTYPEWIDTH);
  out.start.assign(count.begin(), count.end());
  out.neighbour.resize(count.back());
  for_each_edge(
      [&](uint32_t from, uint32_t to) { out.neighbour[count[from]++] = static_cast<idx_t>(to); });
  return out;
}

}  // namespace

Partition partition_metis(const Csr& matrix, uint32_t parts, MetisWay way) {
  check_parts(matrix.rows, parts);
  if (parts == 1) return partition_rows(matrix.rows, 1);  // METIS would divide by 0
  Graph graph = graph_of(matrix);
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_NUMBERING] = 0;
  idx_t vertices = static_cast<idx_t>(matrix.rows), constraints = 1, count = static_cast<idx_t>(parts),
        cut = 0;
  std::vector<idx_t> part_of(matrix.rows);
  const auto partition = way == MetisWay::kway ? METIS_PartGraphKway : METIS_PartGraphRecursive;
  const int status =
      partition(&vertices, &constraints, graph.start.data(), graph.neighbour.data(), nullptr, nullptr,
                nullptr, &count, nullptr, nullptr, options, &cut, part_of.data());
  if (status != METIS_OK)
    refuse("METIS could not cut {} rows into {} parts (status {})", matrix.rows, parts, status);
  Partition out{parts, std::vector<uint32_t>(part_of.begin(), part_of.end())};
  std::vector<bool> used(parts);
  for (const uint32_t part : out.part_of) used[part] = true;
  if (std::ranges::count(used, false) > 0)
    refuse("METIS left a part of {} without rows; take fewer, or partition by rows", parts);
  return out;
}

#else

Partition partition_metis(const Csr& /*matrix*/, uint32_t /*parts*/, MetisWay /*way*/) {
  refuse("built without METIS; install libmetis-dev and build again, or partition by rows");
}

#endif

}  // namespace ompl::solver
