// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace ompl::solver {

// More rows or columns would need 64-bit indices, or unsigned ones, for which there are no gathers.
inline constexpr uint64_t kMostRows = (uint64_t{1} << 31) - 1;

// A sparse matrix by rows. The entries of a row are in the order of their columns; all counts from 0.
struct Csr {
  uint32_t rows = 0, columns = 0;
  std::vector<uint64_t> start{0};  // of each row in the next two, and their length
  std::vector<uint32_t> column;
  std::vector<double> value;

  [[nodiscard]] uint64_t entries() const { return column.size(); }
  [[nodiscard]] std::span<const uint32_t> columns_of(uint32_t row) const {
    return {column.data() + start[row], column.data() + start[row + 1]};
  }
};

struct Entry {
  uint32_t row, column;
  double value;
};

// Whether an entry (i, j) also stands for (j, i): with its value, or with its negative.
enum class Mirror { none, symmetric, skew };

// The matrix of these entries, in any order. Throws InputError that begins with where(index of an entry): for a
// place that is named twice, and for more than two rows per entry, so that memory stays in proportion to what was
// read, whatever the head of a file claims.
[[nodiscard]] Csr assemble(uint32_t rows, uint32_t columns, std::span<const Entry> entries,
                           Mirror mirror, const std::function<std::string(uint64_t)>& where);

// Throws InputError unless A x = b may have one solution for any b: not square, no rows, a row without entries,
// a value that is not finite.
void check_solvable(const Csr& matrix);

// Whether the matrix is its own transpose, to the bit.
[[nodiscard]] bool is_symmetric(const Csr& matrix);

// y = A x for the rows first up to, but without, last.
void multiply(const Csr& matrix, uint32_t first, uint32_t last, const double* x, double* y);

}  // namespace ompl::solver
