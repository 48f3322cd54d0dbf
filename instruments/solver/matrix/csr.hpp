// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace ompl::solver {

// More rows or columns would need 64-bit indices, or unsigned ones, for which there are no gathers.
inline constexpr uint64_t kMostRows = (uint64_t{1} << 31) - 1;

// The entries of one row.
struct Row {
  std::span<const uint32_t> columns;
  std::span<const double> values;
};

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
  [[nodiscard]] Row operator[](uint32_t row) const {
    return {columns_of(row), {value.data() + start[row], value.data() + start[row + 1]}};
  }
  void append(const Row& row) {
    column.insert(column.end(), row.columns.begin(), row.columns.end());
    value.insert(value.end(), row.values.begin(), row.values.end());
    start.push_back(column.size());
    ++rows;
  }
  [[nodiscard]] std::vector<uint32_t> row_lengths() const {
    std::vector<uint32_t> out(rows);
    for (uint32_t row = 0; row < rows; ++row)
      out[row] = static_cast<uint32_t>(start[row + 1] - start[row]);
    return out;
  }
};

struct Entry {
  uint32_t row, column;
  double value;
  uint64_t line = 0;  // of the file that it comes from
};

// Whether an entry (i, j) also stands for (j, i): with its value, or with its negative.
enum class Mirror { none, symmetric, skew };

// Some rows of a matrix, one after the other.
struct RowRange {
  uint32_t first = 0, last = 0;  // up to, but without, the last

  [[nodiscard]] uint32_t size() const { return last - first; }
  [[nodiscard]] bool has(uint32_t row) const { return row >= first && row < last; }
  [[nodiscard]] std::vector<uint32_t> numbers() const {
    std::vector<uint32_t> out(size());
    std::iota(out.begin(), out.end(), first);
    return out;
  }
  // Whether the entry, or what it also stands for, is in one of these rows.
  [[nodiscard]] bool touches(const Entry& e, Mirror mirror) const {
    return has(e.row) || (mirror != Mirror::none && has(e.column));
  }
};

// These rows of the matrix of these entries, in any order; what stands in others is passed over. Throws InputError
// that begins with where(line) for a place that is named twice, at the second.
[[nodiscard]] Csr assemble(RowRange rows, uint32_t columns, std::span<const Entry> entries,
                           Mirror mirror, const std::function<std::string(uint64_t)>& where);

// Throws InputError that begins with `where` for more than two rows per entry: memory stays in proportion to what was
// read, whatever the head of a file claims.
void check_enough(uint32_t rows, uint64_t entries, const std::string& where);

// Throws InputError unless A x = b may have one solution for any b: not square, no rows, and what the next ones refuse.
void check_solvable(const Csr& matrix);
void check_square(uint32_t rows, uint32_t columns);
// Some rows, from the row `first` on: a value that is not finite; a row without entries.
void check_finite(const Csr& some, uint32_t first);
void check_no_empty_row(const Csr& some, uint32_t first);

// Whether a place has this value; +0 and -0 are one.
[[nodiscard]] bool has(const Csr& matrix, uint32_t row, uint32_t column, double value);

// y = A x for the rows first up to, but without, last.
void multiply(const Csr& matrix, uint32_t first, uint32_t last, const double* x, double* y);

// Vectors that are as long as a matrix has rows or entries.

// Asks for huge pages before the memory is touched: fewer faults while it is filled, fewer misses when it is read.
// Where the kernel has none for it, nothing changes.
template <class T>
void reserve_large(std::vector<T>& vector, std::size_t size) {
  constexpr uintptr_t kPage = uintptr_t{2} << 20;
  vector.reserve(size);
  const auto begin = reinterpret_cast<uintptr_t>(vector.data());
  const uintptr_t first = (begin + kPage - 1) / kPage * kPage;
  const uintptr_t last = (begin + size * sizeof(T)) / kPage * kPage;
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

template <class T>
[[nodiscard]] std::vector<T> large_vector(std::size_t size) {
  std::vector<T> out;
  reserve_large(out, size);
  out.resize(size);
  return out;
}

}  // namespace ompl::solver
