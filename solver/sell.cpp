// SPDX-License-Identifier: BSD-3-Clause
#include "solver/sell.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "solver/sell_kernels.hpp"

namespace ompl::solver {

namespace {

// Appends the chunk of these rows (8, or fewer at the end).
void append_chunk(const Csr& matrix, std::span<const uint32_t> rows, Sell& out) {
  uint64_t width = 0;
  uint32_t least = matrix.columns, most = 0;
  for (const uint32_t row : rows) {
    const auto columns = matrix.columns_of(row);
    width = std::max<uint64_t>(width, columns.size());
    if (columns.empty()) continue;
    least = std::min(least, columns.front());
    most = std::max(most, columns.back());
  }
  if (width == 0) least = 0;
  const bool narrow = most - std::min(least, most) <= 0xffff;
  out.chunks.push_back({.value = out.value.size(),
                        .column = narrow ? out.offset.size() : out.column.size(),
                        .width = static_cast<uint32_t>(width),
                        .base = narrow ? least : 0,
                        .narrow = narrow});
  for (uint64_t k = 0; k < width; ++k) {
    for (uint32_t lane = 0; lane < Sell::kRows; ++lane) {
      uint32_t column = least;
      double value = 0;
      if (lane < rows.size()) {
        const uint64_t start = matrix.start[rows[lane]], size = matrix.start[rows[lane] + 1] - start;
        if (k < size) value = matrix.value[start + k];
        if (size > 0)
          column = matrix.column[start + std::min(k, size - 1)];  // one whose x the row needs anyway
      }
      out.value.push_back(value);
      if (narrow)
        out.offset.push_back(static_cast<uint16_t>(column - least));
      else
        out.column.push_back(column);
    }
  }
}

}  // namespace

Sell to_sell(const Csr& matrix) {
  Sell out;
  out.rows = matrix.rows;
  out.columns = matrix.columns;
  out.value.reserve(matrix.entries() + matrix.entries() / 16);
  out.offset.reserve(matrix.entries() + matrix.entries() / 16);
  std::array<uint32_t, kBlock> storage{};
  for (uint32_t first = 0; first < matrix.rows; first += kBlock) {
    const std::span rows(storage.data(), std::min(kBlock, matrix.rows - first));
    std::iota(rows.begin(), rows.end(), first);
    std::ranges::stable_sort(rows, std::greater{},
                             [&](uint32_t row) { return matrix.columns_of(row).size(); });
    for (uint32_t at = 0; at < rows.size(); at += Sell::kRows) {
      const auto chunk = rows.subspan(at, std::min<std::size_t>(Sell::kRows, rows.size() - at));
      append_chunk(matrix, chunk, out);
      for (uint32_t lane = 0; lane < Sell::kRows; ++lane)
        out.row.push_back(lane < chunk.size() ? static_cast<uint16_t>(chunk[lane] - first) : 0);
    }
  }
  return out;
}

std::string_view name_of(Isa isa) {
  return isa == Isa::avx512 ? "avx512" : isa == Isa::avx2 ? "avx2" : "portable";
}

bool has(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx512)
    return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  if (isa == Isa::avx2) return __builtin_cpu_supports("avx2") != 0;
#endif
  return isa == Isa::portable;
}

Isa best_isa() {
  static const Isa kBest = has(Isa::avx512) ? Isa::avx512 : has(Isa::avx2) ? Isa::avx2 : Isa::portable;
  return kBest;
}

void multiply(const Sell& matrix, uint32_t first, uint32_t last, const double* x, double* y) {
  constexpr std::array kKernels{kernel_portable, kernel_avx2, kernel_avx512};
  const auto kernel = kKernels[static_cast<std::size_t>(matrix.isa)];
  std::array<double, Sell::kRows> sums;
  for (uint32_t block = first; block < last; block += kBlock) {
    const uint32_t end = std::min(last, block + kBlock);
    for (uint32_t row = block; row < end; row += Sell::kRows) {
      const uint32_t chunk = row / Sell::kRows;
      kernel(matrix, matrix.chunks[chunk], x, sums.data());
      for (uint32_t lane = 0; lane < std::min(Sell::kRows, end - row); ++lane)
        y[block + matrix.row[chunk * Sell::kRows + lane]] = sums[lane];
    }
  }
}

}  // namespace ompl::solver
