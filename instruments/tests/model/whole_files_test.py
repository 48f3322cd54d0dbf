# SPDX-License-Identifier: BSD-3-Clause
"""What ompl-model writes is there whole or not at all, and goes into pipes and descriptors as it is."""

import json
import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest
from commands import MODEL

from .recorded import WORLD, record
from .recording_test import two_ranks

PREDICT = ("predict", "TRACE", "--params", "myrinet")
WRITERS = {
    "json": (*PREDICT, "--json", "OUT"),
    "timeline": (*PREDICT, "--json", "/dev/null", "--timeline", "OUT"),
    "whatif": ("whatif", "TRACE", "--params", "myrinet", "--json", "OUT"),
    "goal": ("goal", "TRACE", "OUT"),
}


def full_disk() -> None:
    """As one that takes no more than a few bytes of a file."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40, resource.RLIM_INFINITY))


def model(
    arguments: tuple[str, ...], trace: Path, out: Path | str, full: bool = False
) -> subprocess.CompletedProcess[str]:
    words = [{"TRACE": str(trace), "OUT": str(out)}.get(word, word) for word in arguments]
    return subprocess.run(
        [str(MODEL), *words], capture_output=True, text=True, check=False, timeout=120,
        preexec_fn=full_disk if full else None,
    )  # fmt: skip


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    folder = tmp_path / "trace"
    folder.mkdir()
    two_ranks(folder, [record("send", 2000, 3000, 8, 1, 5, WORLD)], [record("recv", 2000, 3000, 8, 0, 5, WORLD)])
    return folder


@pytest.mark.parametrize("writer", WRITERS)
def test_a_full_disk_leaves_the_good_file(trace: Path, tmp_path: Path, writer: str) -> None:
    results = tmp_path / "results"
    results.mkdir()
    out = results / "out"
    out.write_text("good")
    done = model(WRITERS[writer], trace, out, full=True)
    assert (done.returncode, done.stderr) == (1, f"ompl-model: cannot write {out}: File too large\n")
    assert out.read_text() == "good"
    assert list(results.iterdir()) == [out]
    assert model(WRITERS[writer], trace, out).returncode == 0
    assert out.stat().st_size > 40
    assert list(results.iterdir()) == [out]


def test_a_full_disk_leaves_nothing_of_an_archive(trace: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    results.mkdir()
    done = model(("otf2", "TRACE", "OUT"), trace, results / "out.otf2", full=True)
    if "built without OTF2" in done.stderr:
        pytest.skip("built without OTF2")
    assert done.returncode == 1
    assert list(results.iterdir()) == []
    assert model(("otf2", "TRACE", "OUT"), trace, results / "out.otf2").returncode == 0
    assert sorted(path.name for path in results.iterdir()) == ["out", "out.def", "out.otf2"]


def test_links_are_followed_and_permissions_stay(trace: Path, tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to("real.json")
    assert model(WRITERS["json"], trace, link).returncode == 0
    assert link.is_symlink()
    assert json.loads(real.read_text())["messages"] == 1
    assert real.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_names_of_descriptors_are_written_directly(trace: Path, tmp_path: Path, name: str) -> None:
    assert json.loads(model(WRITERS["json"], trace, name).stdout)["messages"] == 1
    log = tmp_path / "log"
    log.write_text("before\n")
    words = [str(trace) if word == "TRACE" else name if word == "OUT" else word for word in WRITERS["json"]]
    with log.open("a") as file:
        subprocess.run([str(MODEL), *words], stdout=file, check=True, timeout=120)
    assert log.read_text().startswith("before\n{")


def test_a_pipe_is_written_directly(trace: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        try:
            assert model(WRITERS["json"], trace, pipe).returncode == 0
            assert json.loads(reader.communicate(timeout=60)[0])["messages"] == 1
        finally:
            reader.kill()
    assert pipe.is_fifo()
