#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# clang_test.sh BUILD SOURCE: the OpenMP executor and tags from C, compiled by clang with its own OpenMP, on two ranks.
build=$1
source=$2
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
echo 'int main(void) { return 0; }' >"$scratch/probe.c"
if ! clang -fopenmp "$scratch/probe.c" -o "$scratch/probe" 2>/dev/null; then
  echo "skipped: there is no clang with an OpenMP runtime (libomp-dev)"
  exit 77
fi
includes="-I$source/include -I$source/clients/tasklet"
libraries="-L$build/lib -lomnipgas-tasklet -lomnipgas -Wl,-rpath,$build/lib"
clang -std=c11 -O1 -Wall -Wextra -Werror -fopenmp $includes "$source/clients/tasklet/tests/foreign_worker.c" -o "$scratch/foreign" $libraries || exit 1
clang++ -std=c++20 -O1 -fopenmp $includes "$source/clients/tasklet/tests/graph_worker.cpp" -o "$scratch/graph" $libraries || exit 1
export OMPL_CONDUITS=self,shm
"$build/bin/omplrun" --timeout 60 -n 2 "$scratch/foreign" || exit 1
"$build/bin/omplrun" --timeout 60 -n 2 "$scratch/graph" tasks=5000 threads=3 openmp=1
