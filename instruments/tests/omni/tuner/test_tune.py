# SPDX-License-Identifier: BSD-3-Clause
"""omni tune: the library's table shown, exported and removed."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from omnipgas_tools.commands import tune
from omnipgas_tools.tuner import table as tables
from typer.testing import CliRunner, Result

ENTRY: dict[str, Any] = {
    "collective": "allreduce", "members": 4, "nodes": 1, "clustered": False, "commutative": True,
    "modes": False, "algorithm": "auto",
    "bytes": 1024, "calls": 900, "microseconds": {"ring": 6.0, "recursive-doubling": 3.0},
}  # fmt: skip
OTHER = {**ENTRY, "collective": "broadcast", "bytes": 3, "microseconds": {"binomial": 1.25}}
OPEN = {**ENTRY, "modes": True, "algorithm": "ring", "microseconds": {"ring/none": 4.0, "ring/shared": 3.0}}


def write(path: Path, **changes: Any) -> Path:
    whole = {"format": tables.FORMAT, "version": tables.VERSION, "entries": [ENTRY, OTHER], **changes}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(whole))
    return path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(tune.app, arguments)


def test_the_table_is_where_the_library_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"omnipgas/tuner/{socket.gethostname()}.json"
    monkeypatch.delenv("OMPL_TUNER_TABLE", raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert tables.place(None) == Path("/home/me/.cache") / name
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert tables.place(None) == tmp_path / name
    monkeypatch.setenv("OMPL_TUNER_TABLE", "/elsewhere")
    assert tables.place(None) == Path("/elsewhere")
    assert tables.place(tmp_path) == tmp_path
    monkeypatch.setenv("OMPL_TUNER_TABLE", "none")
    with pytest.raises(tables.TableError, match="is none"):
        tables.place(None)


def test_show(tmp_path: Path) -> None:
    table = write(tmp_path / "table.json")
    done = run("show", "--table", str(table))
    assert done.exit_code == 0, done.output
    for text in ("2 kind(s)", "1024-1279", "recursive-doubling", "ring 2.00", "binomial", "1.25", "900"):
        assert text in done.output
    result = tmp_path / "result.json"
    assert run("show", "--table", str(table), "--json", str(result)).exit_code == 0
    found = json.loads(result.read_text())
    assert found["schema"] == tune.SCHEMA and found["table"] == str(table)
    assert found["entries"][0] == {**ENTRY, "most_bytes": 1279, "best": "recursive-doubling"}
    assert found["entries"][1]["most_bytes"] == 3


def test_show_says_which_progress_is_the_best(tmp_path: Path) -> None:
    done = run("show", "--table", str(write(tmp_path / "table.json", entries=[OPEN])))
    assert done.exit_code == 0, done.output
    for text in ("allreduce, by ring, nonblocking", "ring/shared", "ring/none 1.33"):
        assert text in done.output


@pytest.mark.parametrize("least, most", [(0, 0), (1, 1), (3, 3), (4, 4), (8, 9), (10, 11), (1024, 1279), (1792, 2047)])
def test_classes_of_sizes(least: int, most: int) -> None:
    assert tables.Entry(**{**ENTRY, "bytes": least}).most_bytes == most


def test_export_and_clear(tmp_path: Path) -> None:
    table = write(tmp_path / "table.json")
    copy = tmp_path / "copy.json"
    assert run("export", str(copy), "--table", str(table)).exit_code == 0
    assert json.loads(copy.read_text()) == json.loads(table.read_text())
    assert run("export", "--table", str(table)).output == copy.read_text()
    assert run("clear", "--table", str(table)).exit_code == 0
    assert not table.exists() and copy.exists()
    again = run("clear", "--table", str(table))
    assert again.exit_code == 0 and "There is no" in again.output


def fitted(path: Path, library: str = "ompl", transport: str = "shared memory", **changed: Any) -> Path:
    """As omni model fit writes it, as far as the tuner reads it."""
    values = {"L": 200.0, "o": 50.0, "g": 60.0, "O": 0.25, "G": 0.5} | changed
    model = {
        name: {"value": value, "unit": "ns/byte" if name in "OG" else "ns", "low": 0, "high": 1}
        for name, value in values.items()
    }
    put = {"models": {"loggops": model}}
    path.write_text(
        json.dumps(
            {"schema": "omnipgas-model-1", "library": {"name": library, "transport": transport},
             "operations": {"put" if library == "ompl" else "send": put}}
        )
    )  # fmt: skip
    return path


def test_what_messages_cost_goes_into_the_table(tmp_path: Path) -> None:
    table = tmp_path / "folder" / "table.json"
    near = fitted(tmp_path / "near.json")
    done = run("model", str(near), "--table", str(table))
    assert done.exit_code == 0, done.output
    assert "node: L 200 ns, o 50 ns, g 60 ns, G 0.75 ns/byte" in done.output
    write(table, loggp_ns=tables.load(table).terms)
    far = fitted(tmp_path / "far.json", transport="tcp", L=30000.0)
    assert run("model", str(far), "--table", str(table)).exit_code == 0
    known = tables.load(table)
    assert len(known.entries) == 2, "what was there stays"
    assert known.terms == {
        "node": {"L": 200, "o": 50, "g": 60, "G": 0.75},
        "network": {"L": 30000, "o": 50, "g": 60, "G": 0.75},
    }
    result = tmp_path / "result.json"
    shown = run("show", "--table", str(table), "--json", str(result))
    assert "network: L 3e+04 ns" in shown.output
    assert json.loads(result.read_text())["loggp_ns"] == known.terms


def test_what_does_not_say_what_messages_cost_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    table, path = tmp_path / "table.json", tmp_path / "fit.json"

    def refused(complaint: str) -> None:
        done = run("model", str(path), "--table", str(table))
        assert done.exit_code == 1
        assert complaint in done.output + capfd.readouterr().err
        assert not table.exists()

    refused("No such file")
    path.write_text("{")
    refused("no JSON")
    path.write_text("{}")
    refused("no file of omni model fit")
    fitted(path, library="mpich")
    refused("is of mpich; collectives send by this layer")
    fitted(path, L=-1.0)
    refused("L must be a number from 0 on")
    fitted(path, L=0.0, o=0.0)
    refused("messages take no time")
    content = json.loads(fitted(path).read_text())
    del content["operations"]["put"]["models"]["loggops"]["g"]
    path.write_text(json.dumps(content))
    refused("is damaged")
    fitted(path)
    table.write_text("{ damaged")
    assert run("model", str(path), "--table", str(table)).exit_code == 1
    assert table.read_text() == "{ damaged"


def test_what_is_no_table_is_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    damaged = tmp_path / "damaged.json"
    damaged.write_text("{ damaged")
    for path, complaint in (
        (tmp_path / "none.json", "a job with OMPL_TUNER=1 makes it"),
        (tmp_path, "Is a directory"),
        (damaged, "is damaged"),
        (write(tmp_path / "newer.json", version=3), "of version 3; this is omni for version 2"),
        (write(tmp_path / "empty.json", entries=[{**ENTRY, "microseconds": {}}]), "entries[0].microseconds"),
        (write(tmp_path / "short.json", entries=[{"collective": "scan"}]), "entries[0] must contain"),
    ):
        for command in ("show", "export"):
            done = run(command, "--table", str(path))
            assert done.exit_code == 1
            assert complaint in done.output + capfd.readouterr().err
    assert run("clear", "--table", str(damaged)).exit_code == 0
    assert not damaged.exists()
    assert run("export", str(tmp_path / "no" / "folder"), "--table", str(write(tmp_path / "t.json"))).exit_code == 1
