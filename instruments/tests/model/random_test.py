# SPDX-License-Identifier: BSD-3-Clause
"""Random programs: the replayer equals the reference, and its derivatives equal finite differences."""

import os
import random
from collections.abc import Callable
from typing import Any

import pytest

from . import common, reference

CASES = int(os.environ.get("OMPL_TEST_CASES", "200"))
EXACT = 1e-9
MODELS: dict[str, Callable[[random.Random], dict[str, float]]] = {
    "loggps": common.random_loggps,
    "loggp-2": common.random_loggp2,
    "loggops": common.random_loggops,
}
PARTS = ("compute", "overhead", "send_wait", "recv_wait")


def make(model: str, seed: int, any_source: bool, branches: float = 0) -> tuple[dict[str, Any], dict[str, float]]:
    draw = random.Random(f"{model} {seed} {any_source}")
    p = MODELS[model](draw)
    case = {
        "params": common.parameter_file(model, p),
        "model": model,
        # In LogGOPS two branches of a rank may send at one instant, and which message is first in the queue is open.
        "sharing": draw.random() < 0.8 and not (branches and model == "loggops"),
        "buffer": 0 if draw.random() < 0.7 else draw.randint(1, 6000),
        "programs": common.ProgramMaker(draw, any_source, branches).programs,
    }
    return case, p


def expect(case: dict[str, Any], p: dict[str, float]) -> reference.World | None:
    try:
        return reference.World(
            case["programs"], case["model"], p, case["sharing"], case["buffer"], case.get("threads", [])
        )
    except reference.Deadlock:
        return None


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("any_source", [False, True])
@pytest.mark.parametrize("branches", [0, 0.3])
def test_random_programs_take_the_time_of_the_reference(model: str, any_source: bool, branches: float) -> None:
    cases = [make(model, seed, any_source, branches) for seed in range(CASES)]
    rendezvous = blocked = 0
    for seed, ((case, p), found) in enumerate(zip(cases, common.replay([case for case, _ in cases]), strict=True)):
        world = expect(case, p)
        if world is None:
            assert "deadlock" in found, seed
            blocked += 1
            continue
        assert "predicted_seconds" in found, (seed, found)
        rendezvous += found["rendezvous"]
        end = max(rank.end for rank in world.ranks)
        assert found["predicted_seconds"] * 1e9 == pytest.approx(end, rel=EXACT, abs=1e-9), seed
        for rank, row in zip(world.ranks, found["per_rank"], strict=True):
            for part in PARTS:
                assert row[part] * 1e9 == pytest.approx(getattr(rank, part), rel=EXACT, abs=EXACT * end), (seed, part)
            assert sum(row[part] for part in PARTS) * 1e9 == pytest.approx(rank.end, rel=EXACT), seed
    assert rendezvous > CASES  # and not eager messages alone
    assert blocked == 0 if not any_source else blocked < CASES / 2


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("any_source", [False, True])
@pytest.mark.parametrize("branches", [0, 0.3])
def test_several_threads_say_what_one_says(model: str, any_source: bool, branches: float) -> None:
    cases = [make(model, seed, any_source, branches)[0] for seed in range(CASES // 2)]
    one = common.replay(cases)
    assert all(found.pop("threads", 1) == 1 for found in one)
    most = 1
    for cores in (2, 3, 8):
        several = common.replay([case | {"cores": cores} for case in cases])
        most = max(most, *(found.pop("threads", 1) for found in several))
        assert several == one, cores
    assert most > 1 if model != "loggops" else most == 1  # which needs one order of time


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("branches", [0, 0.3])
def test_derivatives_are_those_of_finite_differences(model: str, branches: float) -> None:
    cases, checks = [], []
    for seed in range(40):
        case, p = make(model, seed, False, branches)
        names = [name for name in p if name not in ("s", "S") and p[name] > 0]
        cases.append(case)
        for name in names:
            for factor in (1 - 1e-5, 1 + 1e-5):
                cases.append(case | {"params": common.parameter_file(model, p | {name: p[name] * factor})})
        checks.append((p, names))
    found = iter(common.replay(cases))
    compared = 0
    for p, names in checks:
        middle = next(found)
        time, slopes = middle["predicted_seconds"] * 1e9, middle["sensitivity"]
        whole = sum(slopes[name] * value for name, value in p.items() if name in names) + slopes["compute"] * 1e9
        assert whole == pytest.approx(time, rel=EXACT)  # the time is made of nothing else
        for name in names:
            step = p[name] * 1e-5
            below, above = (next(found)["predicted_seconds"] * 1e9 for _ in range(2))
            left, right = (time - below) / step, (above - time) / step
            tolerance = 1e-5 * abs(time) / p[name]
            if abs(left - right) < 0.01 * tolerance:  # no kink nearby
                assert slopes[name] == pytest.approx((left + right) / 2, rel=1e-4, abs=tolerance), name
                compared += 1
    assert compared > 100


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("any_source", [False, True])
@pytest.mark.parametrize("branches", [0, 0.3])
def test_threads_take_the_time_of_the_reference(model: str, any_source: bool, branches: float) -> None:
    cases, makers = [], []
    for seed in range(CASES // 2):
        case, p = make(model, seed, any_source, branches)
        maker = common.ThreadsMaker(random.Random(f"threads {model} {seed}"), any_source, branches)
        if model == "loggops":  # receives are posted in no time: several messages may leave the buffer at one instant
            case["buffer"] = 0
        cases.append((case | {"programs": maker.first, "threads": maker.further}, p))
        makers.append(maker)
    blocked = 0
    found = common.replay([case for case, _ in cases])
    for seed, ((case, p), maker, result) in enumerate(zip(cases, makers, found, strict=True)):
        world = expect(case, p)
        if world is None:
            assert "deadlock" in result, seed
            blocked += 1
            continue
        assert "predicted_seconds" in result, (seed, result)
        end = max(thread.end for thread in world.threads)
        assert result["predicted_seconds"] * 1e9 == pytest.approx(end, rel=EXACT, abs=1e-9), seed
        slopes = result["sensitivity"]
        made_of = sum(slopes[name] * value for name, value in p.items() if name not in ("s", "S"))
        assert made_of + slopes["compute"] * 1e9 == pytest.approx(end, rel=EXACT), seed
        # In both the threads of a rank are in their order.
        owners = [*range(len(maker.first)), *(rank for rank, _ in maker.further)]
        order = sorted(range(len(owners)), key=lambda thread: owners[thread])
        sums = [dict.fromkeys(PARTS, 0.0) for _ in maker.first]
        for thread, row in zip(order, result.get("per_thread", result["per_rank"]), strict=True):
            for part in PARTS:
                time = getattr(world.threads[thread], part)
                assert row[part] * 1e9 == pytest.approx(time, rel=EXACT, abs=EXACT * end), (seed, thread, part)
                sums[owners[thread]][part] += row[part]
            assert sum(row[part] for part in PARTS) * 1e9 == pytest.approx(world.threads[thread].end, rel=EXACT), seed
        for rank, row in enumerate(result["per_rank"]):
            assert row == pytest.approx(sums[rank], rel=EXACT), seed
    assert sum(maker.handed for maker in makers) > CASES / 2
    assert blocked < len(cases) * (0.75 if any_source else 0.5)
