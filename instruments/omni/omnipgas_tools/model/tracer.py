# SPDX-License-Identifier: BSD-3-Clause
"""An interposer and what is known of it. Standard library only: the build uses it."""

import json
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from omnipgas_tools import files

LIBRARY = re.compile(r"libmpi(?:ch|_abi)?\.so\.\d+")  # of MPICH, Intel MPI, Open MPI, and the standard's interface
OWN = re.compile(r"libomnipgas\.so\.\d+")  # of programs of this layer


@dataclass(frozen=True)
class Tracer:
    """An interposer: the MPI that it was compiled for."""

    name: str  # row of peers.toml; -abi: its form with the standard's interface
    library: str  # what its programs load: libmpi.so.12
    prefix: str  # where that MPI is installed; empty: with the system
    path: str  # of the interposer; in its file perhaps relative to it

    def environment(self, out: Path) -> dict[str, str]:
        """All variables under which a launcher's ranks leave a trace in a folder that is there."""
        return {**os.environ, **self.preload(out)}

    def preload(self, out: Path) -> dict[str, str]:
        """Those that are added for it."""
        others = os.environ.get("LD_PRELOAD")
        preload = f"{self.path}:{others}" if others else self.path
        return {"LD_PRELOAD": preload, "OMPL_TRACE_DIR": str(out.absolute())}

    def write(self) -> None:
        """Leaves this beside the interposer."""
        files.write(Path(self.path).with_suffix(".json"), json.dumps(asdict(self), indent=2) + "\n")


def name_of(mpi: str) -> str:
    """Where the interposer of an MPI lies in a build folder."""
    return f"lib/libompl-trace-{mpi}.so"
