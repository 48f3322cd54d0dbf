#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# launch.sh LAUNCHER RANKS PROGRAM [ARG...]: runs the program under a launcher; status 77 if there is none.
launcher=$1 ranks=$2
shift 2
command -v "$launcher" >/dev/null || { echo "skipped: $launcher is not there"; exit 77; }
exec timeout --kill-after=5 50 "$launcher" -n "$ranks" "$@" </dev/null
