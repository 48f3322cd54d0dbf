#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_test.py ROOT: the summary of `make check` calls a pass, a failure and a skip what they are."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(sys.argv[1], "scripts")))
import check

SKIPPED_CASE = r"[ RUN      ] S.case\nf.cpp:1: Skipped\nno such device\n\n[  SKIPPED ] S.case (0 ms)\n"
FAILED_EARLY = r"printf 'f.cpp:1: Failure\nExpected: one\n'; seq 40; exit 1"
UNITTEST_SKIPPED = "test_case (__main__.T.test_case) ... skipped 'not root'"
TESTS = f"""
add_test(good /bin/true)
add_test(bad sh -c "echo broken; exit 1")
add_test(early sh -c [==[{FAILED_EARLY}]==])
add_test(absent sh -c "echo no device; exit 77")
set_tests_properties(absent PROPERTIES SKIP_RETURN_CODE 77)
add_test(partly printf [==[{SKIPPED_CASE}]==])
add_test(script echo "{UNITTEST_SKIPPED}")
add_test(pytest echo "SKIPPED [1] tests/test_a.py:7: not here")
add_test(slow sleep 10)
set_tests_properties(slow PROPERTIES TIMEOUT 1)
add_test(unbuilt /no/such/program)
"""
EXPECTED = {
    "here/good": ("passed", ""),
    "here/bad": ("failed", "broken"),
    "here/early": ("failed", "Expected: one"),
    "here/absent": ("skipped", "no device"),
    "here/partly": ("passed", ""),
    "here/partly/S.case": ("skipped", "no such device"),
    "here/script": ("passed", ""),
    "here/script/test_case": ("skipped", "not root"),
    "here/pytest": ("passed", ""),
    "here/pytest/tests/test_a.py:7": ("skipped", "not here"),
    "here/slow": ("failed", ""),
    "here/unbuilt": ("failed", ""),
}


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        check.BUILD = check.LOGS = Path(folder)
        Path(folder, "here").mkdir()
        Path(folder, "here/CTestTestfile.cmake").write_text(TESTS)
        found = {result.name: result for result in check.tests(check.Variant("here"), ".")}
    wrong = 0
    for name in sorted(EXPECTED.keys() | found.keys()):
        status, why = EXPECTED.get(name, ("not to be there", ""))
        result = found.get(name, check.Result(name, "missing"))
        good = result.status == status and why in result.why
        wrong += not good
        print(f"{'ok' if good else 'FAILED'}: {name} is {result.status} ({result.why.strip()!r})")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
