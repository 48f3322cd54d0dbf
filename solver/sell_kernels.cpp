// SPDX-License-Identifier: BSD-3-Clause
#include "solver/sell_kernels.hpp"

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

}  // namespace

void kernel_portable(const Sell& matrix, const Sell::Chunk& chunk, const double* x, double* sums) {
  const double* const value = matrix.value.data() + chunk.value;
  if (chunk.narrow)
    add_up(chunk.width, value, matrix.offset.data() + chunk.column, x + chunk.base, sums);
  else
    add_up(chunk.width, value, matrix.column.data() + chunk.column, x, sums);
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

__attribute__((target("avx2"))) void kernel_avx2(const Sell& matrix, const Sell::Chunk& chunk,
                                                 const double* x, double* sums) {
  const double* value = matrix.value.data() + chunk.value;
  __m256d low = _mm256_setzero_pd(), high = _mm256_setzero_pd();
  const auto add = [&](__m128i first, __m128i second) __attribute__((target("avx2"))) {
    low = _mm256_add_pd(low, _mm256_mul_pd(_mm256_loadu_pd(value), _mm256_i32gather_pd(x, first, 8)));
    high = _mm256_add_pd(high,
                         _mm256_mul_pd(_mm256_loadu_pd(value + 4), _mm256_i32gather_pd(x, second, 8)));
    value += Sell::kRows;
  };
  if (chunk.narrow) {
    x += chunk.base;
    const uint16_t* const offset = matrix.offset.data() + chunk.column;
    for (uint64_t k = 0; k < chunk.width; ++k) {
      const __m128i both = _mm_loadu_si128(reinterpret_cast<const __m128i*>(offset + 8 * k));
      add(_mm_cvtepu16_epi32(both), _mm_cvtepu16_epi32(_mm_srli_si128(both, 8)));
    }
  } else {
    const auto* column = reinterpret_cast<const __m128i*>(matrix.column.data() + chunk.column);
    for (uint64_t k = 0; k < chunk.width; ++k)
      add(_mm_loadu_si128(column + 2 * k), _mm_loadu_si128(column + 2 * k + 1));
  }
  _mm256_storeu_pd(sums, low);
  _mm256_storeu_pd(sums + 4, high);
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
