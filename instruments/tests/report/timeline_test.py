# SPDX-License-Identifier: BSD-3-Clause
"""What the replayer writes of each rank, against its own sums; pictures of it; names of call sites."""

import json
import re
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import commands
import numpy as np
import pytest
from commands import BUILD, run
from matplotlib import pyplot as plt
from model.common import parameter_file
from omnipgas_tools.model import pictures, sites, timelines, tracers

from . import common

PARTS = list(timelines.PARTS)
CASES = {
    "loggps": ("ring:6:20:20000", "--model", "loggps"),
    "loggp-2": ("ring:6:20:20000", "--model", "loggp-2"),
    "flood": ("flood:5:30:500", "--model", "loggps"),
    "full-buffer": ("BUFFER", "--eager-buffer", "5000"),
    "noise": ("pingpong:40:9000:5000", "--noise", "0.5"),
    "unshared": ("ring:6:20:20000", "--no-sharing"),
    "goal": ("GOAL",),
    "loggops": ("ring:6:20:900", "--model", "loggops", "--params", "FILE"),
}
# Rank 0 may not send its second message before the first is received.
BUFFER = """num_ranks 2
rank 0 {
l1: send 5000b to 1
l2: send 5000b to 1
l2 requires l1
}
rank 1 {
l1: calc 1000000
l2: recv 5000b from 0
l3: recv 5000b from 0
l2 requires l1
l3 requires l2
}
"""
LOGGOPS = {"L": 900.0, "o": 1500, "g": 2000, "G": 3, "O": 1, "S": 8000}


def predict(folder: Path, *arguments: str, fails: bool = False) -> Any:
    return commands.predict(*arguments, "--timeline", folder / "timeline", fails=fails)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_intervals_are_whole_and_add_up_to_the_breakdown(case: tuple[str, ...], tmp_path: Path) -> None:
    parameters = tmp_path / "parameters.json"
    parameters.write_text(json.dumps(parameter_file("loggops", LOGGOPS)))
    buffer = tmp_path / "buffer.goal"
    buffer.write_text(BUFFER)
    names = {"GOAL": common.goal_file(tmp_path), "BUFFER": buffer, "FILE": parameters}
    result = predict(tmp_path, *(str(names.get(word, word)) for word in case))
    if "BUFFER" in case:
        assert result["per_rank"][0]["send_wait"] > 0.9e-3
    drawn = timelines.read(tmp_path / "timeline", result["ranks"])
    assert result["timeline"] == {"records": len(drawn.intervals) + len(drawn.messages), "left_out": 0}
    for rank, expected in enumerate(result["per_rank"]):
        mine = drawn.intervals[drawn.starts[rank] : drawn.starts[rank + 1]]
        assert np.array_equal(mine["begin"][1:], mine["end"][:-1])
        assert mine["begin"][0] == 0
        assert np.all(mine["end"] > mine["begin"])
        sums = [float(np.sum((mine["end"] - mine["begin"])[mine["activity"] == part])) for part in range(len(PARTS))]
        assert sums == pytest.approx([expected[part] * 1e9 for part in PARTS], rel=1e-9, abs=1e-3)
    assert len(drawn.messages) == result["messages"]
    assert np.all(drawn.messages["end"] > drawn.messages["begin"])
    assert np.all(drawn.messages["peer"] != drawn.messages["lane"])
    assert drawn.messages["end"].max() <= result["predicted_seconds"] * 1e9 * (1 + 1e-12)


def test_a_limit_keeps_the_first_records_of_each_rank(tmp_path: Path) -> None:
    whole = predict(tmp_path, "ring:4:50:1000")
    all_of_it = timelines.read(tmp_path / "timeline", 4)
    cut = predict(tmp_path, "ring:4:50:1000", "--timeline-records", "80")
    kept = timelines.read(tmp_path / "timeline", 4)
    assert cut["timeline"]["records"] == 80
    assert cut["timeline"]["left_out"] == whole["timeline"]["records"] - 80
    assert cut["per_rank"] == whole["per_rank"]
    for rank in range(4):
        mine = kept.intervals[kept.starts[rank] : kept.starts[rank + 1]]
        assert 0 < len(mine) <= 20
        first = all_of_it.starts[rank]
        assert np.array_equal(mine, all_of_it.intervals[first : first + len(mine)])


def test_files_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    assert "cannot write" in predict(tmp_path / "none", "ring:2:1:1", fails=True)
    predict(tmp_path, "ring:4:5:1000")
    whole = (tmp_path / "timeline").read_bytes()
    for name, damage in (("short", whole[:-1]), ("other", b"x" + whole[1:]), ("empty", b"")):
        path = tmp_path / name
        path.write_bytes(damage)
        with pytest.raises(timelines.TimelineError, match=name):
            timelines.read(path, 4)
    with pytest.raises(timelines.TimelineError, match="damaged"):
        timelines.read(tmp_path / "timeline", 3)  # it names rank 3


def colors_of(path: Path) -> set[str]:
    """The colours of at least ten pixels of a PNG."""
    pixels = (plt.imread(path)[..., :3] * 255).round().astype(int).reshape(-1, 3)
    found, counts = np.unique(pixels, axis=0, return_counts=True)
    return {"#{:02x}{:02x}{:02x}".format(*color) for color in found[counts >= 10]}


def test_pictures_show_all_parts_of_the_time(tmp_path: Path) -> None:
    goal, folder = common.goal_file(tmp_path), tmp_path / "plots"
    common.omni("report", goal, "--params", "myrinet", "-o", tmp_path / "page.html", "--plot", folder, check=True)
    for name in ("breakdown", "timeline"):
        assert set(pictures.COLORS.values()) <= colors_of(folder / f"{name}.png")
        svg = (folder / f"{name}.svg").read_text()
        ElementTree.fromstring(svg)
        assert all(color in svg for color in pictures.COLORS.values())


def test_a_lane_with_more_intervals_than_columns_keeps_its_shares(tmp_path: Path) -> None:
    result = predict(tmp_path, "ring:2:2000:20000")
    drawn = timelines.read(tmp_path / "timeline", 2)
    total_ns = result["predicted_seconds"] * 1e9
    assert drawn.starts[1] > pictures.COLUMNS
    for part, name in enumerate(PARTS):
        boxes = pictures.lane(drawn, 0, part, total_ns)
        assert len(boxes) <= pictures.COLUMNS
        area = sum((c[0] - b[0]) * (a[1] - b[1]) for a, b, c, _ in boxes) / 0.8
        assert area == pytest.approx(result["per_rank"][0][name], rel=1e-6, abs=1e-9)


def test_the_timeline_command_draws_or_says_why_not(tmp_path: Path) -> None:
    goal, picture = common.goal_file(tmp_path), tmp_path / "timeline.png"
    done = common.omni("timeline", goal, "--params", "myrinet", "-o", picture, check=True)
    assert set(pictures.COLORS.values()) <= colors_of(picture)
    for arguments, words in (
        ((goal, "-o", tmp_path / "timeline.xyz"), "not supported"),
        ((goal, "-o", tmp_path / "none/timeline.png"), "No such file"),
        ((tmp_path / "none.goal", "-o", picture), "none.goal"),
    ):
        done = common.omni("timeline", *arguments, "--params", "myrinet")
        assert done.returncode == 1
        assert re.fullmatch(rf"error: .*{words}.*\n", done.stderr)


def test_call_sites_get_the_program_s_lines(tmp_path: Path) -> None:
    compiler = shutil.which("gcc")
    if compiler is None or shutil.which("addr2line") is None:
        pytest.skip("no gcc, or no binutils")
    (tmp_path / "halo.c").write_text("int other(int);\nint exchange(int x) {\n  return other(x) + 1;\n}\n")
    run(compiler, "-g", "-O0", "-c", "halo.c", cwd=tmp_path, check=True)
    listing = run("objdump", "-d", "halo.o", cwd=tmp_path, check=True)
    lines = listing.stdout.splitlines()
    call = next(number for number, line in enumerate(lines) if re.search(r"\bcall", line))
    behind = int(lines[call + 1].split(":")[0], 16)
    module = str(tmp_path / "halo.o")
    rows: list[dict[str, Any]] = [
        {"where": f"Send in halo.o+{behind:#x}", "module": module, "offset": behind},
        {"where": "Recv in solve+0x12 (app+0x88)", "module": "/none/app", "offset": 0x88},
        {"where": "ring, call 7"},
    ]
    prediction = {"per_site": rows, "unmatched": [{"where": rows[0]["where"]}]}
    sites.resolve(prediction)
    assert [row["where"] for row in rows] == [
        "Send in exchange, halo.c:3", "Recv in solve+0x12 (app+0x88)", "ring, call 7",
    ]  # fmt: skip
    assert prediction["unmatched"] == [{"where": "Send in exchange, halo.c:3"}]


PROGRAM = """#include <mpi.h>
int main(int argc, char** argv) {
  static double value[4000];
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) MPI_Send(value, 4000, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(value, 4000, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return MPI_Finalize();
}
"""


def test_a_program_is_traced_predicted_and_shown(tmp_path: Path) -> None:
    compiler, launcher = shutil.which("mpicc.mpich"), shutil.which("mpiexec.mpich")
    have = {one.name for one in tracers.available(BUILD)}
    if compiler is None or launcher is None or "mpich-debian" not in have:
        pytest.skip("no MPICH of Debian, or no interposer for it")
    (tmp_path / "app.c").write_text(PROGRAM)
    run(compiler, "-g", "app.c", "-o", "app", cwd=tmp_path, check=True)
    page, program = tmp_path / "report.html", ("--runs", "2", "--", launcher, "-n", "2", tmp_path / "app")
    common.omni("report", "-o", page, "--params", "myrinet", *program, check=True)
    assert len(list((tmp_path / "report.trace").glob("rank.*"))) == 2
    for call in ("Send in main, app.c:7", "Recv in main, app.c:8"):
        assert call in page.read_text()
    assert re.search("Measured, from MPI_Init to MPI_Finalize: .* the median of 2 runs", page.read_text())
    again = common.omni("report", "-o", page, "--params", "myrinet", *program)
    assert again.returncode == 1
    assert "holds a trace already" in again.stderr
