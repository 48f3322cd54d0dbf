#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# launch.sh LAUNCHER RANKS PROGRAM [ARG...]: runs the program under a launcher; status 77 if there is none.
launcher=$1 ranks=$2
shift 2
command -v "$launcher" >/dev/null || { echo "skipped: $launcher is not there"; exit 77; }
# Open MPI's launchers want to be told that they may.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
# Standard input never ends: MPICH 5's launcher passes its end on, and dies of SIGPIPE when a short program has ended by
# then (one in ten of `mpiexec -n 1 true </dev/null` on two busy cores; with it closed, still one in hundreds).
folder=$(mktemp -d) && mkfifo "$folder/stdin" && exec <>"$folder/stdin" && rm -r "$folder" || exit 1
exec timeout --kill-after=60 240 "$launcher" -n "$ranks" "$@"
