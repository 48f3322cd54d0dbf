# SPDX-License-Identifier: BSD-3-Clause
"""The table of coverage: which functions and conduits it has, what leaves a cell empty, what is run for it, and what of
it is kept."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from omnipgas_tools import CHECKOUT
from omnipgas_tools.targets import coverage
from omnipgas_tools.targets.coverage import CONDUITS, Counters, Coverage, Part

ALL = ["self", "shm", "ofi", "ucx", "tcp", "psm2", "verbs", "Soft-RoCE", "mpi", "utofu", "mock"]
LINES = {"src/core/put.cpp": ({1, 2}, {1, 2, 3, 4}), "src/conduit/mock/link.cpp": (set[int](), {1})}


class Fake(Counters):
    """Runs nothing; finds that the functions of `found` ran."""

    def __init__(self, root: Path, found: set[str], skipped: str = "") -> None:
        self.said: list[str] = []
        super().__init__(root, self.said.append)
        self.build = root
        self.found, self.skipped = found, skipped
        self.commands: list[Sequence[str]] = []

    def run(self, what: str, command: Sequence[str], limit: float, **environment: str) -> str:
        self.commands.append([*command, *(f"{name}={value}" for name, value in environment.items())])
        return f"1 - {self.skipped} (Skipped)" if self.skipped and self.skipped in what else "passed"

    def read(self) -> Part:
        return Part(self.found, LINES)


def table(counters: Fake, conduits: Sequence[str]) -> Coverage:
    """What these conduits' runs leave."""
    coverage.run(counters, conduits)
    return coverage.table(counters)


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """A build with all conduits, of a checkout with this one's headers."""
    (tmp_path / "include").symlink_to(CHECKOUT / "include")
    tests = tmp_path / "bin" / "tests"
    tests.mkdir(parents=True)
    for conduit in ALL:
        (tests / (CONDUITS[conduit].program or f"conformance_{conduit}")).touch()
    return tmp_path


def test_every_header_and_conduit_is_in_the_table(build: Path) -> None:
    names = coverage.exported(CHECKOUT / "include" / "omnipgas")
    assert {"ompl_put", "ompl_atomic64_nb", "ompl_wait_memory_all", "ompl_team_alloc", "ompl_halo_wait"} <= set(names)
    assert len(names) == len(set(names))
    counters = Fake(build, set(names) - {"ompl_abort", "ompl_job_exit", "ompl_call_nb"})
    found = table(counters, ALL)
    assert list(found.ran) == list(CONDUITS) == ALL
    assert found.empty_cells() == [("ompl_call_nb", conduit) for conduit in ALL if conduit != "Soft-RoCE"]
    page = found.page()
    assert f"| function | {' | '.join(ALL)} |" in page
    assert "| `ompl_call_nb` |" + " **no** |" * 7 + " (3) |" + " **no** |" * 3 in page
    assert "| `ompl_put` |" + " ran |" * 11 in page


def test_what_ends_a_process_and_who_starts_none_have_reasons() -> None:
    found = Coverage(["ompl_init", "ompl_job_exit", "ompl_put"], {"shm": set(), "verbs": {"ompl_put"}})
    assert found.empty_cells() == [("ompl_init", "shm"), ("ompl_put", "shm")]


def test_a_conduit_that_is_not_here_is_left_out(build: Path) -> None:
    (build / "bin/tests/conformance_ucx").unlink()
    counters = Fake(build, set(), skipped="psm2")
    assert list(table(counters, ALL).ran) == [name for name in ALL if name not in ("ucx", "psm2")]
    assert counters.said == ["coverage: ucx is not in this build", "coverage: psm2 is not on this machine"]


def test_what_is_run(build: Path) -> None:
    counters = Fake(build, set())
    coverage.run(counters, ["ofi", "Soft-RoCE"])
    suite, job, tests = counters.commands
    assert suite[:2] == ["ctest", "--test-dir"]
    assert suite[-2:] == ["-R", "^conformance_ofi$"]
    assert job[1:3] == ["-n", "2"]
    assert job[-1] == "OMPL_CONDUITS=self,ofi"
    assert tests[0] == str(build / "bin/tests/conformance_verbs")
    assert "--gtest_filter=verbs/Conformance.Calls_*:verbs/Conformance.Packing_*" in tests[2]
    assert tests[-1] == f"LD_LIBRARY_PATH={build}/tests/conduits/verbs/stub"


def test_conduits_run_one_after_the_other_make_one_table(build: Path) -> None:
    table(Fake(build, {"ompl_put"}), ["shm"])
    found = table(Fake(build, {"ompl_get"}), ["mock"])
    assert found.ran == {"shm": {"ompl_put"}, "mock": {"ompl_get"}}
    again = table(Fake(build, {"ompl_put", "ompl_get"}), ["shm"])
    assert again.ran == {"shm": {"ompl_put", "ompl_get"}, "mock": {"ompl_get"}}


def test_an_interrupted_run_keeps_what_was_done(build: Path) -> None:
    class Interrupted(Fake):
        def read(self) -> Part:
            if "conformance_mock" in self.commands[-1][-1]:
                raise KeyboardInterrupt
            return super().read()

    with pytest.raises(KeyboardInterrupt):
        coverage.run(Interrupted(build, {"ompl_put"}), ["self", "mock"])
    assert coverage.table(Fake(build, set())).ran == {"self": {"ompl_put"}}


def test_lines_are_those_that_any_part_ran() -> None:
    found = Coverage([])
    found.add_lines([Part(set(), LINES), Part(set(), {"src/core/put.cpp": ({2, 3}, {1, 2, 3, 4})})])
    assert found.lines == {"core": (3, 4)}
    assert "75.0 % of all lines (the mock left out), by the conduits' tests above" in found.page()


def test_functions_that_were_noted_have_no_lines(build: Path) -> None:
    counters = Fake(build, set())
    Part({"ompl_put"}, {}, noted=True).write(counters.part("shm"))
    found = coverage.table(counters)
    assert found.ran == {"shm": {"ompl_put"}}
    page = found.page()
    assert "Over shm the functions were noted by a trampoline" in page
    assert "## Lines" not in page


def test_reports_of_gcovr_are_read() -> None:
    functions = [{"name": "ompl_put", "execution_count": 2}, {"name": "ompl_get", "execution_count": 0}]
    lines = [{"line_number": 1, "count": 3}, {"line_number": 2, "count": 0},
             {"line_number": 3, "count": 0, "gcovr/noncode": True}]  # fmt: skip
    part = Part.of({"files": [{"file": "src/api/ompl.cpp", "functions": functions, "lines": lines}]})
    assert part == Part({"ompl_put"}, {"src/api/ompl.cpp": ({1}, {1, 2})})


def test_an_unknown_conduit_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        coverage.main(["--conduits", "shm,tofu"])
    assert "no conduit tofu" in capsys.readouterr().err
