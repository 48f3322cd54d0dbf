/* SPDX-License-Identifier: BSD-3-Clause */
/* The 27-point problem by PETSc's KSPCG without preconditioner: b = A times ones, from x = 0. */
#include <petscksp.h>

#include "stencil.h"

static PetscErrorCode assemble(const struct problem* p, Mat* a) {
  const PetscInt mine = p->last - p->first;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, mine, mine, p->rows, p->rows, kMostEntries, NULL,
                         kMostEntries, NULL, a));
  PetscInt columns[kMostEntries];
  PetscScalar values[kMostEntries];
  for (PetscInt row = p->first; row < p->last; ++row) {
    const PetscInt count = row_of(p, row, columns, values);
    PetscCall(MatSetValues(*a, 1, &row, count, columns, values, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*a, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*a, MAT_FINAL_ASSEMBLY));
  return 0;
}

static PetscErrorCode set_up(const struct problem* p, Mat a, KSP* solver) {
  PC preconditioner;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, solver));
  PetscCall(KSPSetOperators(*solver, a, a));
  PetscCall(KSPSetType(*solver, KSPCG));
  PetscCall(KSPGetPC(*solver, &preconditioner));
  PetscCall(PCSetType(preconditioner, PCNONE));
  PetscCall(KSPSetNormType(*solver, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(*solver, p->tolerance, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  return KSPSetUp(*solver);
}

int main(int argc, char** argv) {
  int one = 1; /* the options are ours */
  PetscCall(PetscInitialize(&one, &argv, NULL, NULL));
  PetscMPIInt rank, ranks;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  MPI_Comm_size(PETSC_COMM_WORLD, &ranks);
  const struct problem p = read_problem(argc, argv, rank, ranks);
  Mat a;
  Vec x, b;
  KSP solver;
  MPI_Barrier(PETSC_COMM_WORLD);
  const double begin = MPI_Wtime();
  PetscCall(assemble(&p, &a));
  PetscCall(MatCreateVecs(a, &x, &b));
  PetscCall(set_up(&p, a, &solver));
  MPI_Barrier(PETSC_COMM_WORLD);
  const double ready = MPI_Wtime();
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(a, x, b));
  PetscCall(VecSet(x, 0));
  MPI_Barrier(PETSC_COMM_WORLD);
  const double start = MPI_Wtime();
  PetscCall(KSPSolve(solver, b, x));
  const double seconds = MPI_Wtime() - start;
  PetscInt iterations;
  PetscReal residual, norm;
  PetscCall(KSPGetIterationNumber(solver, &iterations));
  PetscCall(KSPGetResidualNorm(solver, &residual));
  PetscCall(VecNorm(b, NORM_2, &norm));
  if (rank == 0) report(iterations, seconds, ready - begin, residual / norm);
  PetscCall(KSPDestroy(&solver));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&a));
  return PetscFinalize();
}
