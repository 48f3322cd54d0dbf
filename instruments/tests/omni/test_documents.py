# SPDX-License-Identifier: BSD-3-Clause
"""Files that omni is given: whatever is damaged in them, a command ends with a line that names the file."""

import copy
import gzip
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from omnipgas_tools import CHECKOUT, cli, documents, files
from omnipgas_tools.cli import app
from omnipgas_tools.documents import DocumentError
from omnipgas_tools.measure import results
from omnipgas_tools.measure.results import SCHEMA_FILE
from omnipgas_tools.tuner import table
from typer.testing import CliRunner

DAMAGES = 150
ODD: tuple[Any, ...] = (None, True, -1, 0, 1e400, "", "[/x]", "\x1b[31m", "\ud800", [], {}, [[]], 10**400)


@pytest.fixture(name="good", scope="module")
def good_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A result file with some rows of a published one, and a table of the tuner."""
    published = json.loads(files.read(CHECKOUT / "docs/results/comparison/pingpong-1.json.gz"))
    published["results"] = published["results"][:40]
    entry = {
        "collective": "allreduce", "members": 2, "nodes": 1, "clustered": False, "commutative": True, "modes": False,
        "algorithm": "auto", "bytes": 8, "calls": 3, "microseconds": {"ring": 2.5, "chain/shared": 1.0},
    }  # fmt: skip
    tuned = {
        "format": table.FORMAT, "version": table.VERSION, "entries": [entry],
        "loggp_ns": {"node": {"L": 1.0, "o": 2, "g": 3, "G": 0.1}},
    }  # fmt: skip
    return {"result": published, "table": tuned}


def places(content: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Of every value inside."""
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in inner:
        yield (*at, key)
        yield from places(value, (*at, key))


def damaged(content: Any, dice: random.Random) -> str:
    """The content with one value changed or left out, or its text cut or with other bytes."""
    made = copy.deepcopy(content)
    place = dice.choice(list(places(made)))
    parent = made
    for key in place[:-1]:
        parent = parent[key]
    if dice.random() < 0.3:
        del parent[place[-1]]
    else:
        parent[place[-1]] = dice.choice(ODD)
    text = json.dumps(made)
    if dice.random() < 0.2:
        at = dice.randrange(len(text))
        text = text[:at] + dice.choice(("", "\x00", "\\", '"', "]")) + text[at + dice.randrange(40) :]
    return text


COMMANDS: dict[str, list[Callable[[Path], list[str]]]] = {
    "result": [
        lambda path: ["report", str(path), "-o", str(path.with_suffix(".html"))],
        lambda path: ["rank", str(path)],
        lambda path: ["tune", "advise", str(path)],
    ],
    "table": [
        lambda path: ["tune", "show", "--table", str(path)],
        lambda path: ["tune", "export", "--table", str(path)],
    ],
}


@pytest.mark.parametrize("kind", COMMANDS)
def test_damage_ends_a_command_in_words(kind: str, good: dict[str, Any], tmp_path: Path) -> None:
    dice = random.Random(38)
    path = tmp_path / "given.json"
    for number in range(DAMAGES):
        path.write_text(damaged(good[kind], dice), encoding="utf-8", errors="surrogatepass")
        for command in COMMANDS[kind]:
            done = CliRunner().invoke(app, command(path))
            assert done.exception is None or isinstance(done.exception, SystemExit), (number, done.exception)
            assert "\x1b[31m" not in done.output


def test_the_field_is_named(good: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "given.json"
    made = copy.deepcopy(good["result"])
    made["results"][7]["threads"] = "two"
    path.write_text(json.dumps(made))
    with pytest.raises(DocumentError, match=r"given\.json: results\[7\]\.threads"):
        results.read(path)


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ('"a\\ud800"', "is damaged: it holds half a character"), ('{"\\udc00": 1}', "is damaged: the name of a field"),
        ("Infinity", "is Infinity, which is no number"), ("NaN", "is NaN, which is no number"),
        ("1e400", "is 1e400, which is too large"),
        ("1" + 40 * "0", r"is 1000000000000000000\.\.\., which is too large"),
    ],
)  # fmt: skip
def test_the_field_is_named_of_what_no_field_may_have(
    good: dict[str, Any], tmp_path: Path, value: str, what: str
) -> None:
    path = tmp_path / "given.json"
    made = copy.deepcopy(good["result"])
    made["results"][7]["threads"] = "HERE"
    path.write_text(json.dumps(made).replace('"HERE"', value))
    with pytest.raises(DocumentError, match=r"given\.json: results\[7\]\.threads " + what):
        results.read(path)


def test_control_characters_are_not_shown(good: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "given.json"
    made = copy.deepcopy(good["result"])
    made["command"]["argv"] = ["omni", "a\x1bb", "c\\u001bd", "e\x9bf"]
    path.write_text(json.dumps(made, ensure_ascii=False))
    assert results.read(path)["command"]["argv"] == ["omni", "a?b", "c\\u001bd", "e?f"]


def test_a_small_file_that_unpacks_to_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST", 1 << 20)
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b" " * (3 << 20)))
    with pytest.raises(DocumentError, match="more than 1 MiB"):
        documents.read(path, SCHEMA_FILE)


def test_arguments_with_control_characters_are_refused() -> None:
    with pytest.raises(SystemExit, match=r"a\\x1b\[31m"):
        cli.refuse_control_characters(["report", "a\x1b[31m"])
    cli.refuse_control_characters(["report", "a name with blanks, ä"])


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text("before")
    path.chmod(0o640)
    with pytest.raises(RuntimeError), files.replacing(path) as file:
        file.write(b"half")
        raise RuntimeError
    assert path.read_text() == "before"
    files.write(path, "after")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("after", 0o640)
    assert os.listdir(tmp_path) == ["out.json"]


def test_a_full_disk_is_that_of_the_file_which_it_holds(good: dict[str, Any], tmp_path: Path) -> None:
    path, page = tmp_path / "given.json", tmp_path / "page.html"
    path.write_text(json.dumps(good["result"]))
    for full in ("--csv", "--table"):
        done = CliRunner().invoke(app, ["report", str(path), "-o", str(page), full, "/dev/full"])
        assert done.exit_code == 2
        assert "/dev/full: No space left on device" in " ".join(done.output.split())


def test_an_error_names_the_file_that_was_given(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="/dev/full") as full, files.replacing(Path("/dev/full")) as file:
        file.write(b"text")
    assert full.value.filename == "/dev/full"
    with pytest.raises(OSError, match="none/out") as none:
        files.write(tmp_path / "none/out", "text")
    assert none.value.filename == str(tmp_path / "none/out")


def test_names_of_descriptors_are_written_directly(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("before\n")
    code = "import sys, pathlib; from omnipgas_tools import files; files.write(pathlib.Path(sys.argv[1]), 'text')"
    for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        with log.open("a") as out:
            subprocess.run([sys.executable, "-c", code, name], stdout=out, check=True, timeout=120)
    assert log.read_text() == "before\ntexttexttext"
