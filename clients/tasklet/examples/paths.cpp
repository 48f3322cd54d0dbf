// SPDX-License-Identifier: BSD-3-Clause
// Shortest paths between all nodes of a graph by Floyd and Warshall, in tiles, as tasks over ranks. Step k needs the tiles of row and
// column k as they are after the steps before; each tile goes on as soon as those that it needs are there, so the steps run
// through the matrix as waves behind each other.
//
//   omplrun -n 2 tasklet_paths [TILES] [TILE_SIZE] [THREADS]
#include "tiles.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace {

using namespace omnipgas::tasklet;
using tiles::make;
using Matrix = tiles::Matrix<int>;

constexpr int kFar = 1'000'000'000;  // no path; twice it is an int still

// The length of the edge; seeded, and one way only for most.
int edge(int from, int to) {
  if (from == to) return 0;
  uint32_t mixed = static_cast<uint32_t>(from) * 2654435761U ^ static_cast<uint32_t>(to) * 40503U;
  mixed ^= mixed >> 15;
  mixed *= 2246822519U;
  mixed ^= mixed >> 13;
  return mixed % 16 == 0 ? static_cast<int>(mixed >> 8) % 1000 + 1 : kFar;
}

// c := min(c, a + b); c may be a or b, or both
void shorten(const int* a, const int* b, int* c, int n) {
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) c[i * n + j] = std::min(c[i * n + j], a[i * n + k] + b[k * n + j]);
}

int find_paths(void* matrix) {
  const Matrix& d = *static_cast<const Matrix*>(matrix);
  const int count = d.count(), n = d.size();
  // A tile is shared twice, as one of a row and as one of a column.
  const auto tag = [count](int i, int j, bool row) {
    return static_cast<uint32_t>(2 * (i * count + j) + row);
  };
  const auto all = [](uint32_t) { return true; };
  for (int k = 0; k < count; ++k) {
    int* const middle = d.tile(k, k);
    const auto close = [=] { return shorten(middle, middle, middle, n), 0; };
    if (d.own(k, k)) make(close, {inout(middle)}, 3);
    d.share(k, k, tag(k, k, true), all);
    for (int other = 0; other < count; ++other) {
      if (other == k) continue;
      int *const of_row = d.tile(k, other), *const of_column = d.tile(other, k);
      const auto row = [=] { return shorten(middle, of_row, of_row, n), 0; };
      if (d.own(k, other)) make(row, {in(middle), inout(of_row)}, 1);
      d.share(k, other, tag(k, other, true), all);
      const auto column = [=] { return shorten(of_column, middle, of_column, n), 0; };
      if (d.own(other, k)) make(column, {in(middle), inout(of_column)}, 1);
      d.share(other, k, tag(other, k, false), all);
    }
    for (int i = 0; i < count; ++i)
      for (int j = 0; j < count; ++j) {
        if (i == k || j == k || !d.own(i, j)) continue;
        const int *const before = d.tile(i, k), *const after = d.tile(k, j);
        int* const to = d.tile(i, j);
        make([=] { return shorten(before, after, to, n), 0; }, {in(before), in(after), inout(to)});
      }
  }
  return ompl_tasklet_wait_all();
}

// Paths whose length differs from that of a serial run, at one rank.
long differences(const Matrix& d) {
  const std::vector<int> found = d.whole();
  const int rows = d.rows();
  std::vector<int> serial;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < rows; ++j) serial.push_back(edge(i, j));
  shorten(serial.data(), serial.data(), serial.data(), rows);
  long wrong = 0;
  for (std::size_t i = 0; i < serial.size(); ++i) wrong += found[i] != serial[i];
  return wrong;
}

int begin(int /*rows*/, int i, int j) { return edge(i, j); }

bool is_right(const Matrix& d, double seconds) {
  const long wrong = differences(d);
  std::printf("%d nodes, %u ranks: %.6f s, %ld paths are wrong\n", d.rows(), omnipgas::size(), seconds,
              wrong);
  return wrong == 0;
}

}  // namespace

int main(int argc, char** argv) {
  return tiles::run<int>({8, 2, begin, find_paths, is_right}, argc, argv);
}
