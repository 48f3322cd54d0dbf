// SPDX-License-Identifier: BSD-3-Clause
// Cholesky factorization of a symmetric matrix in tiles, as tasks over ranks: each kernel is a task that depends on its tiles, and a
// tile that is finished goes to each rank that needs it by a put, whose end a task there waits for. No rank ever waits as a whole.
//
//   omplrun -n 2 tasklet_cholesky [TILES] [TILE_SIZE] [THREADS]
#include <omnipgas/tasklet.hpp>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <vector>

namespace {

using namespace omnipgas::tasklet;

uint32_t g_rank, g_ranks;
int g_tiles = 16, g_size = 64;  // tiles in a row, elements in a row of a tile
uint64_t g_offset;
double* g_memory;  // of this rank: its own tiles, and copies of others' in the same places

std::size_t elements() { return static_cast<std::size_t>(g_size) * static_cast<std::size_t>(g_size); }
std::size_t place(int i, int j) {
  return (static_cast<std::size_t>(i) * static_cast<std::size_t>(g_tiles) +
          static_cast<std::size_t>(j)) *
         elements();
}
double* tile(int i, int j) { return g_memory + place(i, j); }
uint32_t owner(int i, int j) { return static_cast<uint32_t>(i + j) % g_ranks; }
double entry(int row, int column) {
  return row == column ? 2.0 * g_tiles * g_size : 1.0 / (1 + std::abs(row - column));
}

int factorize(double* a) {
  const int n = g_size;
  for (int j = 0; j < n; ++j) {
    for (int k = 0; k < j; ++k)
      for (int i = j; i < n; ++i) a[i * n + j] -= a[i * n + k] * a[j * n + k];
    if (!(a[j * n + j] > 0)) return OMPL_ERR_ARG;  // not positive definite
    const double root = std::sqrt(a[j * n + j]);
    for (int i = j; i < n; ++i) a[i * n + j] /= root;
  }
  return 0;
}
int solve(const double* l, double* b) {  // b := b l^-T
  const int n = g_size;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = b[i * n + j];
      for (int k = 0; k < j; ++k) sum -= b[i * n + k] * l[j * n + k];
      b[i * n + j] = sum / l[j * n + j];
    }
  return 0;
}
int update(const double* a, const double* b, double* c) {  // c := c - a b^T
  const int n = g_size;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[j * n + k];
      c[i * n + j] -= sum;
    }
  return 0;
}

template <class Code>
void make(Code code, std::initializer_list<ompl_tasklet_dependence> dependences, int priority = 0) {
  omnipgas::check(create(code, {dependences.begin(), dependences.size()}, priority));
}

// Finished tile (i, k) goes to the ranks that `needs` it.
template <class Needs>
void share(int i, int k, Needs needs) {
  double* const data = tile(i, k);
  const auto tag = static_cast<uint32_t>(i * g_tiles + k);
  const uint32_t from = owner(i, k);
  for (uint32_t to = 0; to < g_ranks; ++to) {
    if (to == from || (g_rank != from && g_rank != to) || !needs(to)) continue;
    if (g_rank == to) {
      make([] { return 0; }, {out(data), put_ready(from, tag)});
      continue;
    }
    const uint64_t dest = g_offset + place(i, k) * sizeof(double);
    make(
        [=] {
          return ompl_tasklet_put(reinterpret_cast<uint64_t>(data), to, dest,
                                  elements() * sizeof(double));
        },
        {in(data), put(to, tag)}, 2);
  }
}

int cholesky(void*) {
  for (int k = 0; k < g_tiles; ++k) {
    double* const diagonal = tile(k, k);
    if (owner(k, k) == g_rank) make([=] { return factorize(diagonal); }, {inout(diagonal)}, 3);
    share(k, k, [k](uint32_t rank) {
      for (int i = k + 1; i < g_tiles; ++i)
        if (owner(i, k) == rank) return true;
      return false;
    });
    for (int i = k + 1; i < g_tiles; ++i) {
      double* const below = tile(i, k);
      if (owner(i, k) == g_rank)
        make([=] { return solve(diagonal, below); }, {in(diagonal), inout(below)}, 1);
      share(i, k, [=](uint32_t rank) {
        for (int j = k + 1; j < g_tiles; ++j)
          if (owner(std::max(i, j), std::min(i, j)) == rank) return true;
        return false;
      });
    }
    for (int i = k + 1; i < g_tiles; ++i)
      for (int j = k + 1; j <= i; ++j)
        if (owner(i, j) == g_rank)
          make([=] { return update(tile(i, k), tile(j, k), tile(i, j)); },
               {in(tile(i, k)), in(tile(j, k)), inout(tile(i, j))});
  }
  return ompl_tasklet_wait_all();
}

// max |A - L L^T| / max |A| over the lower tiles, at rank 0.
double residual() {
  double worst = 0;
  const int n = g_size;
  for (int i = 0; i < g_tiles; ++i)
    for (int j = 0; j <= i; ++j)
      omnipgas::check(ompl_get(reinterpret_cast<uint64_t>(tile(i, j)), owner(i, j),
                               g_offset + place(i, j) * sizeof(double), elements() * sizeof(double)));
  for (int row = 0; row < g_tiles * n; ++row)
    for (int column = 0; column <= row; ++column) {
      double sum = 0;
      for (int k = 0; k <= column; ++k)
        sum +=
            tile(row / n, k / n)[row % n * n + k % n] * tile(column / n, k / n)[column % n * n + k % n];
      worst = std::max(worst, std::abs(entry(row, column) - sum));
    }
  return worst / entry(0, 0);
}

}  // namespace

int main(int argc, char** argv) {
  omnipgas::Session session;
  if (argc > 1) g_tiles = std::atoi(argv[1]);
  if (argc > 2) g_size = std::atoi(argv[2]);
  ompl_tasklet_config config = OMPL_TASKLET_CONFIG_INIT;
  config.threads = argc > 3 ? std::atoi(argv[3]) : 2;
  config.tags = static_cast<uint32_t>(g_tiles * g_tiles);
  omnipgas::check(ompl_tasklet_init(&config));
  g_rank = omnipgas::rank();
  g_ranks = omnipgas::size();
  omnipgas::Array<double> matrix(static_cast<std::size_t>(g_tiles) * static_cast<std::size_t>(g_tiles) *
                                 elements());
  g_offset = matrix.offset();
  g_memory = matrix.local().data();
  for (int i = 0; i < g_tiles * g_size; ++i)
    for (int j = 0; j <= i; ++j)
      if (owner(i / g_size, j / g_size) == g_rank)
        tile(i / g_size, j / g_size)[i % g_size * g_size + j % g_size] = entry(i, j);
  for (int k = 0; k < g_tiles; ++k)  // update() uses whole tiles
    for (int i = 0; i < g_size; ++i)
      for (int j = i + 1; j < g_size; ++j) tile(k, k)[i * g_size + j] = entry(i, j);
  omnipgas::barrier();
  const auto begin = std::chrono::steady_clock::now();
  omnipgas::check(ompl_tasklet_run(cholesky, nullptr));
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  omnipgas::barrier();
  int wrong = 0;
  if (g_rank == 0) {
    const double found = residual();
    wrong = !(found < 1e-13);
    std::printf("%d x %d, %u ranks: %.3f s, residual %.1e%s\n", g_tiles * g_size, g_tiles * g_size,
                g_ranks, time.count(), found, wrong ? " is wrong" : "");
  }
  omnipgas::barrier();
  omnipgas::check(ompl_tasklet_finalize());
  return wrong;
}
