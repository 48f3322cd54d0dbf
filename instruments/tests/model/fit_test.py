# SPDX-License-Identifier: BSD-3-Clause
"""The fit of parameters: known machines are found again, what cannot be known is named, and nonsense is refused."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import predict
from omnipgas_tools.model.fit import breakpoints, parameter_file
from omnipgas_tools.model.fit import plot as fit_plot
from omnipgas_tools.model.fit.equations import LOGGOPS, LOGGP2, LOGGPS, NEVER, Model
from omnipgas_tools.model.fit.fitting import Fit, fit
from omnipgas_tools.model.fit.least_squares import nonnegative, solve, unidentified
from omnipgas_tools.model.fit.measurements import DataError, Measurements

from .common import HERE
from .synthetic import measurements, parameters

MACHINES = ("Cenju-4", "Myrinet", "Fast Ethernet")
RESAMPLES = 40
SEEDS = (3, 4, 5)


@pytest.fixture(scope="module")
def fits() -> dict[str, Fit]:
    return {name: fit(measurements(name, seed=SEEDS[0]), RESAMPLES) for name in MACHINES}


def test_the_equations_of_the_paper_give_its_table() -> None:
    """Section 4.2, Myrinet, in nanoseconds; the last one as corrected."""
    text = json.loads((HERE / "loggps_tables.json").read_text())
    given, s, S = text["fit_equations_myrinet_ns"], 8191, 16383
    rows = {k: LOGGPS.rows(k, s, S) for k in (0, 1, s + 1, s + 2, S, S + 1, S + 2)}
    left = [
        rows[0].base, rows[0].hidden, rows[1].hidden - rows[0].hidden, rows[1].base - rows[0].base,
        rows[s + 2].base - rows[s + 1].base, rows[S + 2].base - rows[S + 1].base,
        rows[S + 2].hidden - rows[S + 1].hidden, rows[S].send,
    ]  # fmt: skip
    right = [
        given["4o+2L"], given["2o+W"] - given["W"], given["Oss+Ors"], given["2(Oss+Ors+Gs)"], given["2(Oss+Ors+Gl)"],
        given["2(Osl+Orl+Gl)"], given["2Osl+Orl+Gl"], given["o+S*Oss_corrected"],
    ]  # fmt: skip
    found = dict(zip(LOGGPS.names, solve(np.array(left), np.array(right)), strict=True))
    table = text["table5"]["Myrinet"] | {"o": text["table5"]["Myrinet"]["o_prime"]}
    for name, value in found.items():
        digits = 5 if name in ("L", "o") else 0.005  # half of the last digit that the table prints
        assert value == pytest.approx(table[name], abs=digits), name


@pytest.mark.long
def test_known_parameters_are_found_within_their_intervals(fits: dict[str, Fit]) -> None:
    """Of 66 intervals of 95 % at least 58 hold the true value: fewer is improbable (1 %). None is far off."""
    inside = []
    more = [(name, fit(measurements(name, seed=seed), RESAMPLES)) for name in MACHINES for seed in SEEDS[1:]]
    for name, found in [*fits.items(), *more]:
        values, s, S = parameters(name)
        for parameter, true in zip(LOGGPS.names, values, strict=True):
            one = found.values["loggps"][parameter]
            if one.identified:
                inside.append(one.low <= true <= one.high)
                assert one.low - (one.high - one.low) <= true <= one.high + (one.high - one.low), (name, parameter)
        assert found.S.low <= S <= found.S.high
        if s < S:
            assert found.s.low <= s <= found.s.high
    assert len(inside) == 66 and sum(inside) >= 58


def test_without_noise_they_are_found_exactly() -> None:
    values, s, S = parameters("Myrinet")
    found = fit(measurements("Myrinet", noise=0), 3)
    assert (found.lengths.s, found.lengths.S) == (s, S)
    assert found.parameters(LOGGPS) == pytest.approx(values, rel=1e-6, abs=1e-6)
    assert max(error["worst"] for error in found.errors.values()) < 1e-9


@pytest.mark.long
def test_what_cannot_be_identified_is_named(fits: dict[str, Fit]) -> None:
    """Where s = S only Orl + Gl is known, as the paper says of the Cenju-4."""
    cenju = fits["Cenju-4"]
    assert (cenju.unidentified, cenju.sums) == (["Orl", "Gl"], ["Orl + Gl"])
    assert not cenju.s.identified and cenju.values["loggps"]["Orl"].note == "only Orl + Gl is identified"
    total = sum(cenju.values["loggps"][name].value for name in ("Orl", "Gl"))
    assert total == pytest.approx(0.28, abs=0.05)
    for name in ("Myrinet", "Fast Ethernet"):
        assert fits[name].unidentified == []


def test_without_long_messages_their_parameters_are_named() -> None:
    whole = measurements("Myrinet")
    count = sum(k <= 4096 for k in whole.lengths)
    short = replace(whole, lengths=whole.lengths[:count])
    for name in ("base", "hidden", "send", "receive"):
        setattr(short, name, [row[:count] for row in getattr(whole, name)])
    found = fit(short, 5)
    assert found.unidentified == ["Osl", "Orl", "Gl"] and found.sums == []
    assert found.lengths.S is None and found.S.value == NEVER and not found.S.identified
    values = found.values["loggps"]
    assert values["Osl"].value == pytest.approx(values["Oss"].value, rel=1e-3)  # taken, not found
    assert "nothing that was measured" in values["Osl"].note


def test_the_tests_of_the_paper_hold_on_its_machines(fits: dict[str, Fit]) -> None:
    for name in ("Myrinet", "Fast Ethernet"):
        tests = {test.name: test for test in fits[name].tests}
        assert {key: test.holds for key, test in tests.items()} == dict.fromkeys(
            ("slope", "continuity", "bend", "D(0)", "D(W)"), True
        )
        (wire, o, oss, ors, gs, osl, orl, gl), _, S = parameters(name)
        assert tests["slope"].estimate.value == pytest.approx(oss + ors, rel=0.02)
        assert tests["bend"].estimate.value == pytest.approx(gs - gl, rel=0.02)
        jump = 8 * o + 4 * wire + 2 * S * (osl - oss + orl - ors)  # figure 5
        seen = tests["D(0)"].estimate
        assert seen.low - (seen.high - seen.low) <= jump <= seen.high + (seen.high - seen.low)


def test_the_tests_can_fail() -> None:
    """Overheads that do not depend on the length have no slope; a step at s is seen."""
    whole = measurements("Myrinet", noise=0.002)
    flat = replace(whole, hidden=[[14000.0 + 10 * i for _ in whole.lengths] for i in range(len(whole.hidden))])
    assert not {test.name: test.holds for test in fit(flat, 10).tests}["slope"]
    _, s, S = parameters("Myrinet")
    more = [30000.0 if s < k <= S else 0.0 for k in whole.lengths]
    stepped = replace(whole, hidden=[[a + b for a, b in zip(row, more, strict=True)] for row in whole.hidden])
    assert not {test.name: test.holds for test in fit(replace(stepped, eager_up_to=S), 10).tests}["continuity"]


@pytest.mark.parametrize("model", [LOGGPS, LOGGP2, LOGGOPS])
def test_the_replayer_says_the_same_of_a_fitted_file(fits: dict[str, Fit], model: Model, tmp_path: Path) -> None:
    path, found = tmp_path / "params.json", fits["Myrinet"]
    one = parameter_file.operation(found, {})
    parameter_file.write(path, {"machine": "test", "models": one["models"]})
    s, S = found.lengths.pair
    values = found.parameters(model)
    for k in (1, 100, s, s + 1, S, S + 1, 100_000):
        for work in (0, 10_000, 5_000_000):
            said = replayed(path, model.name, k, work)
            assert said == pytest.approx(model.predict(values, k, s, S, work) / 1e9, rel=1e-9), (k, work)


def test_loggp1_gives_back_the_round_trips_without_computation(fits: dict[str, Fit], tmp_path: Path) -> None:
    path, found = tmp_path / "params.json", fits["Fast Ethernet"]
    parameter_file.write(path, {"machine": "test", "models": parameter_file.models(found)})
    base = np.median(found.measurements.matrix("base"), axis=0)
    for i in range(0, len(base), 7):
        seconds = replayed(path, "loggp-1", found.measurements.lengths[i], 0)
        assert seconds == pytest.approx(base[i] / 1e9, rel=1e-6)


def replayed(path: Path, model: str, k: int, work: int) -> float:
    """The round trip by the replayer."""
    return float(predict(f"pingpong:1:{k}:{work}", "--params", path, "--model", model)["predicted_seconds"])


# ---- parts


def test_least_squares_keep_the_bound() -> None:
    draw = np.random.default_rng(1)
    for _ in range(200):
        a, y = draw.standard_normal((12, 5)), draw.standard_normal(12)
        x = nonnegative(a, y)
        gradient = a.T @ (y - a @ x)
        assert (x >= 0).all() and (gradient <= 1e-8).all() and np.abs(gradient[x > 0]).max(initial=0) < 1e-8


def test_outliers_weigh_little() -> None:
    k = np.linspace(1, 100, 40)
    y = 5 + 2 * k
    y[::10] *= 3
    assert solve(np.column_stack([np.ones(40), k]), y) == pytest.approx([5, 2], rel=1e-3)


def test_sums_that_are_known_are_named() -> None:
    assert unidentified(np.array([[1.0, 1, 0], [2, 2, 0], [0, 0, 1]]), ["a", "b", "c"]) == (["a", "b"], ["a + b"])
    assert unidentified(np.eye(3), ["a", "b", "c"]) == ([], [])
    assert unidentified(np.array([[1.0, -1, 0], [0, 0, 1]]), ["a", "b", "c"]) == (["a", "b"], [])
    assert unidentified(np.array([[1.0, 0], [2, 0]]), ["a", "b"]) == (["b"], [])


def test_a_line_has_no_bend() -> None:
    k = np.array([2.0**i for i in range(16)])
    draw = np.random.default_rng(2)
    noisy = (100 + 3 * k) * (1 + 0.01 * draw.standard_normal(16))
    assert breakpoints.find_bend(k, noisy).at is None
    bent = (100 + 3 * k - 2.5 * np.maximum(0, k - 512)) * (1 + 0.001 * draw.standard_normal(16))
    assert breakpoints.find_bend(k, bent).at == 512


def test_gaps_that_o_does_not_contain_are_seen() -> None:
    plain = measurements("Myrinet")
    blocks = {"1": {"first": [6700.0, 6720, 6740], "later": [6705.0, 6710, 6750]}}
    assert fit(replace(plain, bursts=blocks), 3).o_contains_g is True
    blocks["1"]["later"] = [9000.0, 9010, 9020]
    found = fit(replace(plain, bursts=blocks), 3)
    assert found.o_contains_g is False and found.values["loggops"]["g"].value == pytest.approx(9010)


def test_of_two_lengths_at_which_sends_wait_the_better_one_is_taken() -> None:
    whole, (_, _, S) = measurements("Myrinet"), parameters("Myrinet")
    found = fit(replace(whole, eager_up_to=512, unmatched_up_to=S, waiting={"512": False, "513": True}), 3)
    assert found.lengths.S == S


def test_settings_are_read_and_compared() -> None:
    known = parameter_file.limits(
        {"btl_sm_eager_limit": "4096", "MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD": "-1"},
        {"UCX_RNDV_THRESH": "16k", "UCX_TLS": "tcp", "OMPI_MCA_btl_sm_eager_limit": "8192", "HOME_EAGER": "7000"},
    )
    assert known == {"btl_sm_eager_limit": 4096, "UCX_RNDV_THRESH": 16384, "OMPI_MCA_btl_sm_eager_limit": 8192}
    assert parameter_file.agreeing(4016, known) == ["btl_sm_eager_limit"]
    assert parameter_file.agreeing(5000, known) == [] == parameter_file.agreeing(None, known)


@pytest.mark.parametrize("suffix", fit_plot.FORMATS)
def test_the_plot_is_written(fits: dict[str, Fit], tmp_path: Path, suffix: str) -> None:
    several = {"50000": {"1": [80000.0], "4096": [170000.0]}}
    found = replace(fits["Myrinet"], measurements=replace(fits["Myrinet"].measurements, several=several))
    path = tmp_path / f"figure{suffix}"
    fit_plot.plot(path, "Myrinet", found)
    start = path.read_bytes()[:300]
    assert start.startswith(b"\x89PNG") if suffix == ".png" else b"<svg" in path.read_bytes()


# ---- hostile data


def broken(**changes: Any) -> Measurements:
    return replace(measurements("Myrinet"), **changes)


def with_value(value: float) -> list[list[float]]:
    rows = measurements("Myrinet").base
    rows[2][5] = value
    return rows


@pytest.mark.parametrize(
    ("measured", "complaint"),
    [
        (broken(lengths=[1, 2, 4]), "3 lengths are too few, 8 are needed"),
        (broken(lengths=[1] * 66), "the lengths must rise"),
        (broken(base=with_value(math.nan)), "base at 6 bytes is not a positive number"),
        (broken(base=with_value(math.inf)), "base at 6 bytes is not a positive number"),
        (broken(base=with_value(-1)), "base at 6 bytes is not a positive number"),
        (broken(hidden=measurements("Myrinet").hidden[:2]), "2 rounds of hidden, 3 are needed"),
        (broken(send=measurements("Myrinet").send[:5]), "different numbers of rounds"),
        (broken(base=[[1.0], [1, 2]]), "base is no table"),
        (broken(base=[["x"]]), "base is no table"),
        (broken(bursts={"1": {"first": [1.0], "later": [math.nan]}}), "bursts"),
        (broken(several={"100": {"x": [1.0]}}), "several"),
    ],
)
def test_nonsense_is_refused(measured: Measurements, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        fit(measured, 3)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "is no JSON file"),
        ("[]", "no file of omni model fit of this version"),
        ('{"schema": "omnipgas-model-0"}', "no file of omni model fit of this version"),
        ('{"schema": "omnipgas-model-1"}', "has no measurements"),
        ('{"schema": "omnipgas-model-1", "operations": {"send": {"measurements": {"x": 1}}}}', "no measurements"),
    ],
)
def test_files_that_are_none_are_refused(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "params.json"
    path.write_text(text)
    with pytest.raises(DataError, match=complaint):
        parameter_file.read_measurements(path)
    with pytest.raises(DataError, match="No such file"):
        parameter_file.read_measurements(tmp_path / "none")
