// SPDX-License-Identifier: BSD-3-Clause
// What the MPI forms of the Cholesky factorization share; clients/tasklet/examples/cholesky.cpp is that over this layer, with
// the same kernels and the same division of the tiles among the ranks.
//
//   OMP_NUM_THREADS=THREADS mpiexec -n RANKS ./PROGRAM TILES TILE_SIZE
#pragma once

#include <mpi.h>
#include <omp.h>

#include "examples/kernels.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace cholesky {

// A rank has its own tiles, and copies of others' in the same places.
class Matrix {
 public:
  Matrix(int tiles, int tile_size)
      : count(tiles),
        size(tile_size),
        memory_(static_cast<std::size_t>(tiles) * static_cast<std::size_t>(tiles) * elements()) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < rows(); ++i)
      for (int j = 0; j < rows(); ++j)
        if (own(i / size, j / size)) at(i, j) = kernels::entry(rows(), i, j);
  }
  [[nodiscard]] int rows() const { return count * size; }
  [[nodiscard]] std::size_t elements() const {
    return static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
  }
  [[nodiscard]] double* tile(int i, int j) {
    return memory_.data() + static_cast<std::size_t>(i * count + j) * elements();
  }
  [[nodiscard]] double& at(int row, int column) {
    return tile(row / size, column / size)[row % size * size + column % size];
  }
  [[nodiscard]] int owner(int i, int j) const { return (i + j) % ranks; }
  [[nodiscard]] bool own(int i, int j) const { return owner(i, j) == rank; }
  [[nodiscard]] int tag(int i, int j) const { return i * count + j; }
  // Whether a rank works with tile (i, k) of column k, once that is finished.
  [[nodiscard]] bool needs(int to, int i, int k) const {
    for (int j = k + 1; j < count; ++j) {
      const int other = i == k ? owner(j, k) : owner(std::max(i, j), std::min(i, j));
      if (other == to) return true;
    }
    return false;
  }
  // The ranks to which a tile of this one goes; whether one of another rank comes.
  [[nodiscard]] std::vector<int> takers(int i, int k) const {
    std::vector<int> found;
    for (int to = 0; to < ranks; ++to)
      if (own(i, k) && to != rank && needs(to, i, k)) found.push_back(to);
    return found;
  }
  [[nodiscard]] bool comes(int i, int k) const { return !own(i, k) && needs(rank, i, k); }
  MPI_Request send(int to, int i, int k) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(tile(i, k), static_cast<int>(elements()), MPI_DOUBLE, to, tag(i, k), MPI_COMM_WORLD,
              &request);
    return request;
  }
  MPI_Request receive(int i, int k) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(tile(i, k), static_cast<int>(elements()), MPI_DOUBLE, owner(i, k), tag(i, k),
              MPI_COMM_WORLD, &request);
    return request;
  }

  const int count, size;
  int rank = 0, ranks = 1;

 private:
  std::vector<double> memory_;
};

inline void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "cholesky: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// A task for each kernel, which depends on its tiles; returns once they have run. `share(i, k)` makes the tasks by which a finished tile
// gets to the ranks that need it.
template <class Share>
void make_tasks(Matrix* a, Share share) {
  const int count = a->count, n = a->size;
  for (int k = 0; k < count; ++k) {
    double* const diagonal = a->tile(k, k);
    if (a->own(k, k)) {
#pragma omp task depend(inout : diagonal[0]) firstprivate(diagonal, n) priority(3)
      must(kernels::cholesky(diagonal, n), "the matrix is not positive definite");
    }
    share(k, k);
    for (int i = k + 1; i < count; ++i) {
      double* const below = a->tile(i, k);
      if (a->own(i, k)) {
#pragma omp task depend(in                          \
                        : diagonal[0]) depend(inout \
                                              : below[0]) firstprivate(diagonal, below, n) priority(1)
        kernels::solve_transposed(diagonal, below, n);
      }
      share(i, k);
    }
    for (int i = k + 1; i < count; ++i)
      for (int j = k + 1; j <= i; ++j) {
        if (!a->own(i, j)) continue;
        double *const left = a->tile(i, k), *const right = a->tile(j, k), *const to = a->tile(i, j);
#pragma omp task depend(in : left[0], right[0]) depend(inout : to[0]) firstprivate(left, right, to, n)
        kernels::update_transposed(left, right, to, n);
      }
  }
#pragma omp taskwait
}

// max |A - L L^T| / max |A| over the lower tiles, at rank 0.
inline double residual(Matrix* a) {
  for (int i = 0; i < a->count; ++i)
    for (int j = 0; j <= i; ++j) {
      if (a->owner(i, j) == 0) continue;
      MPI_Request request = MPI_REQUEST_NULL;
      if (a->own(i, j)) request = a->send(0, i, j);
      if (a->rank == 0) request = a->receive(i, j);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  double worst = 0;
  for (int row = 0; a->rank == 0 && row < a->rows(); ++row)
    for (int column = 0; column <= row; ++column) {
      double sum = 0;
      for (int k = 0; k <= column; ++k) sum += a->at(row, k) * a->at(column, k);
      worst = std::max(worst, std::abs(kernels::entry(a->rows(), row, column) - sum));
    }
  return worst / kernels::entry(a->rows(), 0, 0);
}

// The whole program, but for `factorize`, which is told the number of threads.
inline int run(int argc, char** argv, int level, void (*factorize)(Matrix*, int)) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, level, &provided);
  must(provided >= level, "this MPI has not the level of threads that is needed");
  must(argc == 3 && std::atoi(argv[1]) > 0 && std::atoi(argv[2]) > 0,
       "give the number of tiles and their size");
  must(std::atoi(argv[1]) <= 181, "more than 181 tiles: tags go up to 32767");
  int wrong = 0;
  {
    Matrix a(std::atoi(argv[1]), std::atoi(argv[2]));
    const int threads = omp_get_max_threads();
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    factorize(&a, threads);
    MPI_Barrier(MPI_COMM_WORLD);
    const double seconds = MPI_Wtime() - begin;
    const double found = residual(&a);
    if (a.rank == 0) {
      wrong = !(found < 1e-13);
      std::printf("%d x %d, %d ranks: %.6f s, residual %.1e%s\n", a.rows(), a.rows(), a.ranks, seconds,
                  found, wrong ? " is wrong" : "");
    }
  }
  MPI_Finalize();
  return wrong;
}

}  // namespace cholesky
