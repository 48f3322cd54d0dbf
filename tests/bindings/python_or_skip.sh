#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# python_or_skip.sh PYTHON COMMAND...: runs the command; 77 if that Python cannot load the package's extension module.
python=$1
shift
why=$("$python" -c "import numpy, omnipgas._core" 2>&1 | tail -n 1)
[ -z "$why" ] || { echo "skipped: $python: $why; scripts/setup.sh check brings it"; exit 77; }
exec "$@"
