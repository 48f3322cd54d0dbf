#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""workflow.py [--list] NAME [JOB]

Runs on this machine what the steps of .github/workflows/NAME.yml run, of all jobs or of one, each job in a clean clone
of what is committed; --list only prints it. Steps that `use` an action are passed over: what they do, the clone does.
The exit status is that of the first step that fails.
"""

import itertools
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]


def load(name: str) -> dict[str, Any]:
    """The jobs of a workflow."""
    path = ROOT / ".github/workflows" / f"{name}.yml"
    if not path.is_file():
        known = ", ".join(sorted(one.stem for one in path.parent.glob("*.yml")))
        sys.exit(f"workflow: there is no {path.relative_to(ROOT)}; there are {known}")
    jobs: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    return jobs


def commands(job: dict[str, Any]) -> list[str]:
    """What its steps run, once for each combination of its matrix that a step depends on."""
    matrix = job.get("strategy", {}).get("matrix", {})
    found: list[str] = []
    for values in itertools.product(*matrix.values()):
        for step in job["steps"]:
            line = step.get("run")
            if line is None:
                continue
            for name, value in zip(matrix, values, strict=True):
                line = line.replace(f"${{{{ matrix.{name} }}}}", value)
            if unknown := re.search(r"\$\{\{.*?\}\}", line):
                sys.exit(f"workflow: {unknown[0]} in {line!r} is known to the service only")
            if line not in found:
                found.append(line)
    return found


def run(name: str, job: dict[str, Any]) -> int:
    """Of one job; the exit status."""
    with tempfile.TemporaryDirectory(prefix=f"workflow-{name}-") as scratch:
        clone = Path(scratch) / "clone"
        subprocess.run(["git", "clone", "-q", ROOT, clone], check=True, timeout=600)
        environment = os.environ | {"HOME": scratch, "GITHUB_BASE_REF": "main"}
        for line in commands(job):
            print(f"workflow: {name}: {line}", flush=True)
            step = ["timeout", str(60 * job["timeout-minutes"]), "sh", "-ec", line]
            code = subprocess.run(step, cwd=clone, env=environment, check=False).returncode
            if code != 0:
                print(f"workflow: {name}: {shlex.quote(line)} ended with status {code}", file=sys.stderr)
                return code
    return 0


def main(arguments: list[str]) -> int:
    """The exit status."""
    only_list = arguments[:1] == ["--list"]
    arguments = arguments[only_list:]
    if not 1 <= len(arguments) <= 2 or arguments[0].startswith("-"):
        sys.exit(__doc__)
    jobs = load(arguments[0])
    chosen = {name: job for name, job in jobs.items() if name in arguments[1:] or len(arguments) == 1}
    if not chosen:
        sys.exit(f"workflow: {arguments[1]} is none of {', '.join(jobs)}")
    for name, job in chosen.items():
        if only_list:
            print(*(f"{name}: {line}" for line in commands(job)), sep="\n")
        elif code := run(name, job):
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
