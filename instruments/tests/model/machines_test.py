# SPDX-License-Identifier: BSD-3-Clause
"""The built-in machines are the paper's, and the paper's way of fitting them leads back to them."""

import json
from typing import Any

import numpy as np
import pytest
from commands import MODEL, predict, refusal, run

from . import common

TABLES = json.loads((common.HERE / "loggps_tables.json").read_text())
NAMES = {"cenju4": "Cenju-4", "myrinet": "Myrinet", "fast-ethernet": "Fast Ethernet"}
RATES = ("Oss", "Ors", "Gs", "Osl", "Orl", "Gl")
W = 5e5


@pytest.mark.parametrize("name", NAMES)
def test_machines_have_the_parameters_of_table_5(name: str) -> None:
    found = predict("pingpong:1:0:0", "--params", name)["parameters"]
    row = TABLES["table5"][NAMES[name]]
    assert found["L"] == pytest.approx(row["L"] * 1e-9, rel=1e-12)
    assert found["o"] == pytest.approx(row["o_prime"] * 1e-9, rel=1e-12)
    assert (found["s"], found["S"]) == (row["s"], row["S"])
    for rate in RATES:
        if row[rate] is not None:
            assert found[rate] == pytest.approx(row[rate] * 1e-9, rel=1e-12)
    if "Orl_plus_Gl" in row:
        assert found["Orl"] + found["Gl"] == pytest.approx(row["Orl_plus_Gl"] * 1e-9, rel=1e-12)


def test_loggp_2_has_the_parameters_of_table_9() -> None:
    found = predict("pingpong:1:0:0", "--model", "loggp-2")["parameters"]
    table = TABLES["table9_myrinet"]["LogGP-2"]
    assert found["L"] == pytest.approx(table["L"] * 1e-9)
    assert [found["o_short"], found["o_long"]] == pytest.approx([1e-9 * o for o in table["o"].values()])
    assert [found["G_short"], found["G_long"]] == pytest.approx([1e-9 * gap for gap in table["G"].values()])
    # A round trip of one message of each kind.
    for size, o, gap in ((8191, 3830, 24.98), (8192, 72880, 8.85)):
        time = predict(f"pingpong:1:{size}:0", "--model", "loggp-2")["predicted_seconds"]
        assert time == pytest.approx(2e-9 * (o + size * gap + 7000 + o), rel=1e-9)


def solve_fit(e: dict[str, float]) -> dict[str, float]:
    """The equations at the end of section 4.2, with 10^4 for the 10^6 that the last one prints."""
    unknown = ("o", "L", *RATES)
    rows: list[tuple[dict[str, float], float]] = [
        ({"o": 4, "L": 2}, e["4o+2L"]),
        ({"o": 2}, e["2o+W"] - e["W"]),
        ({"Oss": 1, "Ors": 1}, e["Oss+Ors"]),
        ({"Oss": 2, "Ors": 2, "Gs": 2}, e["2(Oss+Ors+Gs)"]),
        ({"Oss": 2, "Ors": 2, "Gl": 2}, e["2(Oss+Ors+Gl)"]),
        ({"Osl": 2, "Orl": 2, "Gl": 2}, e["2(Osl+Orl+Gl)"]),
        ({"Osl": 2, "Orl": 1, "Gl": 1}, e["2Osl+Orl+Gl"]),
        ({"o": 1, "Oss": e["S"]}, e["o+S*Oss_corrected"]),
    ]
    matrix = [[row.get(name, 0.0) for name in unknown] for row, _ in rows]
    return dict(zip(unknown, np.linalg.solve(matrix, [value for _, value in rows]), strict=True))


def test_the_equations_of_the_fit_give_table_5(tmp_path: Any) -> None:
    e = TABLES["fit_equations_myrinet_ns"]
    fitted = solve_fit(e)
    row = common.machine("Myrinet")
    for name, value in fitted.items():
        half_a_digit = 5 if name in ("o", "L") else 0.005
        assert value == pytest.approx(row[name], abs=half_a_digit), name

    # And the replayer on the fitted machine has the intercepts and slopes that the equations say.
    p = fitted | {"s": row["s"], "S": row["S"]}
    file = tmp_path / "fitted.json"
    file.write_text(json.dumps(common.parameter_file("loggps", p)))

    def ends(size: int, work: float) -> float:
        rank = predict(f"pingpong:1:{size}:{work:.0f}", "--params", file)["per_rank"][0]
        return 1e9 * float(sum(rank.values()))

    assert ends(0, 0) == pytest.approx(e["4o+2L"], rel=1e-9)
    assert ends(0, W) == pytest.approx(e["2o+W"], rel=1e-9)
    for low, high, work, slope in (
        (0, 8191, 0, "2(Oss+Ors+Gs)"), (8191, 16383, 0, "2(Oss+Ors+Gl)"), (0, 16383, W * 10, "Oss+Ors"),
        (20000, 60000, 0, "2(Osl+Orl+Gl)"), (20000, 60000, W * 10, "2Osl+Orl+Gl"),
    ):  # fmt: skip
        assert (ends(high, work) - ends(low, work)) / (high - low) == pytest.approx(e[slope], rel=1e-8), slope


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not a JSON file"),
        ("[]", 'no object "models"'),
        ('{"models": {"loggp-2": {}}}', "no parameters of loggps"),
        ('{"models": {"loggps": {}}}', "parameter L is missing"),
        ('{"models": {"loggps": {"L": 5}}}', 'parameter L must be {"value": number, "unit": "ns"}'),
        ('{"models": {"loggps": {"L": {"value": 5, "unit": "bytes"}}}}', "parameter L has the unit bytes"),
        ('{"models": {"loggps": {"L": {"value": -5, "unit": "ns"}}}}', "parameter L must be a number from 0 on"),
    ],
)
def test_a_parameter_file_that_is_none_is_refused(tmp_path: Any, content: str, said: str) -> None:
    file = tmp_path / "params.json"
    file.write_text(content)
    assert said in refusal(run(MODEL, "predict", "ring:2:1:1", "--params", file))
