#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# demo.sh JOBS
# Builds what the comparison of OMPL with MPICH and Open MPI needs, and runs it: a table, and a plot in build/results.
# The build's output goes into build/demo.log; every ten seconds a line says how far it is.
set -eu
cd "$(dirname "$0")/.."
log=build/demo.log
mkdir -p build/results
say() { echo "demo: $*"; }

show_progress() {
  local steps
  while sleep 10 && kill -0 $$ 2>/dev/null; do
    steps=$(grep -o '^\[[0-9]*/[0-9]*\]' "$log" | tail -n 1)
    [ -z "$steps" ] || say "  steps of the build: $steps"
  done
}

say "building the layer and one worker for each library; the output is in $log"
: >"$log"
show_progress &
shower=$!
trap 'kill $shower 2>/dev/null || true' EXIT
if ! { cmake --preset release &&
  cmake --build build -j "$1" --target omplrun ompl_bench_raw ompl_bench_ompl bench_mpi_workers; } >"$log" 2>&1; then
  say "the build failed. The end of $log:"
  tail -n 20 "$log"
  exit 1
fi
kill $shower
say "measuring, about a minute"
build/bin/omni pingpong --quick --libs raw,ompl,mpich,openmpi --threads 1,2,4,8 \
  --json build/results/demo.json --plot build/results/demo.png
