#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# newest_ucx.sh PREFIX PROGRAM [ARG...]: runs it over TCP with the UCX of a Python environment.
library=$(find "$1" -name libucp.so.0 -print -quit 2>/dev/null)
if [ -z "$library" ]; then
  echo "skipped: there is no UCX below $1 (scripts/setup.sh check installs one)"
  exit 77
fi
shift
LD_LIBRARY_PATH=$(dirname "$library") UCX_TLS=tcp exec "$@"
