# SPDX-License-Identifier: BSD-3-Clause
"""omni model trace of collectives of this layer, and of a coarray program: what is recorded, and its prediction."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import commands
import pytest
from commands import BUILD, predict

COARRAYS = """program traced
  use, intrinsic :: iso_fortran_env, only: event_type
  implicit none
  type(event_type) :: ready[*]
  real(8) :: x(1000)[*], some(1000), many(8000)
  integer :: me, other, total, odd(400), i
  me = this_image()
  other = 3 - me
  x = me
  some = 10 * me
  sync all
  if (me == 1) then
    x(:)[2] = some
    event post (ready[2])
  else
    event wait (ready)
    if (any(abs(x - 10) > 0)) error stop 1
  end if
  sync all
  odd = [(2 * i - 1, i = 400, 1, -1)]
  if (me == 1) then
    some = x(:)[2]
    some(1:500) = x(1:999:2)[2]
    some(1:400) = x(odd)[2]
    x(odd)[2] = some(1:400)
  end if
  sync images (other)
  total = me
  call co_sum(total)
  many = me
  call co_sum(many)
  if (total /= 3 .or. any(abs(many - 3) > 0) .or. any(abs(some - 10) > 0) .and. me == 1) error stop 2
end program
"""


def traced(out: Path, *command: str | Path) -> dict[int, list[dict[str, Any]]]:
    """The calls of each rank of a program that was traced without a warning, without the tracer's own time."""
    done = commands.omni("model", "trace", "-o", out, "--", *command)
    assert done.returncode == 0, done.stdout + done.stderr
    dumped = commands.run(BUILD / "bin/ompl_trace_dump", out, check=True).stdout
    lines = [json.loads(line) for line in dumped.splitlines()]
    calls: dict[int, list[dict[str, Any]]] = {}
    for line in lines:
        if line.get("call", "Tracer") not in ("Tracer", "OmplProgress"):
            calls.setdefault(line["rank"], []).append(line)
    return calls


@pytest.fixture(scope="module")
def collectives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[int, list[dict[str, Any]]]]:
    out = tmp_path_factory.mktemp("collectives") / "out"
    return out, traced(out, BUILD / "bin/omplrun", "-n", "3", BUILD / "bin/tests/trace_own_collectives")


def test_collectives_are_recorded_as_those_of_mpi(collectives: tuple[Path, dict[int, list[dict[str, Any]]]]) -> None:
    _, calls = collectives
    expected = [
        ("OmplBarrier", 0), ("Barrier", 0), ("Bcast", 100), ("Reduce", 80), ("Allgather", 16), ("Allgatherv", 16),
        ("Gatherv", 16), ("Scatterv", 0), ("Alltoall", 8), ("Scan", 80), ("Iallreduce", 80), ("Wait", 0),
        ("Ibcast", 32), ("Ibcast", 64), ("Waitall", 2),
    ]  # fmt: skip
    tests = ("Init", "Finalize", "Test")
    found = [(call["call"], call["bytes"]) for call in calls[1] if call["call"] not in tests]
    assert found == expected
    by_name = {call["call"]: call for call in calls[1]}
    assert by_name["Bcast"]["peer"] == 1
    assert by_name["Allgatherv"]["received"] == [8, 16, 24]
    assert "received" not in by_name["Gatherv"]
    assert next(call for call in calls[0] if call["call"] == "Gatherv")["received"] == [8, 16, 24]
    assert next(call for call in calls[0] if call["call"] == "Scatterv")["sent"] == [8, 16, 24]
    assert by_name["Wait"]["request"] == by_name["Iallreduce"]["request"] != 0
    posted = [call["request"] for call in calls[1] if call["call"] == "Ibcast"]
    assert by_name["Waitall"]["ids"] == posted


def test_a_team_is_a_communicator(collectives: tuple[Path, dict[int, list[dict[str, Any]]]]) -> None:
    out, calls = collectives
    of_team = [call for call in calls[2] if call["call"] in ("CommCreateGroup", "Allreduce", "CommFree")]
    assert [call["call"] for call in of_team] == ["CommCreateGroup", "Allreduce", "CommFree"]
    assert of_team[0]["request"] == of_team[1]["comm"] == of_team[2]["comm"] == 2
    found = predict(out)
    assert found["unmatched_count"] == 0
    assert set(found["not_modelled"]) == {"CommCreateGroup", "CommFree", "Opaque"}


@pytest.mark.skipif(not (BUILD / "bin/caf").exists(), reason="this build has no coarrays")
def test_a_coarray_program_is_traced_and_predicted(tmp_path: Path) -> None:
    """What would be copies in memory are calls in a traced program; meetings, events and co_sum are messages."""
    source, program = tmp_path / "traced.f90", tmp_path / "traced"
    source.write_text(COARRAYS)
    commands.run(BUILD / "bin/caf", "-w", source, "-o", program, check=True)
    calls = traced(tmp_path / "out", BUILD / "bin/cafrun", "-n", "2", program)
    put = [call for call in calls[0] if call["call"] == "OmplPut" and call["bytes"] == 8000]
    assert [call["peer"] for call in put] == [1]
    following = calls[0][calls[0].index(put[0]) + 1]
    assert (following["call"], following["peer"]) == ("OmplSignal", 1)
    assert [call["peer"] for call in calls[0] if call["call"] == "OmplGet" and call["bytes"] == 8000] == [1]
    # Sections and vector subscripts are one call each, which the layer packs over a network.
    apart = [(call["call"], call["bytes"]) for call in calls[0] if call["call"].endswith(("Strided", "Indexed"))]
    assert apart == [("OmplGetStrided", 4000), ("OmplGetIndexed", 3200), ("OmplPutIndexed", 3200)]
    functions = Counter(word["function"] for call in calls[1] for word in call.get("words", []))
    assert functions[7] == 1  # takes the event
    for rank in (0, 1):
        sums = [call for call in calls[rank] if call["call"] == "Iallreduce"]
        assert [call["bytes"] for call in sums] == [64000]
        assert sums[0]["request"] in [call["request"] for call in calls[rank] if call["call"] == "Wait"]
    found = predict(tmp_path / "out")
    assert found["unmatched_count"] == 0
    assert set(found["not_modelled"]) <= {"OmplLocalAlloc", "OmplLocalFree"}
    assert found["predicted_seconds"] > 0
