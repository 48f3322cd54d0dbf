# SPDX-License-Identifier: BSD-3-Clause
"""Files that the instruments read, damaged in every way: whatever is in them, a program ends soon, with its result or
with words. Seeded; 12 of each kind, 500 with the long tests (40 OTF2 archives)."""

import copy
import gzip
import json
import random
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from commands import BUILD, MODEL
from model import recorded, segments_test
from omnipgas_tools import CHECKOUT, files
from omnipgas_tools.cli import app
from omnipgas_tools.halo import pattern
from omnipgas_tools.model.fit import fitting, machine, parameter_file
from omnipgas_tools.overlap.rounds import Journal, JournalError
from omnipgas_tools.study.store import StoreError, _read
from omnipgas_tools.tuner import table
from typer.testing import CliRunner

FEW, MANY = 12, 500
LIMIT = 300  # seconds of a program, which has next to nothing to do
OTF2 = 40  # archives with the long tests: the library waits for itself with some, and is ended after a minute
ODD = (b"\0", b"\\", b'"', b"]" * 9, b"[" * 100_000, b"-1", b"0", b"1e999", b"NaN", b"9" * 400, b"\xff\xfe",
       b"\xef\xbb\xbf", b"\x1b[31m", b"[/x]", b"\\ud800", b" " * 5000, b"\n", b"rank 7 {", b"true", b"null", b"{}",
       b"1b")  # fmt: skip
ODD_VALUES: tuple[Any, ...] = (None, True, -1, 0, 1e300, 0.5, "", "[/x]", "\x1b[31m", "1", [], {}, [[]], 2**63, 10**400)


def mutated(good: bytes, dice: random.Random) -> bytes:
    """With bytes changed, cut out, doubled, put in, or the end missing, up to three times; of JSON perhaps a value."""
    if good[:1] == b"{" and b"}\n{" not in good and dice.random() < 0.5:
        return with_another_value(json.loads(good), dice)
    text = bytearray(good)
    for _ in range(dice.randint(1, 3)):
        at = dice.randrange(len(text) + 1)
        end = min(len(text), at + dice.choice((1, 2, 8, 48, 300)))
        match dice.randrange(6):
            case 0:
                text[at:end] = bytes(dice.randrange(256) for _ in range(end - at))
            case 1:
                del text[at:end]
            case 2:
                text[at:at] = text[at:end] * dice.choice((1, 3, 50))
            case 3:
                text[at:end] = dice.choice(ODD)
            case 4:
                text[at:at] = dice.choice(ODD)
            case _:
                del text[dice.choice((at, len(text) // 2, 100)) :]
    return bytes(text)


def with_another_value(content: Any, dice: random.Random) -> bytes:
    """Of the fields, or items, one gone or another."""
    made = copy.deepcopy(content)
    parent, depth = made, dice.randint(1, 8)
    while True:
        keys = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
        key = dice.choice(keys)
        depth -= 1
        if depth == 0 or not isinstance(parent[key], (dict, list)) or not parent[key]:
            break
        parent = parent[key]
    if dice.random() < 0.3:
        del parent[key]
    else:
        parent[key] = dice.choice(ODD_VALUES)
    return json.dumps(made).encode()


@dataclass(frozen=True)
class Kind:
    """A file as it should be, what it is called, and who reads it."""

    good: Callable[[Path], bytes]  # with a folder for what is needed
    name: str
    readers: tuple[Callable[[Path], None], ...]
    most: int = MANY


def tool(*words: str) -> Callable[[Path], None]:
    """A command of omni in this process; FILE is the damaged one, OUT a new one."""

    def run(path: Path) -> None:
        given = [str(path) if word == "FILE" else str(path.with_suffix(".out")) if word == "OUT" else word
                 for word in words]  # fmt: skip
        done = CliRunner().invoke(app, given)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert "\x1b[31m" not in done.output and "Traceback" not in done.output
        assert done.exit_code == 0 or done.output.strip()

    return run


def program(name: str, *words: str) -> Callable[[Path], None]:
    """A program of the build."""

    def run(path: Path) -> None:
        binary = BUILD / "bin" / name
        if not binary.is_file():
            pytest.skip(f"{binary} is not built")
        given = [str(path) if word == "FILE" else str(path.parent) if word == "FOLDER" else word for word in words]
        done = subprocess.run([binary, *given], capture_output=True, timeout=LIMIT, check=False)
        assert done.returncode in (0, 1, 2), (done.returncode, done.stderr[-500:])
        assert b"terminate called" not in done.stderr and b"\x1b[31m" not in done.stderr
        assert done.returncode == 0 or done.stderr.strip()

    return run


def function(read: Callable[[Path], object], *errors: type[Exception]) -> Callable[[Path], None]:
    """A reader that is used behind a measurement."""

    def run(path: Path) -> None:
        try:
            read(path)
        except errors as error:
            assert str(error).count("\n") == 0 and str(path) in str(error)

    return run


def result(_: Path) -> bytes:
    published = json.loads(files.read(CHECKOUT / "docs/results/comparison/pingpong-1.json.gz"))
    published["results"] = published["results"][:8]
    return json.dumps(published).encode()


def tuned(_: Path) -> bytes:
    entry = {
        "collective": "allreduce", "members": 2, "nodes": 1, "clustered": False, "commutative": True, "modes": False,
        "algorithm": "auto", "bytes": 8, "calls": 3, "microseconds": {"ring": 2.5, "chain/shared": 1.0},
    }  # fmt: skip
    return json.dumps({"format": table.FORMAT, "version": table.VERSION, "entries": [entry]}).encode()


def recording(_: Path) -> bytes:
    one = {"collective": "allreduce", "bytes": 8, "ranks": 2, "microseconds": {"ring": [1.0] * 12, "chain": [2.0] * 12}}
    return json.dumps({"schema": "omnipgas-tuner-recording-1", "recordings": [one]}).encode()


def parameters(_: Path) -> bytes:
    """Few lengths and rounds, so that fitting them again takes no time."""
    whole = segments_test.measured()
    short: Any = {
        name: [row[::9] for row in getattr(whole, name)[:3]] for name in ("base", "hidden", "send", "receive")
    }
    small = replace(
        whole, lengths=whole.lengths[::9], computation=whole.computation[::9], waiting={}, eager_up_to=None, **short
    )
    operation = parameter_file.operation(fitting.fit(small, 2), {})
    command = {"argv": ["omni"], "environment": {}}
    library = {"name": "mpich", "settings": {}}
    return json.dumps({
        "schema": parameter_file.SCHEMA, "machine": "x", "library": library, "command": command,
        "models": operation["models"], "operations": {"send": operation},
    }).encode()  # fmt: skip


def trace(folder: Path) -> bytes:
    """Of rank 0; that of rank 1 is whole."""
    word = {"comm": recorded.WORLD}
    begin, end = recorded.record("Init", 0, 0), recorded.record("Finalize", 90_000, 90_000)
    calls = [[begin, recorded.record("send", 20_000, 20_100, 8, 1, **word),
              recorded.record("Allreduce", 30_000, 40_000, 8, **word), end],
             [begin, recorded.record("recv", 20_000, 30_000, 8, 0, **word),
              recorded.record("Allreduce", 30_000, 40_000, 8, **word), end]]  # fmt: skip
    recorded.write(folder, calls)
    return (folder / "rank.000000.omplt").read_bytes()


def archive(folder: Path) -> bytes:
    """The anchor file of an OTF2 archive."""
    made = folder / "recorded"
    made.mkdir()
    trace(made)
    done = subprocess.run([MODEL, "otf2", made, folder / "x.otf2"], capture_output=True, timeout=LIMIT, check=False)
    if done.returncode != 0:
        pytest.skip("built without OTF2")
    return (folder / "x.otf2").read_bytes()


def schedule(_: Path) -> bytes:
    return (b"num_ranks 2\nrank 0 {\nl1: calc 100\nl2: send 8b to 1 tag 3 cpu 0\nl3: recv 8b from 1 tag 4\n"
            b"l2 requires l1\nl3 irequires l2\n}\nrank 1 {\nl1: recv 8b from 0 tag 3\nl2: send 8b to 0 tag 4\n"
            b"l2 requires l1\n}\n")  # fmt: skip


def matrix(_: Path) -> bytes:
    return (b"%%MatrixMarket matrix coordinate real symmetric\n% x\n4 4 7\n"
            b"1 1 2\n2 2 2\n3 3 2\n4 4 2\n2 1 -1\n3 2 -1\n4 3 -1\n")  # fmt: skip


def packed(folder: Path) -> bytes:
    return gzip.compress(matrix(folder), mtime=0)


def changes(_: Path) -> bytes:
    return json.dumps([{"name": "x", "parameters": {"L": {"factor": 2}}}, {"compute": 0.5}]).encode()


def study(_: Path) -> bytes:
    names = ("partitions", "exchanges", "neighbors", "solves", "compute", "modelled")
    return json.dumps({"schema": "omnipgas-study-halo-1", **{name: {} for name in names}}).encode()


def journal(_: Path) -> bytes:
    return b'{"a": 1}\n{"key": ["x", 1, 1, 1, "none"], "round": 0}\n'


PARTITION = program("ompl_partition", "--matrix", "FILE", "--partition=row", "--parts=2")
REPLAY = ("FILE", "--params", "myrinet", "--no-sensitivity")
KINDS = {
    "result": Kind(result, "given.json", (tool("report", "FILE", "-o", "OUT"), tool("rank", "FILE"),
                                          tool("tune", "advise", "FILE"))),
    "table": Kind(tuned, "given.json", (tool("tune", "show", "--table", "FILE"),
                                        tool("tune", "export", "--table", "FILE"))),
    "recording": Kind(recording, "given.json", (tool("tune", "replay", "FILE"),)),
    "parameters": Kind(parameters, "given.json", (
        tool("model", "fit", "--from", "FILE", "-o", "OUT"),
        program("ompl-model", "predict", "pingpong:1:8:0", "--params", "FILE", "--model", "curve"),
        program("ompl-model", "predict", "pingpong:1:8:0", "--params", "FILE"))),
    "changes": Kind(changes, "given.json", (
        program("ompl-model", "whatif", "ring:4:8:8", "--params", "myrinet", "--changes", "FILE"),)),
    "trace": Kind(trace, "rank.000000.omplt", (
        program("ompl-model", "predict", "FOLDER", "--params", "myrinet", "--no-sensitivity"),
        program("ompl_trace_dump", "FOLDER"))),
    "archive": Kind(archive, "x.otf2", (program("ompl-model", "predict", *REPLAY),), OTF2),
    "schedule": Kind(schedule, "given.goal", (program("ompl-model", "predict", *REPLAY),)),
    "matrix": Kind(matrix, "given.mtx", (PARTITION,)),
    "packed matrix": Kind(packed, "given.mtx.gz", (PARTITION,)),
    "pattern": Kind(lambda _: b"# x\n0 1 8\n1 0 16\n", "given", (function(pattern.read, pattern.PatternError),)),
    "study": Kind(study, "given.json", (function(_read, StoreError),)),
    "journal": Kind(journal, "given", (function(lambda path: Journal(path, {"a": 1}), JournalError),)),
}  # fmt: skip


def mutate(kind: Kind, folder: Path, count: int) -> None:
    good = kind.good(folder)
    dice = random.Random(45)
    for number in range(count):
        path = folder / kind.name
        path.write_bytes(mutated(good, dice))
        kept = path.read_bytes()
        for reader in kind.readers:
            try:
                reader(path)
            except (Exception, subprocess.TimeoutExpired) as error:
                raise AssertionError(f"file {number}, {len(kept)} bytes: {kept[:2000]!r}") from error
            path.write_bytes(kept)


@pytest.fixture(autouse=True, name="quick_fits")
def fits_without_many_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "fit", partial(fitting.fit, resamples=2))


@pytest.mark.parametrize("name", KINDS)
def test_damage_ends_in_words(name: str, tmp_path: Path) -> None:
    mutate(KINDS[name], tmp_path, FEW)


@pytest.mark.long
@pytest.mark.parametrize("name", KINDS)
def test_damage_of_all_sorts_ends_in_words(name: str, tmp_path: Path) -> None:
    mutate(KINDS[name], tmp_path, KINDS[name].most)


def test_what_is_whole_is_read(tmp_path: Path) -> None:
    """Else the damage would prove nothing."""
    for name, kind in KINDS.items():
        if name == "archive" and shutil.which("otf2-config") is None:
            continue
        folder = tmp_path / name.replace(" ", "-")
        folder.mkdir()
        path = folder / kind.name
        path.write_bytes(kind.good(folder))
        for reader in kind.readers:
            reader(path)
