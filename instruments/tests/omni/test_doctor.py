# SPDX-License-Identifier: BSD-3-Clause
"""omni doctor: the command as a user types it, and each of its checks with what is right and what is wrong for it."""

import json
import os
import signal
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import commands
import jsonschema
import pytest
from commands import LIMIT, OMNI, unframed
from omnipgas_tools.doctor import conduits, instruments
from omnipgas_tools.doctor.findings import SCHEMA_FILE, STATUS, Finding, summary, worst
from omnipgas_tools.doctor.instruments import Context, State
from omnipgas_tools.libraries import catalog
from omnipgas_tools.measure import network

from .common import alive, build_tree, built

SCHEMA = json.loads(SCHEMA_FILE.read_text())


def doctor(*arguments: str, **environment: str) -> tuple[dict[str, Any], subprocess.CompletedProcess[str]]:
    """The document of a run, and what the command says."""
    if not (catalog.build_dir() / "bin/ompl-info").is_file():
        pytest.skip("ompl-info is not built")
    done = commands.omni("doctor", *arguments, "--json", "-", env={**os.environ, **environment})
    assert done.stdout, done.stderr
    content: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(content, SCHEMA)
    assert done.returncode == content["status"] == STATUS[content["verdict"]]
    order = list(STATUS)
    assert content["verdict"] == max((one["verdict"] for one in content["findings"]), key=order.index)
    for one in content["findings"]:
        assert one["found"], one
        assert (one["verdict"] == "fine") == (not one["means"]), one
    return content, done


def row(content: dict[str, Any], name: str) -> dict[str, str]:
    """The finding of that name."""
    found: list[dict[str, str]] = [one for one in content["findings"] if one["name"] == name]
    assert len(found) == 1, name
    return found[0]


def program(path: Path, text: str) -> Path:
    """A script that can be run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def only(states: Iterator[State]) -> State:
    """The one state of a check."""
    (one,) = states
    return one


def test_all_of_it() -> None:
    built("ompl")
    content, done = doctor()
    areas = {one["area"] for one in content["findings"]}
    assert areas >= {"environment", "limits", "memory", "processors", "system", "network", "instruments", "ping-pong"}
    assert "us one way" in row(content, "shm")["found"]
    assert row(content, "programs")["verdict"] == "fine"
    for one in content["findings"]:
        if one["name"].startswith("MPI "):
            assert "starts two processes" in one["found"], one
    text = unframed(done.stderr)
    assert "ping-pong: shm" in text and f"{sum(one['verdict'] == 'fine' for one in content['findings'])} fine" in text


def test_what_is_wrong_with_the_layer_is_wrong_everywhere() -> None:
    built("ompl")
    content, done = doctor(OMPL_CREDITS="0")
    assert done.returncode == 2
    assert row(content, "settings")["verdict"] == "fails"
    one = row(content, "shm")
    assert one["verdict"] == "fails" and "OMPL_CREDITS" in one["found"]
    assert "set the variables to what the text says" in unframed(done.stderr)


def test_the_job_that_is_asked_about() -> None:
    options = ("--ranks", "3", "--threads", "2", "--nodes", "2", "--allocate", "1MiB")
    content, _ = doctor("--no-run", *options, OMPL_CONDUITS="self,shm")
    job = content["job"]
    assert (job["ranks_per_node"], job["threads"], job["nodes"], job["allocated_bytes"]) == (3, 2, 2, 1 << 20)
    assert row(content, "conduits")["verdict"] == "fails"  # no network
    assert not any(one["area"] == "ping-pong" for one in content["findings"])
    assert all("not started" in one["found"] for one in content["findings"] if one["name"].startswith("MPI "))


def test_packages_that_are_old_or_broken(tmp_path: Path) -> None:
    (tmp_path / "matplotlib").mkdir()
    (tmp_path / "matplotlib/__init__.py").write_text("raise ImportError('no such font')")
    (tmp_path / "typer-0.1.dist-info").mkdir()
    (tmp_path / "typer-0.1.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: typer\nVersion: 0.1\n")
    content, done = doctor("--no-run", PYTHONPATH=f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    assert done.returncode == 2
    assert "no such font" in row(content, "Python packages matplotlib")["found"]
    assert row(content, "Python packages typer")["found"] == "0.1, but 0.7 is needed"
    assert "numpy" in row(content, "Python packages")["found"]


@pytest.mark.parametrize(
    ("script", "says"), [("exit 3", "ended with 3"), ("echo '{}'", "schema"), ("echo '['; exit 2", "is damaged")]
)
def test_a_layer_that_says_nothing_useful(tmp_path: Path, script: str, says: str) -> None:
    build_tree(tmp_path, [], [])
    program(tmp_path / "bin/ompl-info", script)
    done = commands.omni("doctor", env={**os.environ, "OMNI_BUILD_DIR": str(tmp_path)})
    assert done.returncode == 2
    assert says in unframed(done.stderr) and "Traceback" not in done.stderr


def test_no_layer_at_all(tmp_path: Path) -> None:
    build_tree(tmp_path, [], [])
    done = commands.omni("doctor", env={**os.environ, "OMNI_BUILD_DIR": str(tmp_path), "PATH": str(tmp_path)})
    assert done.returncode == 2 and "there is no ompl-info" in unframed(done.stderr)


def test_an_interrupt_ends_it_with_all_that_it_started(tmp_path: Path) -> None:
    build_tree(tmp_path, [], [])
    program(tmp_path / "bin/ompl-info", f"sleep 600 & echo $! >{tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid; wait")
    process = subprocess.Popen([*OMNI, "doctor"], env={**os.environ, "OMNI_BUILD_DIR": str(tmp_path)})
    limit = time.monotonic() + LIMIT
    while not (tmp_path / "pid").exists() and time.monotonic() < limit:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(LIMIT) == 130
    sleeper = int((tmp_path / "pid").read_text())
    while alive(sleeper) and time.monotonic() < limit:
        time.sleep(0.05)
    assert not alive(sleeper)


def mpi(tmp_path: Path, script: str) -> State:
    """What is said of an MPI whose launcher does that."""
    library = catalog.Library("own", "own", [], "none", ["{launcher}", "-n", "{ranks}", "{worker}"], compiler="cc")
    launcher = program(tmp_path / "mpiexec", script)
    return instruments.mpi_state(catalog.Found(library, Path("/bin/true"), None, launcher), jobs=True)


def test_launchers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert mpi(tmp_path, '[ "$1 $2" = "-n 2" ] && exec "$3"').verdict == "fine"
    refused = mpi(tmp_path, "echo 'not as root' >&2; exit 4")
    assert refused.verdict == "fails" and refused.found.endswith("ended with 4: not as root")
    monkeypatch.setattr(instruments, "START_LIMIT", 0.5)
    late = mpi(tmp_path, f"echo $$ >{tmp_path}/pid; sleep 600")
    assert late.verdict == "fails" and "had not ended after 0.5 s" in late.found
    (tmp_path / "mpiexec").write_text("#!/nonesuch\n")
    gone = mpi_of_file(tmp_path / "mpiexec")
    assert gone.verdict == "fails" and "No such file" in gone.found


def mpi_of_file(launcher: Path) -> State:
    """The same of a launcher as it is."""
    library = catalog.Library("own", "own", [], "none", ["{launcher}"], compiler="cc")
    return instruments.mpi_state(catalog.Found(library, Path("/bin/true"), None, launcher), jobs=True)


def test_mpis_that_are_not_here(tmp_path: Path) -> None:
    row = '[{0}]\ntitle = ""\nops = []\nworker = "w"\ncompiler = "{1}"\nlauncher = "{2}"\nlaunch = ["{{launcher}}"]\n'
    launcher = program(tmp_path / "bin/start", "exit 0")
    compiler = program(tmp_path / "bin/compile", "exit 0")
    build = build_tree(tmp_path, ["x"], [row.format("absent", "/nonesuch/cc", launcher)])
    none = only(instruments.mpis(Context(build)))
    assert (none.verdict, none.found) == ("note", "not here: absent")
    with (build / "bench/peers.toml").open("a") as file:
        file.write(row.format("here", compiler, launcher))
    here, others = instruments.mpis(Context(build))
    assert (here.part, here.verdict, others.verdict) == ("here", "fine", "fine")


def test_compilers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert only(instruments.compilers(Context(tmp_path))).verdict == "fine"
    monkeypatch.setenv("CXX", "/nonesuch/c++")
    assert only(instruments.compilers(Context(tmp_path))).verdict == "note"
    monkeypatch.setenv("CXX", str(program(tmp_path / "old", "echo 'unknown option c++20' >&2; exit 1")))
    old = only(instruments.compilers(Context(tmp_path)))
    assert old.verdict == "note" and "unknown option c++20" in old.found
    (tmp_path / "sources").mkdir()  # an installation compiles for the user's MPI
    assert only(instruments.compilers(Context(tmp_path))).verdict == "fails"


def test_programs(tmp_path: Path) -> None:
    missing = only(instruments.worker_programs(Context(tmp_path)))
    assert missing.verdict == "fails" and "no ompl_bench_raw" in missing.found
    build_tree(tmp_path, ["ompl_bench_raw", "ompl_bench_ompl"], [])
    assert only(instruments.worker_programs(Context(tmp_path))).verdict == "fine"


def test_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    assert only(instruments.slurm(Context(tmp_path))).found == "no allocation"
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert only(instruments.slurm(Context(tmp_path))).verdict == "fails"
    program(tmp_path / "srun", "echo 'MPI plugin types are...'; echo '\tnone'; echo '\tpmi2'; echo '\tpmix_v4' >&2")
    assert only(instruments.slurm(Context(tmp_path))).verdict == "fine"
    program(tmp_path / "srun", "echo none")
    assert "neither pmi2 nor pmix" in only(instruments.slurm(Context(tmp_path))).found


def test_a_busy_machine() -> None:
    assert instruments.load_state(0.4, 0.99, 2).verdict == "fine"
    assert instruments.load_state(1.5, 0.99, 2).verdict == "slow"
    assert instruments.load_state(0.0, 0.5, 2).verdict == "slow"


def test_perf(tmp_path: Path) -> None:
    level = tmp_path / "paranoid"
    assert instruments.perf_state(level, False, "/usr/bin/perf").verdict == "note"
    level.write_text("1\n")
    assert instruments.perf_state(level, False, "/usr/bin/perf").verdict == "fine"
    assert instruments.perf_state(level, False, None).verdict == "note"
    level.write_text("4\n")
    assert instruments.perf_state(level, False, "/usr/bin/perf").verdict == "note"
    assert instruments.perf_state(level, True, "/usr/bin/perf").verdict == "fine"


def test_valgrind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert only(instruments.valgrind(Context(tmp_path))).verdict == "note"
    program(tmp_path / "valgrind", "")
    assert only(instruments.valgrind(Context(tmp_path))).verdict == "fine"


def test_hosts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for reason, verdict in (("", "fine"), ("network namespaces need root", "note")):
        monkeypatch.setattr(network, "why_no_hosts", lambda reason=reason: reason)
        assert only(instruments.hosts(Context(tmp_path))).verdict == verdict


def test_conduits() -> None:
    ucx, shm = conduits.Way("ucx", 300.0), conduits.Way("shm", 20.0, usual=True)
    assert conduits.judged(shm, 0.2).verdict == "fine"
    assert conduits.judged(shm, 900.0).verdict == "slow"
    assert conduits.absent(ucx, "w is not built").verdict == "fine"
    assert conduits.absent(shm, "w is not built").verdict == "note"
    said = f"error: {conduits.UNREACHED} (OMPL_CONDUITS is self,ucx): rank 0: self: another rank; ucx: UCX is gone; end"
    assert conduits.failed(ucx, said).found == "not here: UCX is gone"
    assert conduits.failed(ucx, "rank 1 died").verdict == "fails"
    assert conduits.failed(shm, said.replace("ucx", "shm")).verdict == "fails"


def test_a_library_that_is_not_there_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """utofu's, on machines without it: the words are those of the layer."""
    found = built("ompl")
    one = conduits.play(conduits.Way("utofu", 300.0), found)
    assert (one.verdict, one.found[:10]) == ("fine", "not here: "), one


def test_the_worst_counts() -> None:
    rows = [Finding("a", str(i), verdict, "x") for i, verdict in enumerate(("note", "fine", "slow", "fine"))]
    assert worst(rows) == "slow" and worst(rows[:2]) == "note" and worst([]) == "fine"
    assert summary(rows) == "0 fails, 1 slow, 1 note, 2 fine"


def test_every_check_says_what_to_change(tmp_path: Path) -> None:
    for check in (*instruments.FIRST, *instruments.CHECKS):
        assert check.means and check.change, check.name
    unlooked = instruments.Check("x", lambda _: iter([State("slow", "y")]), "means", "change")
    assert list(unlooked.findings(Context(tmp_path))) == [Finding("instruments", "x", "slow", "y", "means", "change")]
    broken = instruments.Check("x", raising, "means", "change")
    assert [one.verdict for one in instruments.look(Context(tmp_path), [broken])] == ["note"]


def raising(_: Context) -> Iterator[State]:
    """A check that cannot look."""
    raise PermissionError(13, "Permission denied", "/sys/x")
    yield State("fine", "never")
