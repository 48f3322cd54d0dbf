# SPDX-License-Identifier: BSD-3-Clause
"""How the tests of this folder start MPI programs."""

import re

from omnipgas_tools.libraries.compilers import Target

LIMIT = 600  # seconds of a program
# More ranks than cores wait on one core.
SETTINGS = {"OMPI_MCA_mpi_yield_when_idle": "1", "I_MPI_WAIT_MODE": "1", "OMPL_LOG": "error"}


def launcher(target: Target, ranks: int) -> list[str]:
    """The launcher of an MPI whose compiler is known, with so many ranks."""
    suffix = re.fullmatch(r"mpi(?:cxx|c\+\+)(\..*?)?(?:_abi)?", target.compiler.name)
    mpiexec = target.compiler.with_name(f"mpiexec{(suffix and suffix[1]) or ''}")
    many = ["--oversubscribe", "--allow-run-as-root"] if target.name.startswith("openmpi") else []
    return [str(mpiexec), *many, "-n", str(ranks)]
