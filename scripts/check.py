#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check.py [--all] [PART...]: what `make check` and `make check-all` run after set-up: the release build with all
tests, the tests that reach inside under AddressSanitizer and ThreadSanitizer, lint (clang-tidy, which takes minutes,
with --all), and with --all fuzzing. PART: some of release, fuzz, asan, tsan, lint.

Ends with a summary: how many checks passed, which failed, which were skipped and why. A skip is never
counted as passed. Logs are in build/check/. Exit status 1 if anything failed, or if nothing ran.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
LOGS = BUILD / "check"
ALL = "--all" in sys.argv
STEP_LIMIT_S = 10800 if ALL else 1800
QUICK_LINT = ("clang-format", "codespell", "ruff", "mypy")
SKIP_MARK = "SKIP_RETURN_CODE"  # how ctest tells an honest skip from a test it could not start


@dataclass(frozen=True)
class Variant:
    """A build by one preset: the folders that are built and whose tests run, and those that are only built."""

    name: str
    folders: tuple[str, ...] = (".",)
    more: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()

    @property
    def preset(self) -> str:
        return "release" if self.name == "fuzz" else self.name

    @property
    def build(self) -> Path:
        return BUILD if self.preset == "release" else BUILD / self.name


def instruments(*kinds: str) -> list[str]:
    return [f"tests/instruments/{kind}" for kind in kinds]


INSIDE = ("tests/unit", "tests/conformance", "tests/conduits")
VARIANTS = (
    Variant("release"),
    *([Variant("fuzz", ("tests/fuzz",), targets=("fuzzers",))] if ALL else []),
    # The fuzzers bring their own sanitizers; what is only measured, and the bindings, need none.
    Variant(
        "asan",
        (*INSIDE, *(("tests/process", *instruments("model", "solver"), "tests/net") if ALL else ())),
        ("src", *(("tools/omplrun", "tools/ompl-info", "examples", "instruments/model") if ALL else ())),
    ),
    Variant(
        "tsan",
        ("tests/conformance", "tests/conduits", *(("tests/unit", *instruments("solver", "whatif")) if ALL else ())),
    ),
)


@dataclass(frozen=True)
class Result:
    name: str
    status: str  # passed, failed, skipped
    why: str = ""


def run(name: str, *command: str) -> tuple[int, str]:
    """Runs a step with its output in build/check/NAME.log; returns exit status and output."""
    log = LOGS / f"{name}.log"
    begin = time.monotonic()
    print(f"check: {name} ...", flush=True)
    try:
        with log.open("w") as out:
            status = subprocess.run(
                command,
                cwd=ROOT,
                stdout=out,
                stderr=subprocess.STDOUT,
                timeout=STEP_LIMIT_S,
                check=False,
            ).returncode
    except subprocess.TimeoutExpired:
        status = 124
    print(f"check: {name}: exit status {status} after {time.monotonic() - begin:.0f} s", flush=True)
    return status, log.read_text(errors="replace")


def tail(text: str, lines: int = 15) -> str:
    """The last lines, after those where GoogleTest says what failed."""
    said = text.rstrip().splitlines()
    last = max(0, len(said) - lines)
    failed = [i for i, line in enumerate(said) if line.endswith(": Failure")][:10]
    told = sorted({i for at in failed for i in range(at, min(at + 5, last))})
    return "\n".join("    " + line for line in [*(said[i] for i in told), *said[last:]])


def lint() -> Iterator[Result]:
    status, output = run("lint", "scripts/lint.py", *([] if ALL else QUICK_LINT))
    words = {"ok": "passed", "FAILED": "failed", "skipped": "skipped"}
    found = re.findall(r"^(ok|FAILED|skipped): ([\w-]+)(?:: (.*))?$", output, re.MULTILINE)
    for word, name, why in found:
        yield Result(f"lint/{name}", words[word], why or (tail(output) if word == "FAILED" else ""))
    if status != 0 and not any(word == "FAILED" for word, _, _ in found):
        yield Result("lint", "failed", tail(output))


def inside(variant: Variant, test: str, output: str) -> Iterator[Result]:
    """The cases that a passed program skipped, as unittest, pytest and GoogleTest (after RUN) say it."""
    for pattern in (r"^(\w+) \(.*\) \.\.\. skipped ['\"](.*)['\"]$", r"^SKIPPED \[\d+\] (\S+): (.*)$"):
        for match in re.finditer(pattern, output, re.MULTILINE):
            yield Result(f"{variant.name}/{test}/{match[1]}", "skipped", match[2])
    for match in re.finditer(r"\[ RUN      \] (\S+)\n(.*?)\[  SKIPPED \] \1 ", output, re.DOTALL):
        said = [line for line in match[2].splitlines() if line and not re.match(r"\S+:\d+: Skipped$", line)]
        yield Result(f"{variant.name}/{test}/{match[1]}", "skipped", " ".join(said[-1:]))


def tests(variant: Variant, folder: str) -> Iterator[Result]:
    name = f"{variant.name}-{folder.removeprefix('tests/')}".removesuffix("-.")
    junit = LOGS / f"{name}.xml"
    junit.unlink(missing_ok=True)
    labels = "--label-regex" if variant.name == "fuzz" else "--label-exclude", "^fuzz$" if ALL else "^long$"
    status, output = run(
        f"{name}-tests", "ctest", "--test-dir", str(variant.build / folder), "--output-on-failure",
        *labels, "--output-junit", str(junit),
        "--test-output-size-passed", "1000000", "-j", str(os.cpu_count()),
    )  # fmt: skip
    cases = list(ElementTree.parse(junit).iter("testcase")) if junit.exists() else []
    for case in cases:
        said = case.findtext("system-out") or ""
        test, result = case.attrib["name"], case.attrib["status"]
        if result == "run":
            yield Result(f"{variant.name}/{test}", "passed")
            yield from inside(variant, test, said)
        elif SKIP_MARK in "".join(mark.attrib["message"] for mark in case.iter("skipped")):
            yield Result(f"{variant.name}/{test}", "skipped", said.strip().splitlines()[-1])
        else:
            why = case.find("failure")
            text = "" if why is None else why.attrib.get("message", "")
            yield Result(f"{variant.name}/{test}", "failed", f"{text}\n{tail(said)}")
    if status != 0 and not cases:
        yield Result(f"{name}-tests", "failed", tail(output))


def build(variant: Variant) -> tuple[bool, list[Result]]:
    """Configures and builds; whether that was possible comes first."""
    name, jobs = variant.name, str(os.cpu_count())
    targets = [f"{folder}/all".removeprefix("./") for folder in (*variant.folders, *variant.more)]
    targets += variant.targets
    gently = () if variant.preset == "release" else ("nice", "-n", "19")  # beside tests of the build before
    configure = (*gently, "cmake", "--preset", variant.preset)
    compile_all = (*gently, "cmake", "--build", str(variant.build), "-j", jobs, "--target", *targets)
    results: list[Result] = []
    for step, command in (("configure", configure), ("build", compile_all)):
        status, output = run(f"{name}-{step}", *command)
        if status != 0:
            return False, [*results, Result(f"{name}/{step}", "failed", tail(output))]
        # Of our files (what GCC 12 says of its own headers is mistaken), and adapters that do not compile.
        warnings = "\n".join(re.findall(r"^(?!/usr/).* warning: .*$|^.* worker .*: skipped, .* failed:$", output, re.M))
        results.append(Result(f"{name}/{step}", "failed" if warnings else "passed", tail(warnings)))
    return True, results


def check(variants: list[Variant]) -> Iterator[Result]:
    """Tests each; the quick ones leave time in which the next is built, the long ones want a machine of their own."""
    with ThreadPoolExecutor(1) as builder:
        builds = map(build, variants) if ALL else builder.map(build, variants)
        for variant, (built, results) in zip(variants, builds, strict=True):
            yield from results
            if built:
                for folder in variant.folders:
                    yield from tests(variant, folder)


def main() -> int:
    begin = time.monotonic()
    names = [*(variant.name for variant in VARIANTS), "lint"]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("parts", metavar="PART", nargs="*")
    parts = parser.parse_args().parts or names
    if unknown := set(parts) - set(names):
        parser.error(f"no part {', '.join(unknown)}: there are {', '.join(names)}")
    LOGS.mkdir(parents=True, exist_ok=True)
    results = list(check([variant for variant in VARIANTS if variant.name in parts]))
    if "lint" in parts:
        results += lint()
    counts = Counter(result.status for result in results)
    print()
    for result in sorted(results, key=lambda result: result.status, reverse=True):
        if result.status != "passed":
            print(f"{result.status:8} {result.name}: {result.why}")
    minutes, seconds = divmod(round(time.monotonic() - begin), 60)
    print(
        f"check: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped"
        f" in {minutes} min {seconds} s; logs in build/check"
    )
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
