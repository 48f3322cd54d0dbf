# SPDX-License-Identifier: BSD-3-Clause
"""What the tests share: libraries made of the hostile mock, and looks at what is left behind."""

import _thread
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import commands
import jsonschema
import pytest
from commands import LIMIT, OMNI, unframed
from omnipgas_tools.cli import app
from omnipgas_tools.libraries import catalog, state
from omnipgas_tools.measure import network, results
from omnipgas_tools.measure.rounds import Progress
from omnipgas_tools.measure.runner import Contender
from typer.testing import CliRunner

MOCK = Path(__file__).parent / "hostile_worker.py"


SCHEMA = json.loads((Path(results.__file__).parent / "result.schema.json").read_text())
Done = subprocess.CompletedProcess[str]


def omni(*arguments: str, build: Path | None = None, check: bool = False) -> Done:
    """omni ..., as a user types it."""
    places = {"OMNI_BUILD_DIR": str(build)} if build else {}
    return commands.omni(*arguments, env=os.environ | places, check=check)


def result(*arguments: str, build: Path | None = None) -> tuple[dict[str, Any], Done]:
    """The result file of a command that succeeds, and what it says."""
    done = omni(*arguments, "--json", "-", build=build, check=True)
    content: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(content, SCHEMA)
    return content, done


def interrupted(build: Path, out: Path, *arguments: str, number: int = signal.SIGINT) -> dict[str, Any]:
    """The result file of a command that gets the signal once its worker has made `hangs` in the build folder."""
    process = subprocess.Popen(
        [*OMNI, *arguments, "--timeout", "60", "--json", str(out)],
        env={**os.environ, "OMNI_BUILD_DIR": str(build)}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    limit = time.monotonic() + LIMIT
    while not (build / "hangs").exists() and time.monotonic() < limit:
        time.sleep(0.05)
    process.send_signal(number)
    output, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    assert "Interrupted" in output
    content: dict[str, Any] = json.loads(out.read_text())
    jsonschema.validate(content, SCHEMA)
    assert content["command"]["interrupted"]
    return content


def refused(build: Path, *arguments: str) -> str:
    """What a command says of options that cannot be used."""
    done = CliRunner().invoke(app, arguments, env={"OMNI_BUILD_DIR": str(build)})
    assert done.exit_code == 2
    return unframed(done.output)


def build_tree(folder: Path, workers: Iterable[str], rows: Iterable[str]) -> Path:
    """Makes the folder a build tree with these workers, which are empty, and these rows of the table."""
    for place in (*(f"bin/{name}" for name in workers), "bench/peers.toml"):
        (folder / place).parent.mkdir(exist_ok=True)
        (folder / place).touch()
    (folder / "bench" / "peers.toml").write_text("\n".join(rows))
    return folder


class Log(Progress):
    """Remembers what was measured in which order; interrupts this process at a text, if one is given."""

    def __init__(self, interrupt: str | None = None) -> None:
        self.lines: list[str] = []
        self.interrupt = interrupt

    def at(self, what: str) -> None:
        self.lines.append(what)
        if self.interrupt is not None and self.interrupt in what:
            _thread.interrupt_main()


def mock(mode: str, name: str = "", fail_at: int = 0) -> catalog.Found:
    """A library that is the hostile mock."""
    launch = [sys.executable, str(MOCK), mode, "--fail-at", str(fail_at)]
    library = catalog.Library(name=name or mode, title=mode, ops=["put"], worker="", launch=launch)
    return catalog.Found(library, MOCK, None, None)


def contender(mode: str, name: str = "", fail_at: int = 0, op: str = "put") -> Contender:
    return Contender(mock(mode, name, fail_at), op)


def built(name: str, kind: str = "bench") -> catalog.Found:
    """A library of the table with its worker of that kind, or a skip with the reason."""
    build = catalog.build_dir()
    if not (build / "bench" / "peers.toml").exists():
        pytest.skip(f"{build} is not built")
    try:
        return catalog.find(catalog.table(build)[name], build, kind)
    except catalog.MissingError as missing:
        pytest.skip(f"{name}: {missing}")


def need_hosts() -> None:
    """A skip with the reason where there can be none."""
    if reason := network.why_no_hosts():
        pytest.skip(reason)


def compiled_against(name: str, prefix: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A build folder in `folder` whose only library is that row of the table, at `prefix`: its workers were compiled
    with the arguments of the build."""
    build = built("raw").worker.parents[1]
    harness = build / "lib" / "libbench_harness.a"
    if not harness.exists():
        pytest.skip("an installation compiles it elsewhere: tests/install")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    state.remember({name: str(prefix)})
    bench = Path(state.__file__).parents[3] / "bench"
    made = folder / "build"
    (made / "bin").mkdir(parents=True)
    (made / "bin" / catalog.LAUNCHER).symlink_to(build / "bin" / catalog.LAUNCHER)
    (made / "bench").mkdir()
    row = re.search(rf"^\[{name}\]\n.*?(?=^\[[^\[]|\Z)", (bench / "peers.toml").read_text(), re.M | re.S)
    assert row
    (made / "bench" / "peers.toml").write_text(row[0])
    for kind, sources in ("bench", "adapters"), ("connected", "connected"):
        done = commands.run(
            sys.executable, "-m", "omnipgas_tools.libraries.build_workers", made, "--kind", kind,
            "--source", bench / sources / "mpi.cpp", "--depends", harness,
            "--", "-std=c++20", "-pthread", f"-I{bench}", harness, "-lfmt",
        )  # fmt: skip
        assert "compiled with" in done.stdout, done.stdout + done.stderr
    return made


def alive(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def children() -> set[int]:
    """The living child processes of this one."""
    found = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text()
    return {int(pid) for pid in found.split()}


def idle_for_a_second(pids: list[int]) -> bool:
    """Whether there comes a second in which each process uses less than 0.1 % of a core: its thread first has to fall
    asleep."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        before, begin = [used_ns(pid) for pid in pids], time.monotonic_ns()
        time.sleep(1)
        limit = (time.monotonic_ns() - begin) / 1000
        if all(used_ns(pid) - ns < limit for pid, ns in zip(pids, before, strict=True)):
            return True
    return False


def used_ns(pid: int) -> int:
    """Processor time of all threads of a process."""
    return sum(int(task.read_text().split()[0]) for task in Path(f"/proc/{pid}/task").glob("*/schedstat"))
