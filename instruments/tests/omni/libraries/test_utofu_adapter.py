# SPDX-License-Identifier: BSD-3-Clause
"""The adapter of uTofu, compiled against the emulator of the tests and run over it: what it moves is verified."""

from pathlib import Path

import pytest
from omnipgas_tools.libraries import catalog
from omnipgas_tools.libraries.state import state_of
from omnipgas_tools.measure import memory, runner
from omnipgas_tools.measure.rounds import Limits
from omnipgas_tools.measure.runner import Contender

from ..common import built, children, compiled_against

SHORT = Limits(rounds=1, min_rounds=1, seconds=0.002, timeout=60)
SIZES = [4, 32, 33, 4096]  # on both sides of what travels in a command
THREADS = 2


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A build folder with the adapter alone; ranks are nodes of one emulated machine."""
    emulator = built("raw").worker.parents[1] / "tests/conduits/utofu"
    if not (emulator / "lib" / "libtofucom.so").exists():
        pytest.skip("the emulator of uTofu is not built")
    monkeypatch.setenv("UTOFU_EMULATOR_FABRIC", str(tmp_path / "fabric"))
    return compiled_against("utofu", emulator, tmp_path, monkeypatch)


def test_the_adapter_moves_verified_data_and_says_that_it_never_met_hardware(build: Path) -> None:
    library = catalog.table(build)["utofu"]
    state = state_of(library, build, run=True)
    assert state.version.startswith("uTofu "), state.remark
    assert "never run on hardware" in state.transport
    found = catalog.find(library, build)
    for bench, ops in {"pingpong": ["put"], "rate": library.ops}.items():
        out = runner.run_interleaved(bench, [Contender(found, op) for op in ops], [THREADS], SIZES, SHORT)
        assert [(c.status, c.reason) for c in out.cells] == [("ok", "")] * len(ops) * len(SIZES)
    assert not children()


def test_every_rank_has_a_word_from_every_other_one(build: Path) -> None:
    found = memory.find(catalog.table(build)["utofu"], build)
    for job in memory.alike(found, THREADS, [2, 3]):
        seen = memory.measure(job, THREADS)  # fails if one has not
        assert "never run on hardware" in seen.transport
        assert seen.memory > 0
    assert not children()
