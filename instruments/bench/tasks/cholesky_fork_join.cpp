// SPDX-License-Identifier: BSD-3-Clause
// Cholesky by fork and join: parallel loops over the tiles of a step, and between them one thread that sends and receives.
#include "cholesky.hpp"

namespace {

using cholesky::Matrix;

// The finished tiles of column k from row `first` to `last` go where they are needed.
void exchange(Matrix* a, int k, int first, int last) {
  std::vector<MPI_Request> requests;
  for (int i = first; i <= last; ++i) {
    for (const int to : a->takers(i, k)) requests.push_back(a->send(to, i, k));
    if (a->comes(i, k)) requests.push_back(a->receive(i, k));
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

void factorize(Matrix* a, int threads) {
  const int count = a->count, n = a->size;
  for (int k = 0; k < count; ++k) {
    if (a->own(k, k))
      cholesky::must(kernels::cholesky(a->tile(k, k), n), "the matrix is not positive definite");
    exchange(a, k, k, k);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int i = k + 1; i < count; ++i)
      if (a->own(i, k)) kernels::solve_transposed(a->tile(k, k), a->tile(i, k), n);
    exchange(a, k, k + 1, count - 1);
#pragma omp parallel for schedule(dynamic) collapse(2) num_threads(threads)
    for (int i = k + 1; i < count; ++i)
      for (int j = k + 1; j < count; ++j)
        if (j <= i && a->own(i, j))
          kernels::update_transposed(a->tile(i, k), a->tile(j, k), a->tile(i, j), n);
  }
}

}  // namespace

int main(int argc, char** argv) { return cholesky::run(argc, argv, MPI_THREAD_FUNNELED, factorize); }
