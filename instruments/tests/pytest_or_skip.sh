#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# pytest_or_skip.sh PYTHON TEST: runs a pytest file; 77 if that Python lacks the tools' libraries, or if
# every test of the file was skipped. OMNI_BUILD_DIR is where its folders stand, until it ends.
python=$1
test=$2
for module in pytest typer rich numpy matplotlib fastjsonschema jsonschema; do
  if ! "$python" -c "import $module" 2>/dev/null; then
    echo "skipped: $python has no $module; scripts/setup.sh check brings it"
    exit 77
  fi
done
here=$(cd "$(dirname "$0")" && pwd) || exit 1
cd "$(dirname "$test")/.." || exit 1
folder=$(mktemp -d "$OMNI_BUILD_DIR/pytest.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 143' HUP INT TERM
PYTHONPATH=$here/../omni:$here/pytest_plugins:$here "$python" -B -m pytest -q -rs --durations=5 --durations-min=2 \
  --basetemp="$folder" -p no:cacheprovider -p skip_is_77 -p long_tests -p no_added_libraries "$test"
