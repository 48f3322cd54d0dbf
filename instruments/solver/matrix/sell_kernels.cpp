// SPDX-License-Identifier: BSD-3-Clause
#include "solver/matrix/sell.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ompl::solver {

namespace {

template <class Index>
void add_up(uint32_t width, const double* value, const Index* index, const double* x, double* sums) {
  for (uint32_t lane = 0; lane < Sell::kRows; ++lane) sums[lane] = 0;
  for (uint32_t k = 0; k < width; ++k, value += Sell::kRows, index += Sell::kRows)
    for (uint32_t lane = 0; lane < Sell::kRows; ++lane) sums[lane] += value[lane] * x[index[lane]];
}

// add(value, index, x) of a chunk's entries, whichever way their columns are kept.
template <class Add>
void for_entries(const Sell& matrix, const Sell::Chunk& chunk, const double* x, const Add& add) {
  const double* const value = matrix.value.data() + chunk.value;
  if (chunk.narrow)
    add(value, matrix.offset.data() + chunk.column, x + chunk.base);
  else
    add(value, matrix.column.data() + chunk.column, x);
}

}  // namespace

void kernel_portable(const Sell& matrix, const Sell::Chunk& chunk, const double* x, double* sums) {
  for_entries(matrix, chunk, x, [&](const double* value, const auto* index, const double* from) {
    add_up(chunk.width, value, index, from, sums);
  });
}

#if defined(__x86_64__)

__attribute__((target("avx512f,avx512vl"))) void kernel_avx512(const Sell& matrix,
                                                               const Sell::Chunk& chunk,
                                                               const double* x, double* sums) {
  const double* value = matrix.value.data() + chunk.value;
  __m512d sum = _mm512_setzero_pd();
  const auto add = [&](__m256i index) __attribute__((target("avx512f,avx512vl"))) {
    const __m512d elements = _mm512_i32gather_pd(index, x, 8);
    sum = _mm512_add_pd(sum, _mm512_mul_pd(_mm512_loadu_pd(value), elements));
    value += Sell::kRows;
  };
  if (chunk.narrow) {
    x += chunk.base;
    const uint16_t* const offset = matrix.offset.data() + chunk.column;
    for (uint64_t k = 0; k < chunk.width; ++k)
      add(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(offset + 8 * k))));
  } else {
    const uint32_t* const column = matrix.column.data() + chunk.column;
    for (uint64_t k = 0; k < chunk.width; ++k)
      add(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(column + 8 * k)));
  }
  _mm512_storeu_pd(sums, sum);
}

// Whether the rows of a chunk need neighbouring elements, as most of a grid's do.
__attribute__((target("avx2"))) bool are_neighbours(const uint16_t* index) {
  const __m128i all = _mm_loadu_si128(reinterpret_cast<const __m128i*>(index));
  const __m128i wanted =
      _mm_add_epi16(_mm_broadcastw_epi16(all), _mm_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7));
  return _mm_movemask_epi8(_mm_cmpeq_epi16(all, wanted)) == 0xffff && index[0] <= 0xffff - 7;
}
bool are_neighbours(const uint32_t*) { return false; }

// Four loads took less than a gather where that was measured (docs/performance/solver.md, An iteration of CG).
template <class Index>
__attribute__((target("avx2"))) __m256d four(const double* x, const Index* index) {
  return _mm256_set_pd(x[index[3]], x[index[2]], x[index[1]], x[index[0]]);
}

template <class Index>
__attribute__((target("avx2"))) void add_up_avx2(uint32_t width, const double* value,
                                                 const Index* index, const double* x, double* sums) {
  __m256d low = _mm256_setzero_pd(), high = _mm256_setzero_pd();
  for (uint32_t k = 0; k < width; ++k, value += Sell::kRows, index += Sell::kRows) {
    const bool near = are_neighbours(index);
    const __m256d first = near ? _mm256_loadu_pd(x + index[0]) : four(x, index);
    const __m256d second = near ? _mm256_loadu_pd(x + index[0] + 4) : four(x, index + 4);
    low = _mm256_add_pd(low, _mm256_mul_pd(_mm256_loadu_pd(value), first));
    high = _mm256_add_pd(high, _mm256_mul_pd(_mm256_loadu_pd(value + 4), second));
  }
  _mm256_storeu_pd(sums, low);
  _mm256_storeu_pd(sums + 4, high);
}

void kernel_avx2(const Sell& matrix, const Sell::Chunk& chunk, const double* x, double* sums) {
  for_entries(matrix, chunk, x, [&](const double* value, const auto* index, const double* from) {
    add_up_avx2(chunk.width, value, index, from, sums);
  });
}

#else

void kernel_avx2(const Sell& matrix, const Sell::Chunk& chunk, const double* x, double* sums) {
  kernel_portable(matrix, chunk, x, sums);
}
void kernel_avx512(const Sell& matrix, const Sell::Chunk& chunk, const double* x, double* sums) {
  kernel_portable(matrix, chunk, x, sums);
}

#endif

}  // namespace ompl::solver
