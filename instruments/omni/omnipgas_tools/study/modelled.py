# SPDX-License-Identifier: BSD-3-Clause
"""Iterations at any number of parts, modelled: computation as measured of one rank, messages by LogGPS."""

import statistics
import tempfile
from pathlib import Path

from omnipgas_tools.model import predict
from omnipgas_tools.solver import jobs as solver
from omnipgas_tools.solver import partition
from omnipgas_tools.study.plan import BASE, Plan
from omnipgas_tools.study.schedule import Compute, Part, goal

COUNTS = (5, 15)  # iterations; what counts is the difference, in the steady state
ENTRIES_MEASURED = 3e8  # by a run, about
RUNS = 3


def compute_at(rows: float, plan: Plan) -> dict[str, float]:
    """Members of schedule.Compute, of a rank of so many rows: CG on a cube of the 27-point problem, alone here."""
    side = max(2, round(rows ** (1 / 3)))
    iterations = int(min(100, max(10, ENTRIES_MEASURED / (27 * side**3))))
    line = ["cg", f"--generate=27pt:{side}", "--tol=0", f"--max-iterations={iterations}"]
    found = [solver.result_of(line, 1, None, plan.timeout) for _ in range(RUNS)]
    return {
        "entry": statistics.median(1e9 * one["split"]["product"] / one["entries"] for one in found),
        "row": statistics.median(1e9 * one["split"]["vectors"] / one["rows"] for one in found),
    }


def seconds(
    cost: partition.Cost, strategy: str, work: str, compute: Compute, params: dict[str, str], plan: Plan
) -> float:
    """Of an iteration. MPI's messages, those of its reductions too, cost what `params` says of the MPI, the others'
    what it says of `ompl`."""
    parts = [Part(*one) for one in cost["each"]]
    file = params[plan.mpi if strategy == BASE else "ompl"]
    options = ["--no-sensitivity", f"--noise={plan.noise}", f"--seed={plan.seed}"]
    times = []
    pattern = partition.pattern(cost)
    with tempfile.TemporaryDirectory(prefix="omni-study-") as folder:
        for count in COUNTS:
            path = Path(folder, "iterations.goal")
            path.write_text(goal(pattern, parts, strategy, work, compute, plan.reset_ns, count))
            times.append(float(predict.run(str(path), file, "loggps", options)["predicted_seconds"]))
    return (times[1] - times[0]) / (COUNTS[1] - COUNTS[0])
