# SPDX-License-Identifier: BSD-3-Clause
"""omni model study gauss, small: what is run and said. Its times are no test's."""

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest
from omnipgas_tools.commands import model
from omnipgas_tools.model import study

from . import common

US = {"L": 1.0, "o": 0.5}
SLOPES = {"Oss": 0.1, "Ors": 0.1, "Gs": 0.2, "Osl": 0.1, "Orl": 0.1, "Gl": 0.1}


def parameters(folder: Path) -> Path:
    """A file with all three models, of no machine."""
    times = {name: {"value": value, "unit": "us"} for name, value in US.items()}
    rates = {name: {"value": value, "unit": "ns/byte"} for name, value in SLOPES.items()}
    lengths = {"s": {"value": 1024, "unit": "bytes"}, "S": {"value": 4096, "unit": "bytes"}}
    short, long = {"value": 0.5, "unit": "us"}, {"value": 3, "unit": "us"}
    rows = [
        {"bytes": {"value": k, "unit": "bytes"}, "o_send": short, "o_recv": short, "G": rates["Gs"]} for k in (0, 999)
    ]
    models = {
        "loggps": times | rates | lengths,
        "loggp-1": {"L": times["L"], "lengths": rows},
        "loggp-2": {"L": times["L"], "o_short": short, "o_long": long, "G_short": rates["Gs"], "G_long": rates["Gl"]}
        | lengths,
    }
    path = folder / "params.json"
    path.write_text(json.dumps({"machine": "no machine", "models": models}))
    return path


def omni(*arguments: str | Path) -> tuple[int, str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = model.app(["study", *map(str, arguments)], standalone_mode=False)
    return code or 0, out.getvalue()


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    for mpi in ("mpich", "intel"):
        common.launch(mpi, 2)
    folder = tmp_path_factory.mktemp("study")
    file = parameters(folder)
    params = ["--params", f"mpich={file}", "--params", f"intel={file}"]
    out = folder / "study.json"
    code, said = omni("gauss", *params, "--sizes", "64,300", "--runs", "2", "--eager", "2500", "-o", out)
    assert code == 0, said
    assert out.with_suffix(".md").read_text() in said
    result: dict[str, Any] = json.loads(out.read_text())
    return result


@pytest.mark.long
def test_every_variant_is_measured_and_predicted(found: dict[str, Any]) -> None:
    rows = {(row["mpi"], row["n"], row["variant"]): row for row in found["rows"]}
    # Intel MPI has no limit to set, so S is not made larger there.
    assert set(rows) == {("mpich", n, variant) for n in (64, 300) for variant in study.VARIANTS} | {
        ("intel", n, variant) for n in (64, 300) for variant in ("original", "fragmented")
    }
    for (mpi, _, variant), row in rows.items():
        assert len(row["measured"]["runs"]) == 2 and min(row["measured"]["runs"]) > 0
        assert set(row["predicted"]) == set(row["what_if"]) == set(study.MODELS)
        assert row["S"] == ({"larger": 65536}.get(variant, 2500) if mpi == "mpich" else None)
        if variant != "fragmented":
            assert row["predicted"] == row["what_if"]


def test_messages_are_synchronized_where_they_must_be(found: dict[str, Any]) -> None:
    rows = {row["variant"]: row for row in found["rows"] if row["mpi"] == "mpich" and row["n"] == 300}
    for kind in ("what_if", "predicted"):
        # Pairs of columns of 16 (n - first) + 16 bytes, longer than 2500.
        counts = {variant: row[kind]["loggps"]["rendezvous"] for variant, row in rows.items()}
        assert counts == {"original": sum(16 * (301 - first) > 2500 for first in range(0, 300, 2)),
                          "larger": 0, "fragmented": 0}  # fmt: skip
        assert rows["original"][kind]["loggp-1"]["rendezvous"] == 0


def test_tables_are_laid_out_as_the_papers(found: dict[str, Any]) -> None:
    lines = study.table(found, "loggps", "predicted", True)
    assert lines[0].count("|") == 12  # MPI, n, and three variants of measured, predicted, error
    assert [line.split(" | ")[:2] for line in lines[2:]] == [
        ["| mpich", "64"], ["| mpich", "300"], ["| intel", "64"], ["| intel", "300"],
    ]  # fmt: skip
    assert lines[4].split(" | ")[5:8] == ["-", "-", "-"]
    assert study.table(found, "loggp-1", "predicted", False)[0].count("|") == 9
    assert study.tables(found).count("## ") == 4  # table 7, table 10 for two models, what-if
    errors = {figure.name: figure for figure in study.figures(found)}
    assert len(errors) == 4 and all(figure.value is not None for figure in errors.values())


def test_figures_are_the_errors() -> None:
    def row(predicted: float, low: float, high: float) -> dict[str, Any]:
        said = {"loggps": {"seconds": predicted}}
        return {"mpi": "m", "n": 2, "variant": "original", "predicted": said, "what_if": said,
                "measured": {"runs": [], "median": 1.0, "low": low, "high": high}}  # fmt: skip

    rows = [row(1.02, 1, 1), row(0.96, 1, 1), row(1.15, 0.9, 1.1)]
    median, worst, *_ = study.figures({"rows": rows})
    assert median.value == pytest.approx(4) and median.met
    assert worst.value == pytest.approx(15) and worst.bound == pytest.approx(20) and worst.met
    rows = [row(1.02, 1, 1), row(1.15, 1, 1)]
    assert [figure.met for figure in study.figures({"rows": rows})] == [False, False] * 2


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["spiral", "--params", "mpich=x"], "spiral"),
        (["gauss", "--params", "x"], "MPI=FILE"),
        (["gauss", "--params", "mpich=x", "--sizes", "3"], "even numbers"),
        (["gauss", "--params", "mpich=x", "--sizes", ""], "even numbers"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, options: list[str], says: str) -> None:
    with pytest.raises(Exception, match=says):
        omni(*options, "-o", tmp_path / "out.json")


def test_an_mpi_that_is_none_is_named(tmp_path: Path) -> None:
    code, said = omni("gauss", "--params", "no-such=x", "--sizes", "64", "-o", tmp_path / "out.json")
    assert code == 1 and "no-such" in said and "mpich" in said
