# SPDX-License-Identifier: BSD-3-Clause
"""The command as a user types it."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from commands import unframed
from omnipgas_tools import __version__, cli
from omnipgas_tools.libraries import catalog
from omnipgas_tools.measure import results, session
from omnipgas_tools.model import tracers
from omnipgas_tools.model.build_tracers import Tracer
from typer.testing import CliRunner

from .common import MOCK, build_tree, built, interrupted, omni, refused, result


@pytest.fixture
def mocks(tmp_path: Path) -> Path:
    """A build tree whose libraries are the hostile mock."""
    rows = []
    for name, mode in [("raw", "good"), ("sleepy", "hang"), ("fragile", "crash"), ("liar", "corrupt")]:
        launch = json.dumps([sys.executable, str(MOCK), mode, "--fail-at", "64", "--mark", str(tmp_path / "hangs")])
        rows.append(f'[{name}]\ntitle = "{name}"\nops = ["put"]\nworker = "ompl_bench_raw"\nlaunch = {launch}\n')
    rows.append('[absent]\ntitle = "absent"\nops = ["put"]\nworker = "none"\nlaunch = []\n')
    return build_tree(tmp_path, ["ompl_bench_raw"], rows)


def test_hostile_libraries_are_reported_and_the_run_goes_on(mocks: Path) -> None:
    content, done = result(
        "pingpong", "--libs", "raw,sleepy,fragile,liar,absent", "--threads", "1", "--sizes", "32,64",
        "--repeat", "2", "--timeout", "1", build=mocks,
    )  # fmt: skip
    found = {(r["library"], r["size"]): r["status"] for r in content["results"]}
    assert found == {
        ("raw", 32): "ok", ("raw", 64): "ok",
        ("sleepy", 32): "ok", ("sleepy", 64): "hung",
        ("fragile", 32): "ok", ("fragile", 64): "crashed",
        ("liar", 32): "ok", ("liar", 64): "corrupt",
        ("absent", None): "skipped",
    }  # fmt: skip
    for text in ("no answer within 1 s", "about to fall over", "exchange 3", "absent skipped"):
        assert text in " ".join(done.stderr.split())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_writes_what_was_measured(mocks: Path, tmp_path: Path, number: int) -> None:
    out, plot = tmp_path / "out.json", tmp_path / "out.svg"
    content = interrupted(mocks, out, "pingpong", "--libs", "raw,sleepy", "--threads", "1", "--sizes", "32,64",
                          "--plot", str(plot), number=number)  # fmt: skip
    assert {(r["library"], r["size"]) for r in content["results"]} >= {("raw", 32), ("sleepy", 32)}
    assert plot.stat().st_size > 0


COMPARISON = Path(__file__).parents[3] / "docs/results/comparison/memory.json.gz"


def test_a_locale_that_is_not_utf8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read and written all the same."""
    if shutil.which("localedef") is None:
        pytest.skip("no localedef makes the locale")
    made = ["localedef", "-i", "ja_JP", "-f", "EUC-JP", str(tmp_path / "ja_JP.eucjp")]
    if subprocess.run(made, capture_output=True, check=False).returncode != 0:
        pytest.skip("the locale ja_JP.eucjp cannot be made")
    monkeypatch.setenv("LOCPATH", str(tmp_path))
    monkeypatch.setenv("LC_ALL", "ja_JP.eucjp")
    page = tmp_path / "page.html"
    done = omni("report", str(COMPARISON), "-o", str(page))
    assert done.returncode == 0, done.stderr
    assert "µ" in page.read_text(encoding="utf-8")


def test_a_full_disk_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "omnipgas_tools.cli", "rank", str(COMPARISON)],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "omni: cannot write the results or the output: No space left on device\n"


def test_a_busy_machine_is_one_warning_before_measuring(mocks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert session.busy(0.9, 2) == ""
    monkeypatch.setattr(results, "machine", lambda: {"load": 7.5, "cores": 2})
    monkeypatch.setenv("OMNI_BUILD_DIR", str(mocks))
    shown = CliRunner().invoke(cli.app, ["pingpong", "--libs", "absent"], prog_name="omni").output
    assert shown.count("Warning: load 7.5 on 2 cores. Do not trust") == 1


def test_nothing_measured_is_a_failure(mocks: Path) -> None:
    done = omni("pingpong", "--libs", "absent", build=mocks)
    assert done.returncode == 1
    assert "absent skipped" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--libs", "raw,nonsense"], "'nonsense' is none of raw, sleepy"),
        (["--sizes", "2"], "2 is below 4"),
        (["--threads", "x"], "'x' is no list"),
        (["--op", "get"], "'get' is none of put, putsignal, sendrecv"),
    ],
)
def test_unusable_options_are_named(mocks: Path, arguments: list[str], complaint: str) -> None:
    assert complaint in refused(mocks, "pingpong", "--libs", "raw", *arguments)


@pytest.mark.parametrize(
    ("place", "option", "complaint"),
    [
        ("no/file.json", "--json", "there is no folder"),
        (".", "--json", "it is a folder"),
        ("no/plot.svg", "--plot", "there is no folder"),
    ],
)
def test_what_cannot_be_written_ends_the_command_before_it_measures(
    mocks: Path, tmp_path: Path, place: str, option: str, complaint: str
) -> None:
    for command in ("pingpong", "rate"):
        done = omni(command, "--libs", "sleepy", "--timeout", "60", option, str(tmp_path / place), build=mocks)
        assert done.returncode == 2 and not (mocks / "hangs").exists()
        assert complaint in unframed(done.stderr)


def test_the_version_is_told() -> None:
    assert omni("--version").stdout == f"omni {__version__}\n"


def test_targets_are_figures() -> None:
    for command in ("figures", "targets"):
        done = omni(command, "--groups", "nonsense")
        assert done.returncode == 2 and "'nonsense' is none of" in unframed(done.stderr)


def test_a_traced_program_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tracers, "available", lambda build: [Tracer("mpich", "libmpi.so.12", "", "")])
    with pytest.raises(tracers.NoTracerError, match="nosuch: no such program"):
        tracers.choose(tmp_path, ["true", "-n", "2", "./nosuch"])


def test_where_no_program_says_its_mpi_each_process_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the launcher's MPI, of which it has two libraries; that which would cut off handles last."""
    launcher, script = tmp_path / "mpich/bin/mpiexec", tmp_path / "run.py"
    launcher.parent.mkdir(parents=True)
    launcher.write_text("#!/bin/sh\n")
    launcher.chmod(0o755)
    script.write_text("pass\n")
    near = str(tmp_path / "mpich")
    made = [
        Tracer("intel", "libmpi.so.12", "/opt/intel", "intel.so"), Tracer("mpich", "libmpi.so.12", near, "mpich.so"),
        Tracer("mpich-abi", "libmpi_abi.so.1", near, "abi.so"), Tracer("openmpi", "libmpi.so.40", "/opt/o", "o.so"),
        Tracer("omnipgas", "libomnipgas.so.0", "", "own.so"), Tracer("openmpi-debian", "libmpi.so.40", "", "d.so"),
    ]  # fmt: skip
    monkeypatch.setattr(tracers, "available", lambda build: made)
    monkeypatch.setattr(tracers, "loaded_library", lambda program: None)
    monkeypatch.setattr(catalog, "sources", lambda build: None)
    chosen = tracers.choose(tmp_path, [str(launcher), "-n", "2", "true", str(script)])
    assert (chosen.name, chosen.path) == ("mpich-abi, mpich", "abi.so:mpich.so")
    assert chosen.preload(tmp_path)["OMPL_TRACE_SEVERAL"] == "1"
    assert "OMPL_TRACE_SEVERAL" not in made[0].preload(tmp_path)


def test_pingpong_of_the_twin(tmp_path: Path) -> None:
    built("raw")
    content, _ = result("pingpong", "--quick", "--libs", "raw", "--threads", "1,2", "--sizes", "8,4096",
                        "--plot", str(tmp_path / "p.png"))  # fmt: skip
    assert [(r["threads"], r["size"]) for r in content["results"]] == [(1, 8), (1, 4096), (2, 8), (2, 4096)]
    assert content["command"]["libraries"]["raw, 2 threads"]["command"]


def test_rate_of_the_twin() -> None:
    built("raw")
    content, _ = result("rate", "--quick", "--libs", "raw", "--threads", "1,2")
    assert {r["size"] for r in content["results"]} == {8}
    assert {(r["op"], r["threads"]) for r in content["results"]} == {
        ("put", 1), ("put", 2), ("putonly", 1), ("putonly", 2),
    }  # fmt: skip


def test_rate_takes_several_sizes(mocks: Path) -> None:
    for option, sizes in (("--sizes", [8, 32]), ("--size", [16])):
        given = ",".join(map(str, sizes))
        done = omni("rate", "--libs", "raw", "--threads", "1", "--repeat", "1", "--op", "put", option, given,
                    "--json", "-", build=mocks, check=True)  # fmt: skip
        assert [row["size"] for row in json.loads(done.stdout)["results"]] == sizes


def test_every_help_page_says_what_its_options_say() -> None:
    """Brackets and colons in them are no markup, and no first sentence is cut."""
    pages = dict(help_pages(typer.main.get_command(cli.app), []))
    assert {("omni",), ("omni", "halo"), ("omni", "model", "predict")} <= set(pages)
    for path, command in pages.items():
        shown = CliRunner().invoke(cli.app, [*path[1:], "--help"], prog_name="omni", env={"COLUMNS": "80"})
        assert shown.exit_code == 0 and shown.stdout.isascii(), path
        text = "".join(shown.stdout.split())
        below = getattr(command, "commands", {}).values()
        said = [command.help, *(option.help for option in command.params), *(each.short_help for each in below)]
        for sentence in filter(None, said):
            assert "".join(sentence.split()) in text, (path, sentence)


def test_every_option_says_its_default() -> None:
    """Those without one name a file or a thing that is not used unless it is given."""
    for path, command in help_pages(typer.main.get_command(cli.app), []):
        context = command.context_class(command, info_name=path[-1])
        for option in command.get_params(context):
            shown = (option.get_help_record(context) or ("", ""))[1]
            valued = option.param_type_name == "option" and not getattr(option, "is_flag", False)
            if valued and option.name != "help" and not option.hidden:
                named = option.default in (None, "", []) and (option.metavar or "instead of" in shown)
                assert "[" in shown or named, (path, option.opts, shown)


def test_manual_pages_say_what_help_says() -> None:
    """Word by word, once the typesetting is taken away."""
    folder = Path(os.environ["OMNI_BUILD_DIR"], "man/man1")
    if not (folder / "omni.1").exists():
        pytest.skip(f"the target man has not made {folder}/omni.1")
    for path, command in help_pages(typer.main.get_command(cli.app), []):
        text = (folder / f"{'-'.join(path)}.1").read_text()
        text = re.sub(r"\\f[BIPR]|^\.\w+|\\&", "", text, flags=re.MULTILINE).replace("\\-", "-").replace("\\e", "\\")
        text = "".join(text.split())
        for sentence in filter(None, [command.help, *(option.help for option in command.params)]):
            assert "".join(sentence.split()) in text, (path, sentence)


def test_without_a_command_three_examples_are_shown() -> None:
    shown = CliRunner().invoke(cli.app, [], prog_name="omni", env={"COLUMNS": "120"}).output
    examples = [line.split()[:2] for line in shown.partition("Examples:\n")[2].splitlines() if line.strip()]
    assert len(examples) == 3, shown
    commands = {path[1] for path, _ in help_pages(typer.main.get_command(cli.app), []) if path[1:]}
    assert all(words[0] == "omni" and words[1] in commands for words in examples), examples


def test_bash_completes_commands_and_options(tmp_path: Path) -> None:
    completion = Path(__file__).parents[3] / "scripts/completion.py"
    subprocess.run([sys.executable, completion, "omni", tmp_path], check=True, timeout=120)
    for typed, wanted in (
        ("omni ping", "pingpong"),
        ("omni model pred", "predict"),
        ("omni model predict --comp", "--compute-scale"),
        ("omni libs add --he", "--help"),
    ):
        asked = f"COMP_WORDS=({typed}); COMP_CWORD={len(typed.split()) - 1}; _omni"
        script = f'. {tmp_path}/omni; {asked}; echo "${{COMPREPLY[*]}}"'
        said = subprocess.run(["bash", "-c", script], check=True, timeout=60, capture_output=True, text=True).stdout
        assert said.strip() == wanted


def help_pages(command: Any, path: list[str]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The path of each command from `command` on, with the object behind it."""
    here = [*path, command.name or "omni"]
    yield tuple(here), command
    for below in getattr(command, "commands", {}).values():
        if not below.hidden:
            yield from help_pages(below, here)


def test_only_the_command_that_is_run_is_loaded() -> None:
    assert cli.wanted("/usr/bin/omni", ["cg", "--help"]) == ["cg"]
    every = (*cli.COMMANDS, *cli.GROUPS)
    assert cli.wanted("/usr/bin/omni", []) == every
    assert cli.wanted("/usr/bin/omni", ["--help"]) == every
    assert cli.wanted("pytest", ["cg"]) == every
