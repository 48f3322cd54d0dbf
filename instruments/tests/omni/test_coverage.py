# SPDX-License-Identifier: BSD-3-Clause
"""The table of coverage: which functions and conduits it has, what leaves a cell empty, and what is run for it."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from omnipgas_tools import CHECKOUT
from omnipgas_tools.targets import coverage
from omnipgas_tools.targets.coverage import CONDUITS, Counters, Coverage

ALL = ["self", "shm", "ofi", "ucx", "verbs", "mpi", "utofu", "mock"]


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

    def functions(self) -> set[str]:
        return self.found


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """A build with all conduits, of a checkout with this one's headers."""
    (tmp_path / "include").symlink_to(CHECKOUT / "include")
    tests = tmp_path / "bin" / "tests"
    tests.mkdir(parents=True)
    for conduit in ALL:
        (tests / f"conformance_{conduit}").touch()
    return tmp_path


def test_every_header_and_conduit_is_in_the_table(build: Path) -> None:
    names = coverage.exported(CHECKOUT / "include" / "omnipgas")
    assert {"ompl_put", "ompl_atomic64_nb", "ompl_wait_memory_all", "ompl_team_alloc", "ompl_halo_wait"} <= set(names)
    assert len(names) == len(set(names))
    counters = Fake(build, set(names) - {"ompl_abort", "ompl_job_exit", "ompl_call_nb"})
    found = coverage.table(counters, ALL)
    assert list(found.ran) == list(CONDUITS) == ALL
    assert found.empty_cells() == [("ompl_call_nb", conduit) for conduit in ALL]
    page = found.page()
    assert "| function | self | shm | ofi | ucx | verbs | mpi | utofu | mock |" in page
    assert "| `ompl_call_nb` |" + " **no** |" * 8 in page
    assert "| `ompl_put` |" + " ran |" * 8 in page


def test_what_ends_a_process_and_who_starts_none_have_reasons() -> None:
    found = Coverage(["ompl_init", "ompl_job_exit", "ompl_put"], {"shm": set(), "verbs": {"ompl_put"}})
    assert found.empty_cells() == [("ompl_init", "shm"), ("ompl_put", "shm")]


def test_a_conduit_that_is_not_here_is_left_out(build: Path) -> None:
    (build / "bin/tests/conformance_ucx").unlink()
    counters = Fake(build, set(), skipped="verbs")
    assert list(coverage.table(counters, ALL).ran) == [name for name in ALL if name not in ("ucx", "verbs")]
    assert counters.said == ["coverage: ucx is not in this build", "coverage: verbs is not on this machine"]


def test_what_is_run(build: Path) -> None:
    counters = Fake(build, set())
    coverage.table(counters, ["ofi", "utofu"])
    suite, job, tests = counters.commands
    assert suite == [str(build / "bin/tests/conformance_ofi"), "--gtest_brief=1"]
    assert job[1:3] == ["-n", "2"]
    assert job[-1] == "OMPL_CONDUITS=self,ofi"
    assert tests[:2] == ["ctest", "--test-dir"]
    assert tests[-2:] == ["-R", "^(conformance_utofu|utofu_job)$"]


def test_an_unknown_conduit_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        coverage.main(["--conduits", "shm,tofu"])
    assert "no conduit tofu" in capsys.readouterr().err
