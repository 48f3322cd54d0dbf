# SPDX-License-Identifier: BSD-3-Clause
"""The model `curve`: segments are found where a library changes its ways, and the replay gives the times measured."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import predict
from omnipgas_tools.model.fit import parameter_file, segments
from omnipgas_tools.model.fit.curves import Curves, Lengths
from omnipgas_tools.model.fit.fitting import Fit, fit
from omnipgas_tools.model.fit.measurements import DataError, Measurements

from .synthetic import measurements

S = 8192
NOISE = 0.01
PLACES = {64: 250.0, 1025: 900.0}  # further nanoseconds from these lengths on: cells, copies
RESAMPLES = 12


def one_way(k: np.ndarray) -> np.ndarray:
    """Of a library with four protocols, that none of the paper's models describes."""
    out = 300 + 0.02 * k
    for place, more in PLACES.items():
        out = out + np.where(k >= place, more, 0)
    return np.where(k > S, 4000 + 0.09 * k, out)


def measured(seed: int = 5) -> Measurements:
    draw = np.random.default_rng(seed)
    lengths = sorted({round(2 ** (i / 4)) for i in range(81)} | {S, S + 1, *PLACES, *(k - 1 for k in PLACES)})
    k = np.array(lengths, dtype=float)
    base, send, receive = 2 * one_way(k), 100 + 0.004 * k, 80 + 0.003 * k
    hidden = np.where(k > S, 0.7 * base, send + receive)

    def rounds(exact: np.ndarray) -> list[list[float]]:
        return [(exact * (1 + NOISE * draw.standard_normal(len(exact)))).tolist() for _ in range(9)]

    fresh = {str(key): [2 * float(one_way(np.array(float(key))))] * 3 for key in (3, 90, 700, 5000, 20_000, 500_000)}
    return Measurements(
        "send", lengths, rounds(base), (3 * base).tolist(), rounds(hidden), rounds(send), rounds(receive),
        eager_up_to=S, waiting={str(S): False, str(S + 1): True}, fresh=fresh,
    )  # fmt: skip


@pytest.fixture(scope="module", name="found")
def fitted() -> Fit:
    return fit(measured(), RESAMPLES)


def test_segments_begin_where_the_protocol_changes(found: Fit) -> None:
    assert found.curve is not None
    starts = [one.first for one in found.curve.segments]
    assert {1, S + 1, *PLACES} <= set(starts) and len(starts) <= 6
    for one in found.curve.segments:
        assert one.begins[0] <= one.first <= one.begins[1]
        ends = zip((one.first, one.last), one.one_way, strict=True)
        for at, end in ends:
            assert end.low <= end.value <= end.high
            assert end.value == pytest.approx(float(one_way(np.array(float(at)))), rel=5 * NOISE)


def test_a_fresh_ping_pong_is_met_where_the_papers_model_fails(found: Fit) -> None:
    assert found.errors["fresh ping-pong by curve"]["median"] < 2 * NOISE
    assert found.errors["fresh ping-pong"]["median"] > 4 * found.errors["fresh ping-pong by curve"]["median"]


@pytest.mark.parametrize("k", [0, 1, 63, 64, 1000, 1025, S, S + 1, 50_000, 1 << 20, 3 << 20])
def test_the_replay_gives_the_same_times(found: Fit, tmp_path: Path, k: int) -> None:
    assert found.curve is not None
    path = tmp_path / "params.json"
    path.write_text(json.dumps({"models": parameter_file.models(found)}))
    said = predict(f"pingpong:1:{k}:0", "--params", path, "--model", "curve")
    assert said["predicted_seconds"] == pytest.approx(2 * found.curve.one_way(k, S) / 1e9, rel=1e-9)
    assert said["rendezvous"] == (2 if k > S else 0)


def test_a_machine_of_the_papers_model_needs_no_more_segments() -> None:
    found = fit(measurements("Myrinet"), RESAMPLES)
    assert found.curve is not None
    assert len(found.curve.segments) <= 4
    assert found.errors["base by curve"]["median"] < NOISE


def test_one_length_is_one_segment() -> None:
    whole = measured()
    curves = Curves(*(np.array([value]) for value in (0.0, 500.0, 300.0, 120.0, 90.0)))
    found = segments.find(curves, Lengths(None, None), [])
    assert len(found.segments) == 1
    assert found.one_way(0, 1 << 60) == pytest.approx(250)
    assert whole.fresh


def test_fresh_round_trips_that_are_none_are_refused() -> None:
    wrong: list[Any] = [{"x": [1.0]}, {"8": []}, {"8": [-1.0]}, {"8": None}, [1]]
    for fresh in wrong:
        with pytest.raises(DataError, match="fresh"):
            replace(measured(), fresh=fresh).check()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"knots": []}, 'curve needs "knots"'),
        ({"knots": [{"bytes": {"value": 0, "unit": "bytes"}}]}, "parameter o_send is missing"),
        ({"S": None}, "parameter S must be"),
    ],
)
def test_what_a_file_lacks_is_named(found: Fit, tmp_path: Path, change: dict[str, Any], said: str) -> None:
    models = parameter_file.models(found)
    path = tmp_path / "params.json"
    path.write_text(json.dumps({"models": {"curve": models["curve"] | change}}))
    assert said in predict("pingpong:1:8:0", "--params", path, "--model", "curve", fails=True)
