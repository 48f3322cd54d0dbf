// SPDX-License-Identifier: BSD-3-Clause
// Cholesky as OpenMP tasks that call MPI themselves (MPI_THREAD_MULTIPLE). A receive holds its thread until the tile is there, so
// one thread less than there are may receive at once: receives form as many chains, in the order of the steps, which all ranks
// have in common. One thread alone runs its tasks in that order, too.
#include "cholesky.hpp"

namespace {

using cholesky::Matrix;

struct Chains {
  explicit Chains(int threads) : links(static_cast<std::size_t>(std::max(1, threads - 1))) {}
  char* next() { return &links[turn++ % links.size()]; }
  std::vector<char> links;
  std::size_t turn = 0;
};

void share(Matrix* a, Chains* chains, int i, int k) {
  [[maybe_unused]] double* const tile = a->tile(i, k);
  for (const int to : a->takers(i, k)) {
#pragma omp task depend(in : tile[0]) firstprivate(a, to, i, k) priority(2)
    {
      MPI_Request request = a->send(to, i, k);
      MPI_Request_free(&request);  // the tile stays as it is until the end
    }
  }
  if (!a->comes(i, k)) return;
  [[maybe_unused]] char* const link = chains->next();
#pragma omp task depend(out : tile[0]) depend(inout : link[0]) firstprivate(a, i, k) priority(2)
  {
    MPI_Request request = a->receive(i, k);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

void make_tasks(Matrix* a, int threads) {
  Chains chains(threads);
  const int count = a->count, n = a->size;
  for (int k = 0; k < count; ++k) {
    double* const diagonal = a->tile(k, k);
    if (a->own(k, k)) {
#pragma omp task depend(inout : diagonal[0]) firstprivate(diagonal, n) priority(3)
      cholesky::must(kernels::cholesky(diagonal, n), "the matrix is not positive definite");
    }
    share(a, &chains, k, k);
    for (int i = k + 1; i < count; ++i) {
      double* const below = a->tile(i, k);
      if (a->own(i, k)) {
#pragma omp task depend(in                          \
                        : diagonal[0]) depend(inout \
                                              : below[0]) firstprivate(diagonal, below, n) priority(1)
        kernels::solve_transposed(diagonal, below, n);
      }
      share(a, &chains, i, k);
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

void factorize(Matrix* a, int threads) {
  if (threads == 1)
    return make_tasks(a, threads);  // outside of a team each task is run where it is made
#pragma omp parallel num_threads(threads)
#pragma omp single
  make_tasks(a, threads);
}

}  // namespace

int main(int argc, char** argv) { return cholesky::run(argc, argv, MPI_THREAD_MULTIPLE, factorize); }
