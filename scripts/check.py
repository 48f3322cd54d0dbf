#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check.py [--all] [PART...]: what `make check` and `make check-all` run after set-up: the release build with all
tests, the tests that reach inside under AddressSanitizer and ThreadSanitizer, lint, and with --all also fuzzing,
clang-tidy, and the conduits that call a library under the sanitizers. PART: some of release, fuzz, asan, tsan, lint.

Ends with a summary: how many checks passed, which failed, which were skipped and why. A skip is never
counted as passed. Logs are in build/check/. Exit status 1 if anything failed or has no result, or if nothing ran.

A step (a configuration, a build, the tests of a folder) may take half an hour, with --all three hours, multiplied by
how much slower this machine is than the one for which that was chosen (step.py). A step that takes longer is cut off:
its results so far count, the summary says that it timed out and which tests have no result, and no process of it is
left. The same holds for an interruption (Ctrl-C, SIGTERM).
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from results import Result, from_junit, from_log, tail, verdicts_of
from step import Done, Steps, slowness, span

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
LOGS = BUILD / "check"
ALL = "--all" in sys.argv
STEPS = Steps(10800 if ALL else 2700)
CORES = len(os.sched_getaffinity(0))
LOAD = os.getloadavg()[0]  # when the check began
MOST_AT_ONCE = 16  # tests, where there are no more cores than that
BESIDE = 19  # niceness of what runs beside tests
STOPPING_S = 60.0  # for ctest to end its tests when time is up
DEFAULT_TEST_LIMIT_S = 1500.0  # ctest's
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
QUICK_LINT = ("clang-format", "codespell", "ruff", "mypy", "prose", "proselint")


@dataclass(frozen=True)
class Variant:
    """A build by one preset, with options of CMake: the folders that are built and whose tests run, and those that are
    only built."""

    name: str
    folders: tuple[str, ...] = (".",)
    more: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    @property
    def preset(self) -> str:
        return "release" if self.name == "fuzz" else self.name

    @property
    def build(self) -> Path:
        return BUILD if self.preset == "release" else BUILD / self.name


def instruments(*kinds: str) -> list[str]:
    return [f"tests/instruments/{kind}" for kind in kinds]


INSIDE = ("tests/unit", "tests/conformance", "tests/conduits")
# Compiling with sanitizers takes longest of all, so that the quick check leaves out conduits that call a library.
LIBRARIES = tuple(f"-DOMPL_WITH_{name}={'ON' if ALL else 'OFF'}" for name in ("OFI", "UCX", "VERBS", "UTOFU", "PSM2"))
VARIANTS = (
    Variant("release"),
    *([Variant("fuzz", ("tests/fuzz",), targets=("fuzzers",))] if ALL else []),
    # The fuzzers bring their own sanitizers; what is only measured, and the bindings, need none.
    Variant(
        "asan",
        (*INSIDE, *(("tests/process", *instruments("model", "solver"), "tests/net") if ALL else ())),
        ("src", *(("tools/omplrun", "tools/ompl-info", "examples", "instruments/model") if ALL else ())),
        options=LIBRARIES,
    ),
    Variant(
        "tsan",
        ("tests/conformance", "tests/conduits", *(("tests/unit", *instruments("solver", "whatif")) if ALL else ())),
        options=LIBRARIES,
    ),
)


def run(name: str, *command: str, more_s: float = 0, niceness: int = 0) -> Done:
    """Runs a step with its output in build/check/NAME.log."""
    begin = time.monotonic()
    print(f"check: {name} ...", flush=True)
    done = STEPS.run(LOGS / f"{name}.log", command, ROOT, more_s, niceness)
    after = done.cut or f"exit status {done.status} after {time.monotonic() - begin:.0f} s"
    print(f"check: {name}: {after}", flush=True)
    return done


def missed(name: str, done: Done) -> Result:
    """A step that was cut off, or that failed as a whole."""
    if done.cut.startswith("interrupted"):
        return Result(name, "not run", done.cut)
    return Result(name, "failed", "\n".join(filter(None, (done.cut, tail(done.output)))))


def lint(niceness: int) -> Iterator[Result]:
    done = run("lint", "scripts/lint.py", *([] if ALL else QUICK_LINT), niceness=niceness)
    words = {"ok": "passed", "FAILED": "failed", "skipped": "skipped"}
    found = re.findall(r"^(ok|FAILED|skipped): ([\w-]+)(?:: (.*))?$", done.output, re.MULTILINE)
    for word, name, why in found:
        yield Result(f"lint/{name}", words[word], why or (tail(done.output) if word == "FAILED" else ""))
    if done.cut or (done.status != 0 and not any(word == "FAILED" for word, _, _ in found)):
        yield missed("lint", done)


def planned(place: Path, *choice: str) -> dict[str, float]:
    """The tests that ctest is about to run, and the time limit of each."""
    command = ("ctest", "--test-dir", str(place), *choice, "--show-only=json-v1")
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    limits = {}
    for test in json.loads(listed.stdout)["tests"] if listed.returncode == 0 else ():
        properties = {entry["name"]: entry["value"] for entry in test.get("properties", ())}
        limits[test["name"]] = float(properties.get("TIMEOUT", DEFAULT_TEST_LIMIT_S))
    return limits


def tests(variant: Variant, folder: str, jobs: int) -> Iterator[Result]:
    """The results of a folder's tests; when time is up ctest ends those that run, and still writes what it has."""
    name = f"{variant.name}-{folder.removeprefix('tests/')}".removesuffix("-.")
    junit = LOGS / f"{name}.xml"
    junit.unlink(missing_ok=True)
    choice = "--label-regex" if variant.name == "fuzz" else "--label-exclude", "^fuzz$" if ALL else "^long$"
    limits = planned(variant.build / folder, *choice)
    # ctest drops parts of a second, twice, and errs in time zones of half hours.
    stop = time.strftime("%H:%M:%S", time.gmtime(time.time() + STEPS.limit_s + 2))
    done = run(
        f"{name}-tests", "env", "TZ=UTC0", "ctest", "--test-dir", str(variant.build / folder), "--output-on-failure",
        *choice, "--output-junit", str(junit), "--stop-time", stop,
        "--test-output-size-passed", "1000000", "-j", str(jobs), more_s=STOPPING_S,
    )  # fmt: skip
    verdicts = verdicts_of(done.output)
    whole = junit.exists() and junit.read_text(errors="replace").rstrip().endswith("</testsuite>")
    found = list(from_junit(variant.name, junit, verdicts) if whole else from_log(variant.name, verdicts))
    if done.cut:
        # A test that was ended before its own limit says nothing.
        ended = {test for test, verdict in verdicts.items() if verdict.word == "Timeout"
                 and verdict.seconds < limits.get(test, 0) - 1}  # fmt: skip
        known = {result.name for result in found}
        absent = [test for test in limits if test in ended or f"{variant.name}/{test}" not in known]
        yield from (result for result in found if result.name.partition("/")[2] not in ended)
        yield Result(f"{name}-tests", "not run" if done.cut.startswith("interrupted") else "failed",
                     f"{done.cut}; {len(absent)} of {len(limits)} tests have no result")  # fmt: skip
        yield from (Result(f"{variant.name}/{test}", "not run") for test in absent)
        return
    yield from found
    if done.status != 0 and not found:
        yield missed(f"{name}-tests", done)


def build(variant: Variant) -> tuple[bool, list[Result]]:
    """Configures and builds; whether that was possible comes first."""
    name, jobs = variant.name, str(CORES)
    targets = [f"{folder}/all".removeprefix("./") for folder in (*variant.folders, *variant.more)]
    targets += variant.targets
    niceness = 0 if ALL or variant.preset == "release" else BESIDE  # beside tests of the build before
    configure = ("cmake", "--preset", variant.preset, *variant.options)
    compile_all = ("cmake", "--build", str(variant.build), "-j", jobs, "--target", *targets)
    results: list[Result] = []
    for step, command in (("configure", configure), ("build", compile_all)):
        done = run(f"{name}-{step}", *command, niceness=niceness)
        if done.cut or done.status != 0:
            return False, [*results, missed(f"{name}/{step}", done)]
        # Of our files (what GCC 12 says of its own headers is mistaken), and adapters that do not compile.
        warned = re.findall(r"^(?!/usr/).* warning: .*$|^.* worker .*: skipped, .* failed:$", done.output, re.M)
        results.append(Result(f"{name}/{step}", "failed" if warned else "passed", tail("\n".join(warned))))
    return True, results


def conduct(variants: list[Variant], with_lint: bool, found: list[Result]) -> None:
    """Adds to `found` what the parts find, also when it is interrupted.

    The quick parts share the machine: most tests wait more than they compute, so that there are twice as many at once
    as cores; builds with sanitizers, then lint, take what the tests of the release leave; and then two folders are
    tested at once. The long ones want a machine of their own.
    """

    def phase(variant: Variant, folder: str, jobs: int) -> None:
        found.extend(tests(variant, folder, jobs))

    def lint_into(niceness: int) -> None:
        found.extend(lint(niceness))

    with ThreadPoolExecutor(1) as builder, ThreadPoolExecutor(1 if ALL else 2) as testers:
        try:
            submitted = (builder.submit(build, variant) for variant in variants)
            builds = submitted if ALL else list(submitted)
            linted = [] if ALL or not with_lint else [builder.submit(lint_into, BESIDE if variants else 0)]
            later: list[Future[None]] = []
            for variant, built in zip(variants, builds, strict=True):
                possible, results = built.result()
                found += results
                alone = ALL or variant.preset == "release"
                jobs = CORES if ALL or not alone else max(CORES, min(2 * CORES, MOST_AT_ONCE))
                for folder in variant.folders if possible else ():
                    later.append(testers.submit(phase, variant, folder, jobs))
                    if alone:
                        later.pop().result()
            for future in [*later, *linted]:
                future.result()
            if ALL and with_lint:
                builder.submit(lint_into, 0).result()
        except BaseException as why:
            STEPS.stop()
            if not isinstance(why, KeyboardInterrupt):
                raise


def interrupted(number: int, frame: FrameType | None) -> None:
    """The first signal ends the check, in order; later ones do not disturb that."""
    for other in SIGNALS:
        signal.signal(other, signal.SIG_IGN)
    raise KeyboardInterrupt


def keep(results: list[Result], seconds: float) -> None:
    """What the whole check found and took, for `omni figures`; written whole or not at all."""
    counts = Counter(result.status for result in results)
    last = {status: counts[status] for status in ("passed", "failed", "skipped", "not run")}
    kept = BUILD / "results/check.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    made = kept.with_name(f".{kept.name}.{os.getpid()}")
    made.write_text(json.dumps({"seconds": round(seconds), "load": LOAD, "cores": CORES, **last}) + "\n")
    made.replace(kept)


def summary(results: list[Result], seconds: float) -> int:
    """Prints what did not pass, and how many did; returns the exit status."""
    counts = Counter(result.status for result in results)
    print()
    for result in sorted(results, key=lambda result: result.status, reverse=True):
        if result.status != "passed" and (result.status != "not run" or result.why):
            print(f"{result.status:8} {result.name}: {result.why}")
    missing = [result.name for result in results if result.status == "not run" and not result.why]
    if missing:
        print(textwrap.fill(" ".join(missing), 116, initial_indent="no result: ", subsequent_indent="    ",
                            break_on_hyphens=False))  # fmt: skip
    told = [f"{counts[status]} {status}" for status in ("passed", "failed", "skipped")]
    told += [f"{counts['not run']} not run"] if counts["not run"] else []
    told += ["interrupted"] if STEPS.stopped else []
    minutes, seconds = divmod(round(seconds), 60)
    print(f"check: {', '.join(told)} in {minutes} min {seconds} s; logs in build/check")
    return 1 if counts["failed"] or counts["not run"] or STEPS.stopped or not counts["passed"] else 0


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
    for number in SIGNALS:
        signal.signal(number, interrupted)
    results: list[Result] = []
    slow = slowness()
    STEPS.limit_s *= slow
    why = f", {slow:.1f} times the usual limit, because this machine is slow or busy" if slow > 1 else ""
    print(f"check: a step may take {span(STEPS.limit_s)}{why}", flush=True)
    conduct([variant for variant in VARIANTS if variant.name in parts], "lint" in parts, results)
    if set(parts) == set(names) and not ALL:
        keep(results, time.monotonic() - begin)
    return summary(results, time.monotonic() - begin)


if __name__ == "__main__":
    sys.exit(main())
