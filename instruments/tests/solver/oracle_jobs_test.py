# SPDX-License-Identifier: BSD-3-Clause
"""The 27-point problem on 100^3, b = A * ones, on which five code bases agree, by jobs of ompl_cg."""

import pytest

from . import jobs

SECONDS = 300  # of a job, beside others
CASES = [
    *((ranks, ()) for ranks in (1, 2, 3, 4, 7, 8)),
    *((2, ("--strategy", strategy)) for strategy in ("single", "acked", "auto")),
    *((4, ("--partition", partition)) for partition in ("entries", "kway", "recursive", "blocks")),
    *((ranks, ("--format", "sell", "--threads", 2)) for ranks in (1, 2, 3)),
    (8, ("--format", "sell", "--partition", "kway", "--strategy", "acked")),
]


@pytest.mark.parametrize(("ranks", "options"), CASES)
def test_oracle(ranks: int, options: tuple[object, ...]) -> None:
    result = jobs.solved(ranks, "cg", "--generate", "27pt:100", *options, limit=SECONDS)
    assert result["entries"] == 26463592
    assert result["iterations"] == 135
    assert result["history"][20] == pytest.approx(4.59e-2, abs=0.005e-2)
    assert result["history"][100] == pytest.approx(1.82e-5, abs=0.005e-5)
    assert result["relative_residual"] == pytest.approx(8.63e-9, abs=0.005e-9)
    assert result["true_relative_residual"] == pytest.approx(8.63e-9, abs=0.01e-9)
