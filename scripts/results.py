# SPDX-License-Identifier: BSD-3-Clause
"""The results of a check, and what ctest says of the tests: in its JUnit file, or if it was ended before it wrote that,
on its standard output.

python3 scripts/results.py build/check/release.xml > tests/costs.txt: the tests that took longest, which ctest starts
first from then on.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

SKIP_MARK = "SKIP_RETURN_CODE"  # how ctest tells an honest skip from a test it could not start
LEAST_COST_S = 5.0


@dataclass(frozen=True)
class Result:
    name: str
    status: str  # passed, failed, skipped, not run
    why: str = ""


# A line of ctest's about a test, and what that test said.
VERDICT = re.compile(
    r"^ *\d+/\d+ Test +#\d+: (\S+) \.* *(?:[\w ]*\*\*\*)?(\S.*?) +([\d.]+) sec\n"
    r"((?:(?! *\d+/\d+ Test +#| *Start +\d+:).*\n)*)",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Verdict:
    word: str  # Passed, Skipped, Failed, Timeout, Exception...
    seconds: float
    said: str


def verdicts_of(output: str) -> dict[str, Verdict]:
    """What ctest printed of each test."""
    return {match[1]: Verdict(match[2], float(match[3]), match[4]) for match in VERDICT.finditer(output)}


def tail(text: str, lines: int = 15) -> str:
    """The last lines, after those where GoogleTest says what failed."""
    said = text.rstrip().splitlines()
    last = max(0, len(said) - lines)
    failed = [i for i, line in enumerate(said) if line.endswith(": Failure")][:10]
    told = sorted({i for at in failed for i in range(at, min(at + 5, last))})
    return "\n".join("    " + line for line in [*(said[i] for i in told), *said[last:]])


def inside(build: str, test: str, output: str) -> Iterator[Result]:
    """The cases that a passed program skipped, as unittest, pytest and GoogleTest (after RUN) say it."""
    for pattern in (r"^(\w+) \(.*\) \.\.\. skipped ['\"](.*)['\"]$", r"^SKIPPED \[\d+\] (\S+): (.*)$"):
        for match in re.finditer(pattern, output, re.MULTILINE):
            yield Result(f"{build}/{test}/{match[1]}", "skipped", match[2])
    for match in re.finditer(r"\[ RUN      \] (\S+)\n(.*?)\[  SKIPPED \] \1 ", output, re.DOTALL):
        said = [line for line in match[2].splitlines() if line and not re.match(r"\S+:\d+: Skipped$", line)]
        yield Result(f"{build}/{test}/{match[1]}", "skipped", " ".join(said[-1:]))


def from_junit(build: str, junit: Path, verdicts: dict[str, Verdict]) -> Iterator[Result]:
    """What ctest wrote of each test when it came to its end."""
    for case in ElementTree.parse(junit).iter("testcase"):
        said = case.findtext("system-out") or ""
        test, result = case.attrib["name"], case.attrib["status"]
        if result == "run":
            yield Result(f"{build}/{test}", "passed")
            yield from inside(build, test, said)
        elif SKIP_MARK in "".join(mark.attrib["message"] for mark in case.iter("skipped")):
            yield Result(f"{build}/{test}", "skipped", said.strip().splitlines()[-1])
        else:
            why = case.find("failure")
            text = "" if why is None else why.attrib.get("message", "")
            if test in verdicts and verdicts[test].word == "Timeout":
                text = f"took longer than its {verdicts[test].seconds:.0f} s"
            yield Result(f"{build}/{test}", "failed", f"{text}\n{tail(said)}")


def from_log(build: str, verdicts: dict[str, Verdict]) -> Iterator[Result]:
    """What ctest printed of each test before it was ended: nothing of why one was skipped."""
    for test, verdict in verdicts.items():
        if verdict.word == "Passed":
            yield Result(f"{build}/{test}", "passed")
        elif verdict.word == "Skipped":
            yield Result(f"{build}/{test}", "skipped", "the reason was lost: ctest was ended early")
        else:
            yield Result(f"{build}/{test}", "failed", f"{verdict.word}\n{tail(verdict.said)}")


def costs(junit: Path) -> str:
    """The seconds of each test that took some, for tests/costs.txt."""
    took = {case.attrib["name"]: float(case.attrib["time"]) for case in ElementTree.parse(junit).iter("testcase")}
    longest = sorted((test for test in took if took[test] >= LEAST_COST_S), key=lambda test: (-took[test], test))
    return "".join(f"{test} {took[test]:.0f}\n" for test in longest)


if __name__ == "__main__":
    print(costs(Path(sys.argv[1])), end="")
