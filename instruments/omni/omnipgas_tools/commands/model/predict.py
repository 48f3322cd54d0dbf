# SPDX-License-Identifier: BSD-3-Clause
"""omni model predict: the time a traced program would take on a machine, and where it goes."""

from typing import Optional

import typer

from omnipgas_tools.measure import results
from omnipgas_tools.model import options
from omnipgas_tools.model import predict as model_predict
from omnipgas_tools.model.program import ModelError
from omnipgas_tools.options import check_writable, failing, seed

SENSITIVITY = typer.Option(
    True, "--sensitivity/--no-sensitivity", help="Whether the critical path and derivatives are computed."
)
SCALE = typer.Option(1.0, "--compute-scale", min=0, help="Factor of all computation.")
NOISE = typer.Option(0.0, "--noise", min=0, help="Mean part by which computation takes longer; 0.1 is 10 percent.")
SEED = seed(1, "the noise")


def predict(
    trace: str = options.INPUT,
    params: str = options.PARAMS,
    model: str = options.MODEL,
    json: Optional[str] = options.JSON,
    sharing: bool = options.SHARING,
    sensitivity: bool = SENSITIVITY,
    compute_scale: float = SCALE,
    noise: float = NOISE,
    seed: int = SEED,
    eager_buffer: int = options.BUFFER,
    jobs: Optional[int] = options.JOBS,
    threads: Optional[int] = options.THREADS,
) -> None:
    """Replays a trace under a model: predicted seconds, and where they go."""
    check_writable(json, "--json")
    noisy = {"compute_scale": compute_scale, "noise": noise, "seed": seed}
    replay = options.replay_options(sharing, eager_buffer, jobs, threads, **noisy)
    replay += [] if sensitivity else ["--no-sensitivity"]
    with failing(ModelError):
        result = model_predict.run(trace, params, model, replay)
        if json:
            results.write(json, result)
    model_predict.show(options.answers(json), result)
