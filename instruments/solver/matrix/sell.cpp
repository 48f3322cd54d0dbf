// SPDX-License-Identifier: BSD-3-Clause
#include "solver/matrix/sell.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "solver/matrix/csr.hpp"

namespace ompl::solver {

namespace {

// Room for the entries of one more chunk.
template <class T>
T* extend(std::vector<T>& vector, uint64_t width) {
  const std::size_t before = vector.size();
  vector.resize(before + width * Sell::kRows);
  return vector.data() + before;
}

// The entries of a chunk of these rows, columns less `base`.
template <class Index>
void fill(const Csr& matrix, std::span<const uint32_t> rows, uint64_t width, uint32_t base,
          double* value, Index* index) {
  for (uint32_t lane = 0; lane < Sell::kRows; ++lane, ++value, ++index) {
    const uint64_t start = lane < rows.size() ? matrix.start[rows[lane]] : 0;
    const uint64_t size = lane < rows.size() ? matrix.start[rows[lane] + 1] - start : 0;
    for (uint64_t k = 0; k < size; ++k) {
      value[k * Sell::kRows] = matrix.value[start + k];
      index[k * Sell::kRows] = static_cast<Index>(matrix.column[start + k] - base);
    }
    // Filled up with value 0 at one whose x the row needs anyway.
    const Index last = size > 0 ? index[(size - 1) * Sell::kRows] : Index{0};
    for (uint64_t k = size; k < width; ++k) index[k * Sell::kRows] = last;
  }
}

// Appends the chunk of these rows (8, or fewer at the end).
void append_chunk(const Csr& matrix, std::span<const uint32_t> rows, Sell& out) {
  uint64_t width = 0;
  uint32_t least = out.columns, most = 0;
  for (const uint32_t row : rows) {
    const auto columns = matrix.columns_of(row);
    width = std::max<uint64_t>(width, columns.size());
    if (columns.empty()) continue;
    least = std::min(least, columns.front());
    most = std::max(most, columns.back());
  }
  if (width == 0) least = 0;
  const bool narrow = most - std::min(least, most) <= 0xffff;
  const uint32_t base = narrow ? least : 0;
  out.chunks.push_back({.value = out.value.size(),
                        .column = narrow ? out.offset.size() : out.column.size(),
                        .width = static_cast<uint32_t>(width),
                        .base = base,
                        .narrow = narrow});
  double* const value = extend(out.value, width);
  if (narrow)
    fill(matrix, rows, width, base, value, extend(out.offset, width));
  else
    fill(matrix, rows, width, base, value, extend(out.column, width));
}

}  // namespace

void reserve(Sell& chunks, uint64_t entries) {
  reserve_large(chunks.value, entries + entries / 16);
  reserve_large(chunks.offset, entries + entries / 16);
}

void append_block(const Csr& matrix, uint32_t first, uint32_t last, Sell& to) {
  std::array<uint32_t, kBlock> storage{};
  const std::span rows(storage.data(), last - first);
  std::iota(rows.begin(), rows.end(), first);
  std::ranges::stable_sort(rows, std::greater{},
                           [&](uint32_t row) { return matrix.columns_of(row).size(); });
  for (uint32_t at = 0; at < rows.size(); at += Sell::kRows) {
    const auto chunk = rows.subspan(at, std::min<std::size_t>(Sell::kRows, rows.size() - at));
    append_chunk(matrix, chunk, to);
    for (uint32_t lane = 0; lane < Sell::kRows; ++lane)
      to.row.push_back(lane < chunk.size() ? static_cast<uint16_t>(chunk[lane] - first) : 0);
  }
  to.rows += last - first;
}

Sell to_sell(const Csr& matrix) {
  Sell out;
  out.columns = matrix.columns;
  reserve(out, matrix.entries());
  for (uint32_t first = 0; first < matrix.rows; first += kBlock)
    append_block(matrix, first, std::min(matrix.rows, first + kBlock), out);
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
