# SPDX-License-Identifier: BSD-3-Clause
"""What a program's own code costs, by valgrind's callgrind: instructions, and which functions of others it calls."""

import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

NAMED = re.compile(r"(ob|fn|cob|cfn)=\((\d+)\)(?: (.*))?$")
COST = re.compile(r"[-+*\d]\S* (\d+)$")
TOTALS = re.compile(r"totals: (\d+)")
CALLS = re.compile(r"calls=(\d+) ")


@dataclass
class Profile:
    """What was collected inside one function."""

    own: Counter[str] = field(default_factory=Counter)  # instructions by function of the program's own code
    others: Counter[str] = field(default_factory=Counter)  # instructions in functions of libraries that it calls,
    calls: Counter[str] = field(default_factory=Counter)  # and how often it calls them
    total: int = 0  # instructions in all
    output: str = ""  # of the program


def read(text: str, program: str, device: str) -> Profile:
    """Parses a callgrind file. `program`, `device`: endings of the objects' names. What the device does is nobody's."""
    names: dict[tuple[str, str], str] = {}
    now = {"ob": "", "fn": "", "cob": "", "cfn": ""}
    found = Profile()
    calls = 0
    for line in text.splitlines():
        if match := NAMED.match(line):
            key, number, name = match.groups()
            table = "ob" if key.endswith("ob") else "fn"
            if name is not None:
                names[table, number] = name
            now[key] = names[table, number]
        elif match := TOTALS.match(line):
            found.total = int(match[1])
        elif match := CALLS.match(line):
            calls = int(match[1])
        elif match := COST.match(line):
            cost, callee = int(match[1]), now["cob"] or now["ob"]
            if not now["ob"].endswith(program):
                pass
            elif calls == 0:
                found.own[now["fn"]] += cost
            elif not callee.endswith((program, device)):
                found.others[now["cfn"]] += cost
                found.calls[now["cfn"]] += calls
            if calls != 0:
                calls, now["cob"] = 0, ""
    return found


def profile(command: Sequence[str], function: str, device: str, env: Mapping[str, str]) -> Profile:
    """Runs the command and collects inside `function`. OSError or subprocess.SubprocessError if that fails."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", f"--toggle-collect={function}"]
        run = subprocess.run(
            [*valgrind, *command], capture_output=True, text=True, timeout=180, check=True, env=dict(env)
        )
        found = read(out.read_text(), Path(command[0]).name, device)
    found.output = run.stdout
    return found
