# SPDX-License-Identifier: BSD-3-Clause
"""How each launcher starts the ranks of a job on the hosts of a network: all on the hub, where the launcher runs, by
a shell line that then goes to the rank's host."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from network import BRIDGE, INTERFACE

sys.path.append(str(Path(__file__).resolve().parents[1] / "slurm"))
import rig

descendants, die_with_parent = rig.descendants, rig.die_with_parent

# sh -c TO_ITS_HOST NAME RANKS HOSTS PROGRAM...: ranks in order, as many on each host as on any other.
TO_ITS_HOST = f"""
rank=${{PMI_RANK:-${{PMIX_RANK:-$SLURM_PROCID}}}} host=$((rank * $2 / $1)) name=$0
shift 2
export OMPL_NODE_ID=host$host OMPL_NET_INTERFACE={INTERFACE}
exec setpriv --pdeathsig KILL ip netns exec "$name-$host" "$@"
"""
# A launcher within a job of another one would be misled by that one's variables; ranks on other hosts cannot reach
# PMIx by the hub's loopback.
FOREIGN = ("SLURM", "PMI", "OMPI", "PRTE", "HYDRA", "MPI")
VARIABLES = {
    "PMIX_MCA_ptl_tcp_if_include": BRIDGE,
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}


# What comes before the program; PATH is that of the launcher, or for srun the protocol.
COMMANDS = {
    "omplrun": "{path} -n {ranks}",
    "hydra": "{path} -n {ranks}",
    "prterun": "{path} --map-by :oversubscribe -n {ranks}",
    "srun": "srun --mpi={path} --nodes=2 --ntasks={ranks}",
}


@dataclass(frozen=True)
class Launcher:
    kind: str
    path: str
    options: list[str]
    environment: dict[str, str]

    def command(self, name: str, ranks: int, hosts: int, program: list[str]) -> list[str]:
        """Starts the program on the first so many hosts of the network of that name."""
        own = [word.format(path=self.path, ranks=ranks) for word in COMMANDS[self.kind].split()]
        return [*own, *self.options, "sh", "-c", TO_ITS_HOST, name, str(ranks), str(hosts), *program]


def why_not(kind: str, path: str) -> str:
    """What is missing to start ranks so; nothing if all is there."""
    if kind == "srun":
        return rig.why_not()
    return "" if shutil.which(path) else f"there is no {path}"


@contextmanager
def launcher(kind: str, path: str, options: list[str]) -> Iterator[Launcher]:
    """On the hub, which this process must have entered; no process that came of it stays."""
    for name in [name for name in os.environ if name.startswith(FOREIGN)]:
        del os.environ[name]
    os.environ.update(VARIABLES)
    if kind == "srun":
        with rig.slurm() as slurm:
            yield Launcher(kind, path, options, slurm.environment)
    else:
        rig.LIBC.prctl(rig.PR_SET_CHILD_SUBREAPER, 1)
        try:
            yield Launcher(kind, path, options, dict(os.environ))
        finally:
            rig.end_descendants()
