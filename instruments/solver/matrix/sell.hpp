// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "solver/cg/team.hpp"
#include "solver/matrix/csr.hpp"

namespace ompl::solver {

// Instructions for which there are kernels.
enum class Isa { portable, avx2, avx512 };
[[nodiscard]] std::string_view name_of(Isa isa);
[[nodiscard]] bool has(Isa isa);
[[nodiscard]] Isa best_isa();

// SELL-C-sigma (Kreutzer et al., "A Unified Sparse Matrix Data Format for Efficient General Sparse Matrix-Vector
// Multiplication on Modern Processors with Wide SIMD Units", 2014) with C = 8: chunks of 8 rows, their entries side by
// side, short rows filled up. Rows are sorted by length within a block of kBlock (sigma) if they differ. A chunk whose
// columns lie within 65536 of each other has 16-bit offsets, any other 32-bit columns.
// A row without entries is filled up with one, of value 0: it is NaN if x is not finite there.
struct Sell {
  static constexpr uint32_t kRows = 8;  // C
  struct Chunk {
    uint64_t value;   // its first, in `value`
    uint64_t column;  // its first, in `offset` or in `column`
    uint32_t width;   // entries of its longest row
    uint32_t base;    // added to each offset
    bool narrow;      // 16-bit offsets
  };
  uint32_t rows = 0, columns = 0;
  std::vector<Chunk> chunks;
  std::vector<double> value;
  std::vector<uint16_t> offset;
  std::vector<uint32_t> column;
  std::vector<uint16_t> row;  // of each lane of each chunk, less the first of its block

  // How multiply() works; best_isa() unless a test wants another.
  Isa isa = best_isa();
};

[[nodiscard]] Sell to_sell(const Csr& matrix);

// The same, block by block of rows of a matrix with so many columns: kBlock rows, or fewer at the end.
void reserve(Sell& chunks, uint64_t entries);
void append_block(const Csr& matrix, uint32_t first, uint32_t last, Sell& to);

// y = A x for the rows first up to, but without, last; whole blocks of kBlock rows, or up to the end.
void multiply(const Sell& matrix, uint32_t first, uint32_t last, const double* x, double* y);

// The sums of the 8 rows of a chunk. All add in the order of the entries, products rounded: the same bits from each.

void kernel_portable(const Sell& matrix, const Sell::Chunk& chunk, const double* x, double* sums);
// Only where has() says so; on other architectures than x86-64 these are the portable one.
void kernel_avx2(const Sell& matrix, const Sell::Chunk& chunk, const double* x, double* sums);
void kernel_avx512(const Sell& matrix, const Sell::Chunk& chunk, const double* x, double* sums);

}  // namespace ompl::solver
