# SPDX-License-Identifier: BSD-3-Clause
"""What messages of this layer cost on a machine, taken from what `omni model fit` has found, for the tuner's table.

The tuner orders algorithms by their LogGP cost. Of the fitted models LogGOPS has all of LogGP's terms, and a message of
k bytes takes L + 2 o + (k - 1) (O + G) there (Hoefler, Schneider, Lumsdaine 2010): so a byte costs O + G.
"""

import math
from pathlib import Path
from typing import Any

from omnipgas_tools.model.fit import parameter_file
from omnipgas_tools.model.fit.measurements import DataError

NODE, NETWORK = "node", "network"  # as the table names them
LAYER, MEMORY = "ompl", "shared memory"  # as the file does
UNITS = {"L": "ns", "o": "ns", "g": "ns", "O": "ns/byte", "G": "ns/byte"}


def read(path: Path) -> tuple[str, dict[str, float]]:
    """Where messages went, NODE or NETWORK, and the terms L, o, g (ns) and G (ns/byte); raises DataError."""
    content = parameter_file.read(path)
    try:
        library, put = content["library"], content["operations"].get("put")
        if library["name"] != LAYER or put is None:
            raise DataError(
                f"{path} is of {library['name']}; collectives send by this layer: omni model fit --mpi {LAYER} -o FILE"
            )
        terms = {name: _term(put["models"]["loggops"], name) for name in UNITS}
        where = NODE if library["transport"] == MEMORY else NETWORK
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path} is damaged: {error!r}") from error
    if terms["L"] + terms["o"] <= 0:
        raise DataError(f"{path} says that messages take no time: measure again, with more rounds")
    return where, {name: terms[name] for name in ("L", "o", "g")} | {"G": terms["O"] + terms["G"]}


def _term(model: dict[str, Any], name: str) -> float:
    value, unit = model[name]["value"], model[name]["unit"]
    if unit != UNITS[name] or not isinstance(value, int | float) or not (math.isfinite(value) and value >= 0):
        raise DataError(f"{name} must be a number from 0 on, in {UNITS[name]}, not {value} {unit}")
    return float(value)
