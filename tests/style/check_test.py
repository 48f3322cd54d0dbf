#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_test.py ROOT: the summary of `make check` calls a pass, a failure and a skip what they are; a step that is cut
off, by its limit or by a signal, keeps the results it had, says so, and leaves no process behind."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(sys.argv[1], "scripts")))
import check
import step
from results import Result

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
    "here/slow": ("failed", "took longer than its 1 s"),
    "here/unbuilt": ("failed", ""),
}

# A mark in the environment also finds what left its session and its parent; one of the shells ignores SIGTERM.
MARK = "CHECK_TEST_MARK"
ORPHANS = "sleep 300 & setsid sleep 300 & (trap '' TERM; sleep 300; sleep 300) & sleep 300"
LATE_TESTS = f"""
add_test(early echo "this one is quick")
add_test(wrong sh -c "echo broken; exit 1")
add_test(absent sh -c "echo no device; exit 77")
set_tests_properties(early wrong absent PROPERTIES SKIP_RETURN_CODE 77 COST 9)
add_test(long sh -c [==[{ORPHANS}]==])
add_test(never sleep 300)
"""
LATE = {
    "here/early": ("passed", ""),
    "here/wrong": ("failed", "broken"),
    "here/absent": ("skipped", "no device"),
    "here/long": ("not run", ""),
    "here/never": ("not run", ""),
    "here-tests": ("failed", "timed out after"),
}
KILLED = LATE | {"here/absent": ("skipped", "reason was lost")}  # ctest itself was killed: what it printed counts
INTERRUPTED = KILLED | {"here-tests": ("not run", "interrupted after")}


def wrong(expected: dict[str, tuple[str, str]], results: list[Result]) -> int:
    """How many results are not as expected."""
    found = {result.name: result for result in results}
    count = 0
    for name in sorted(expected.keys() | found.keys()):
        status, why = expected.get(name, ("not to be there", ""))
        result = found.get(name, Result(name, "missing"))
        good = result.status == status and why in result.why
        count += not good
        print(f"{'ok' if good else 'FAILED'}: {name} is {result.status} ({result.why.strip()!r})")
    return count


def expect(holds: bool, what: str) -> int:
    print(f"{'ok' if holds else 'FAILED'}: {what}")
    return not holds


def left() -> list[str]:
    """The processes that carry the mark, but for this one."""
    mark = f"{MARK}={os.environ[MARK]}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append((entry / "cmdline").read_text().replace("\0", " "))
    return found


def none_left() -> int:
    return expect(not (found := left()), f"no process is left: {found}")


@contextlib.contextmanager
def folder_of(tests: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        check.BUILD = check.LOGS = Path(name)
        Path(name, "here").mkdir()
        Path(name, "here/CTestTestfile.cmake").write_text(tests)
        yield Path(name)


def here() -> list[Result]:
    return list(check.tests(check.Variant("here"), ".", 3))


def late(limit_s: float, stopping_s: float, expected: dict[str, tuple[str, str]]) -> int:
    """Tests of which one takes too long: ctest ends in time by itself, or has to be ended."""
    check.STEPS, check.STOPPING_S = step.Steps(limit_s), stopping_s
    with folder_of(LATE_TESTS):
        results = here()
        count = wrong(expected, results) + none_left()
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = check.summary(results, 1)
    for text in ("timed out after", "2 of 5 tests have no result", "no result: here/long here/never",
                 "1 passed, 2 failed, 1 skipped, 2 not run"):  # fmt: skip
        count += expect(text in said.getvalue(), f"the summary says {text!r}: {said.getvalue()!r}")
    return count + expect(status == 1, "the check fails")


def late_build() -> int:
    check.STEPS = step.Steps(1)
    with folder_of(""):
        result = check.missed("x", check.run("x", "sh", "-c", f"echo compiling; {ORPHANS}"))
        count = expect(result.why.startswith("timed out after 1 s"), f"a build says {result.why!r}")
        count += expect("compiling" in result.why, "and what it was at")
        return count + none_left()


def interrupted(root: Path) -> int:
    """SIGINT to the check while tests run."""
    with folder_of(LATE_TESTS) as folder:
        program = f"""
import json, sys
sys.path.insert(0, {str(root / "scripts")!r})
import check
check.BUILD = check.LOGS = check.Path({str(folder)!r})
check.build = lambda variant: (True, [])
for number in check.SIGNALS:
    check.signal.signal(number, check.interrupted)
results = []
check.conduct([check.Variant("here"), check.Variant("there")], True, results)
for result in results:
    print("RESULT", json.dumps([result.name, result.status, result.why]))
sys.exit(check.summary(results, 1))
"""
        process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        log = folder / "here-tests.log"
        limit = time.monotonic() + 600
        while time.monotonic() < limit and not (log.exists() and "absent" in log.read_text().partition("3/5")[2]):
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        output = process.communicate()[0]
        lines = [line.removeprefix("RESULT ") for line in output.splitlines() if line.startswith("RESULT ")]
        results = [Result(*json.loads(line)) for line in lines]
        mine = [result for result in results if result.name.startswith("here")]
        count = wrong(INTERRUPTED, mine) + none_left()
        count += expect("interrupted in 0 min" in output and process.returncode == 1, f"it says so: {output}")
        return count


def limits() -> int:
    """What the limits are multiplied by."""
    usual = step.factor(0.5, 0.5, 0, 2)
    count = expect(usual == 1, f"the reference machine has a factor of {usual}")
    for slow, what in (
        (step.factor(1, 1, 0, 2), "cores of half the speed"),
        (step.factor(0.5, 1, 0, 2), "a quota of half the time"),
        (step.factor(0.5, 0.5, 2, 2), "a load of one process a core"),
        (step.factor(0.5, 0.5, 0, 1), "one core instead of two"),
    ):
        count += expect(slow == 2, f"{what} has a factor of {slow}")
    count += expect(step.factor(0.1, 0.1, 0, 64) == 1, "no machine shortens them")
    return count + expect(step.factor(5, 50, 900, 1) == step.MOST, "no load makes them endless")


def main() -> int:
    os.environ[MARK] = str(os.getpid())
    step.GRACE_S = 1
    root = Path(sys.argv[1]).resolve()
    with folder_of(TESTS):
        count = wrong(EXPECTED, here())
    usual = 3 * step.slowness()
    count += late(usual, 60, LATE)
    count += late(usual, -1, KILLED)
    return 1 if count + late_build() + interrupted(root) + limits() else 0


if __name__ == "__main__":
    sys.exit(main())
