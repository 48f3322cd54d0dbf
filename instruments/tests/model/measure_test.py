# SPDX-License-Identifier: BSD-3-Clause
"""Measuring and fitting end to end, over each MPI that is there and over this layer: what is written, not how fast it
was. And workers that misbehave."""

import json
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from omni.common import built, children, mock, need_hosts
from omnipgas_tools.cli import app
from omnipgas_tools.libraries import catalog
from omnipgas_tools.measure import network
from omnipgas_tools.measure.rounds import Progress
from omnipgas_tools.measure.worker import Message, Worker, WorkerError
from omnipgas_tools.model.fit import machine, parameter_file
from omnipgas_tools.model.fit.equations import LOGGPS
from omnipgas_tools.model.fit.fitting import fit
from omnipgas_tools.model.fit.measure import STARTS, Outcome, Plan, _Campaign, measure
from omnipgas_tools.model.fit.measurements import DataError
from typer.testing import CliRunner

from .fit_test import replayed

SHORT = Plan(largest=32768, per_octave=0.5, around=(), rounds=3, launches=1, seconds=0.0002)
# Of waiting ranks on crowded cores, which the tests may have.
YIELDING = {"OMPI_MCA_mpi_yield_when_idle": "1", "I_MPI_WAIT_MODE": "1"}
MPIS = os.environ.get("OMPL_TEST_MPIS", "mpich,openmpi,intel,mpich-debian,openmpi-debian").split(",")


@pytest.fixture(autouse=True)
def yielding(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in YIELDING.items():
        monkeypatch.setenv(name, value)


def library(name: str) -> catalog.Found:
    """As the command takes it, or a skip."""
    try:
        return machine.chosen(built(name, "roundtrip"), None, None)
    except catalog.MissingError as missing:
        pytest.skip(f"{name}: {missing}")


def measured(name: str, operation: str) -> Outcome:
    return measure(library(name), operation, SHORT, Progress())


def check(outcome: Outcome) -> None:
    """All was measured, and the parameters are numbers from 0 on with their intervals."""
    m = outcome.measurements.check()
    assert len(m.base) == len(m.hidden) == SHORT.rounds
    found = fit(m, 5)
    for name in LOGGPS.names:
        one = found.values["loggps"][name]
        assert 0 <= one.low <= one.value <= one.high < math.inf
    assert LOGGPS.predict(found.parameters(LOGGPS), m.lengths[0], *found.lengths.pair, work=0) > 0
    assert all(math.isfinite(error["worst"]) for error in found.errors.values())


@pytest.mark.parametrize("name", MPIS)
def test_an_mpi_is_measured_and_fitted(name: str) -> None:
    outcome = measured(name, "send")
    check(outcome)
    m = outcome.measurements
    assert (m.lengths[0], m.lengths[-1]) == (1, SHORT.largest)
    assert m.several and m.bursts
    assert m.waiting, "whether sends wait was not looked at"
    if m.eager_up_to is not None:
        assert {m.eager_up_to, m.eager_up_to + 1} <= set(m.lengths)
        assert not m.waiting[str(m.eager_up_to)] and m.waiting[str(m.eager_up_to + 1)]


def test_a_start_in_which_nothing_can_be_told_is_not_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    name = MPIS[0]
    searches: list[Worker] = []
    find = _Campaign.find_S

    def find_later(campaign: _Campaign, worker: Worker, low: int, polls: bool) -> int | None:
        searches.append(worker)
        if len({id(one) for one in searches}) < STARTS:
            raise DataError("nothing can be told")
        return find(campaign, worker, low, polls)

    monkeypatch.setattr(_Campaign, "find_S", find_later)
    check(measured(name, "send"))
    searches[:] = []
    monkeypatch.setattr(f"{measure.__module__}.STARTS", STARTS - 1)
    with pytest.raises(DataError, match="nothing can be told"):
        measured(name, "send")


def test_the_fresh_ping_pong_is_of_starts_of_its_own_between_those_of_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []

    class Watched(Worker):
        def __init__(self, *how: Any) -> None:
            super().__init__(*how)
            self.asked: list[str] = []
            seen.append(self.asked)

        def roundtrip(
            self, op: str, size: int, iterations: int, work: float, limit: float, **more: bool
        ) -> dict[int, Message]:
            self.asked.append(str(size))
            return super().roundtrip(op, size, iterations, work, limit, **more)

    monkeypatch.setattr(f"{measure.__module__}.Worker", Watched)
    plan = replace(SHORT, launches=2, rounds=4)
    m = measure(library("ompl"), "put", plan, Progress()).measurements
    later = seen[1:]  # behind the exploration
    assert len(later) == 2 * plan.launches
    assert m.fresh and not set(m.fresh) & set(map(str, m.lengths))
    for fitted, fresh in zip(later[::2], later[1::2], strict=True):
        assert set(fitted) <= set(map(str, m.lengths))
        assert set(fresh) == set(m.fresh)


@pytest.mark.parametrize("operation", ["put", "get", "word"])
def test_this_layer_is_measured_and_fitted(operation: str) -> None:
    outcome = measured("ompl", operation)
    check(outcome)
    m = outcome.measurements
    assert m.eager_up_to is None and not m.waiting
    assert (m.lengths == [0]) == (operation == "word")


LIMITS = {
    "mpich": {"MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD": "12288", "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE": "16384"},
    "openmpi": {"OMPI_MCA_btl_sm_eager_limit": "16384"},
    "intel": {"FI_OFI_RXM_BUFFER_SIZE": "8192", "I_MPI_FABRICS": "ofi"},
}


@pytest.mark.parametrize("name", [name for name in LIMITS if name in MPIS])
def test_sends_wait_from_where_the_library_was_told(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The first of its settings is the limit; a header may count. On starved cores a rank may be kept from its
    neighbour's messages for a whole search: one of three must find the limit, which none does by chance."""
    settings = LIMITS[name]
    for variable, value in settings.items():
        monkeypatch.setenv(variable, value)
    seen = []
    for _ in range(3):
        outcome = measured(name, "send")
        limits = parameter_file.limits(outcome.hello["details"], parameter_file.environment())
        seen.append(outcome.measurements.unmatched_up_to)
        if next(iter(settings)) in parameter_file.agreeing(seen[-1], limits):
            return
    pytest.fail(f"{seen}, but the settings are {limits}")


@pytest.mark.long
def test_the_command_writes_what_it_can_read_again(tmp_path: Path) -> None:
    library("ompl")
    first, second, plot = tmp_path / "one.json", tmp_path / "two.json", tmp_path / "figure.svg"
    base = ["model", "fit"]
    few = ["--rounds", "3", "--largest", "4096", "--quick"]
    done = CliRunner().invoke(app, [*base, "--mpi", "ompl", *few, "-o", str(first), "--plot", str(plot)])
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figure-get.svg", "figure-put.svg", "one.json"]
    content = json.loads(first.read_text())
    assert content["schema"] == "omnipgas-model-1" and set(content["operations"]) == {"put", "get", "put_word"}
    assert content["models"] == content["operations"]["put"]["models"]
    assert set(content["models"]) == {"loggps", "loggp-1", "loggp-2", "loggops", "curve"}
    assert content["library"]["version"] and content["host"]["cores"] and content["command"]["launch"]
    again = CliRunner().invoke(app, [*base, "--from", str(first), "-o", str(second)])
    assert again.exit_code == 0, again.output
    same: Any = json.loads(second.read_text())
    assert {k: v["value"] for k, v in same["models"]["loggps"].items()} == pytest.approx(
        {k: v["value"] for k, v in content["models"]["loggps"].items()}, rel=0.05, abs=1
    )
    for model in content["models"]:
        assert replayed(first, model, 1000, 0) > 0


@pytest.mark.long
def test_two_hosts_and_a_slow_link() -> None:
    """128 KiB there and back over 100 Mbit/s: what is beyond the 64 KiB that may go at once takes 10.4 ms."""
    need_hosts()
    found = built("openmpi", "roundtrip")
    plan = Plan(smallest=1 << 9, largest=1 << 17, per_octave=1, around=(), rounds=3, launches=1, seconds=0.0002)
    with network.two_hosts(100) as hosts:
        outcome = measure(network.on_hosts(found, hosts), "send", plan, Progress())
    assert min(row[-1] for row in outcome.measurements.base) > 10.4e6


# ---- what goes wrong


@pytest.mark.parametrize(
    ("mode", "complaint"),
    [("hang", "no answer within 1 s"), ("crash", "rank 1 ended"), ("corrupt", "byte 8 of 64 differs")],
)
def test_a_worker_that_misbehaves_is_named(mode: str, complaint: str) -> None:
    with pytest.raises(WorkerError, match=complaint):
        measure(mock(mode), "send", Plan(timeout=1), Progress())
    assert not children()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "either --mpi or --from"),
        (["--mpi", "mpi"], "no such library"),
        (["--mpi", "mpich", "--from", "x"], "either --mpi or --from"),
        (["--mpi", "mpich", "--over", "tcp"], "is for ompl"),
        (["--mpi", "ompl", "--over", "pigeon"], "there are sockets, tcp"),
        (["--mpi", "mpich", "--rate", "5"], "--hosts 2"),
        (["--mpi", "mpich", "--plot", "x.txt"], "must end in .png or .svg"),
        (["--from", "/nowhere"], "No such file"),
    ],
)
def test_bad_arguments_are_refused_in_a_line(tmp_path: Path, arguments: list[str], complaint: str) -> None:
    if {"mpich", "ompl"} & set(arguments):
        library("mpich" if "mpich" in arguments else "ompl")
    done = CliRunner().invoke(app, ["model", "fit", "-o", str(tmp_path / "x.json"), *arguments], env={"COLUMNS": "200"})
    assert done.exit_code != 0 and complaint in " ".join(done.output.split()), done.output
    assert not list(tmp_path.iterdir())
