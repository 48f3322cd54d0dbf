# SPDX-License-Identifier: BSD-3-Clause
"""The MPI programs of examples/mpi, as they are built and started. Standard library only: the build uses it."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from omnipgas_tools.libraries import catalog
from omnipgas_tools.measure import network

RANKS_OPTION = "-n"
SECONDS = re.compile(r"seconds=([0-9.]+) right")


def program(build: Path, mpi: str, name: str) -> Path:
    """Where a program is built."""
    return build / "bin" / "model" / mpi / name


@dataclass(frozen=True)
class Launch:
    """How programs of one MPI are started here."""

    mpi: str
    command: list[str]  # the launcher and its options, without the number of ranks
    env: dict[str, str] = field(default_factory=dict)
    hosts: catalog.Hosts | None = None

    def environment(self, *more: dict[str, str]) -> dict[str, str]:
        """The variables to start it with; what the user set goes before what it needs, and `more` before all."""
        return {key: value for some in (self.env, os.environ, *more) for key, value in some.items()}

    def line(self, ranks: int, program: Path, arguments: Sequence[object]) -> list[str]:
        """The whole command line."""
        job = [*self.command, RANKS_OPTION, str(ranks)]
        if self.hosts:
            job = [*self.hosts.launch, *job, *self.hosts.enter]
        return [*job, str(program), *map(str, arguments)]


def launch(build: Path, mpi: str, ranks: int, hosts: catalog.Hosts | None = None) -> Launch:
    """An MPI as a user has it: of the settings in peers.toml those without which it does not run here, or not in any
    useful time; `hosts`: made by network.some_hosts() for so many ranks. Raises MissingError with the remedy."""
    table = catalog.table(build)
    if mpi not in table or not table[mpi].is_mpi:
        known = ", ".join(name for name, library in table.items() if library.is_mpi)
        raise catalog.MissingError(f"no MPI {mpi}; there are {known}")
    library = table[mpi]
    prefix = catalog.find_prefix(library, build)
    launcher = catalog.find_program(library, library.launcher, build, prefix)
    places = {"launcher": launcher, "prefix": prefix, "ranks": ranks}
    command = [part.format(**places) for part in library.launch if part != "{worker}"]
    at = command.index(RANKS_OPTION)
    del command[at : at + 2]
    told: dict[str, object] = {"prefix": prefix, "threads": 1}
    if hosts:
        told |= {"interface": hosts.interface, "hub_interface": hosts.hub_interface}
        network.refuse_memory(library)
    settings = [one for one in library.settings if _is_needed(one, ranks, hosts)]
    return Launch(mpi, command, {one.env: one.value.format(**told) for one in settings}, hosts)


def _is_needed(setting: catalog.Setting, ranks: int, hosts: catalog.Hosts | None) -> bool:
    if setting.when == "hosts":
        return hosts is not None
    if setting.when == "crowded":
        return ranks > catalog.cores()
    return "{prefix}" in setting.value or (setting.when == "root" and setting.applies(1))
