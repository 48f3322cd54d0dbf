/* SPDX-License-Identifier: BSD-3-Clause */
/* The 27-point problem by hypre's PCG on a ParCSR matrix, without preconditioner: b = A times ones, from x = 0. */
#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>
#include <mpi.h>

#include "stencil.h"

/* hypre notes errors; the first one ends the job. */
static void check(const char* what) {
  if (HYPRE_GetError() == 0) return;
  fprintf(stderr, "hypre: %s failed\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static HYPRE_IJMatrix assemble(const struct problem* p) {
  HYPRE_IJMatrix a;
  HYPRE_IJMatrixCreate(MPI_COMM_WORLD, p->first, p->last - 1, p->first, p->last - 1, &a);
  HYPRE_IJMatrixSetObjectType(a, HYPRE_PARCSR);
  HYPRE_Int* sizes = malloc(sizeof *sizes * (size_t)(p->last - p->first));
  for (int row = p->first; row < p->last; ++row) sizes[row - p->first] = kMostEntries;
  HYPRE_IJMatrixSetRowSizes(a, sizes);
  free(sizes);
  HYPRE_IJMatrixInitialize(a);
  HYPRE_BigInt columns[kMostEntries];
  HYPRE_Complex values[kMostEntries];
  for (HYPRE_BigInt row = p->first; row < p->last; ++row) {
    HYPRE_Int count = row_of(p, row, columns, values);
    HYPRE_IJMatrixSetValues(a, 1, &count, &row, columns, values);
  }
  HYPRE_IJMatrixAssemble(a);
  check("the matrix");
  return a;
}

static HYPRE_IJVector vector(const struct problem* p, HYPRE_ParVector* out) {
  HYPRE_IJVector v;
  void* object;
  HYPRE_IJVectorCreate(MPI_COMM_WORLD, p->first, p->last - 1, &v);
  HYPRE_IJVectorSetObjectType(v, HYPRE_PARCSR);
  HYPRE_IJVectorInitialize(v);
  HYPRE_IJVectorAssemble(v);
  HYPRE_IJVectorGetObject(v, &object);
  *out = object;
  check("a vector");
  return v;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const struct problem p = read_problem(argc, argv, rank, ranks);
  HYPRE_Init();
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  HYPRE_IJMatrix matrix = assemble(&p);
  void* object;
  HYPRE_IJMatrixGetObject(matrix, &object);
  HYPRE_ParCSRMatrix a = object;
  HYPRE_ParVector x, b;
  HYPRE_IJVector vectors[] = {vector(&p, &x), vector(&p, &b)};
  HYPRE_Solver solver;
  HYPRE_ParCSRPCGCreate(MPI_COMM_WORLD, &solver);
  HYPRE_PCGSetTol(solver, p.tolerance);
  HYPRE_PCGSetMaxIter(solver, 10000);
  HYPRE_PCGSetTwoNorm(solver, 1);
  HYPRE_ParCSRPCGSetup(solver, a, b, x);
  MPI_Barrier(MPI_COMM_WORLD);
  const double ready = MPI_Wtime();
  HYPRE_ParVectorSetConstantValues(x, 1);
  HYPRE_ParCSRMatrixMatvec(1, a, x, 0, b);
  HYPRE_ParVectorSetConstantValues(x, 0);
  check("set-up");
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  HYPRE_ParCSRPCGSolve(solver, a, b, x);
  const double seconds = MPI_Wtime() - start;
  HYPRE_Int iterations;
  HYPRE_Real residual;
  HYPRE_PCGGetNumIterations(solver, &iterations);
  HYPRE_PCGGetFinalRelativeResidualNorm(solver, &residual);
  check("the solve");
  if (rank == 0) report(iterations, seconds, ready - begin, residual);
  HYPRE_ParCSRPCGDestroy(solver);
  for (int i = 0; i < 2; ++i) HYPRE_IJVectorDestroy(vectors[i]);
  HYPRE_IJMatrixDestroy(matrix);
  HYPRE_Finalize();
  MPI_Finalize();
  return 0;
}
