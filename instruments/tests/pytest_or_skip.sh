#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# pytest_or_skip.sh PYTHON TEST: runs a pytest file; 77 if that Python lacks the tools' libraries, or if
# every test of the file was skipped.
python=$1
test=$2
for module in pytest typer rich numpy matplotlib jsonschema; do
  if ! "$python" -c "import $module" 2>/dev/null; then
    echo "skipped: $python has no $module; scripts/setup.sh check brings it"
    exit 77
  fi
done
here=$(cd "$(dirname "$0")" && pwd) || exit 1
cd "$(dirname "$test")/.." || exit 1
PYTHONPATH=$here/../omni:$here/pytest_plugins:$here exec "$python" -B -m pytest -q -rs --durations=5 --durations-min=2 -p no:cacheprovider -p skip_is_77 -p long_tests -p no_added_libraries "$test"
