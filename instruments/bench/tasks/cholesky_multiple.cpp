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
  cholesky::make_tasks(a, [&](int i, int k) { share(a, &chains, i, k); });
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
