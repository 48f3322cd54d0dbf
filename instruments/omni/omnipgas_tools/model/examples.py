# SPDX-License-Identifier: BSD-3-Clause
"""The MPI programs of examples/mpi, as they are built and started. Standard library only: the build uses it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from omnipgas_tools.libraries import peers
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
    hosts: peers.Hosts | None = None

    def environment(self, *more: dict[str, str]) -> dict[str, str]:
        """The variables to start it with; what the user set goes before what it needs, and `more` before all."""
        return {key: value for some in (self.env, os.environ, *more) for key, value in some.items()}

    def line(self, ranks: int, program: Path, arguments: Sequence[object]) -> list[str]:
        """The whole command line."""
        job = [*self.command, RANKS_OPTION, str(ranks)]
        if self.hosts:
            job = [*self.hosts.launch, *job, *self.hosts.enter]
        return [*job, str(program), *map(str, arguments)]


def launch(build: Path, mpi: str, ranks: int, hosts: peers.Hosts | None = None) -> Launch:
    """An MPI as a user has it: of the settings in peers.toml those without which it does not run here, or not in any
    useful time; `hosts`: made by network.some_hosts() for so many ranks. Raises peers.MissingError with the remedy."""
    table = peers.table(build)
    if mpi not in table or not table[mpi].is_mpi:
        known = ", ".join(name for name, peer in table.items() if peer.is_mpi)
        raise peers.MissingError(f"no MPI {mpi}; there are {known}")
    peer = table[mpi]
    prefix = peers.find_prefix(peer, build)
    launcher = peers.find_program(peer, peer.launcher, build, prefix)
    command = [part.format(launcher=launcher, prefix=prefix, ranks=ranks) for part in peer.launch if part != "{worker}"]
    at = command.index(RANKS_OPTION)
    del command[at : at + 2]
    places: dict[str, object] = {"prefix": prefix, "threads": 1}
    if hosts:
        places |= {"interface": hosts.interface, "hub_interface": hosts.hub_interface}
        network.refuse_memory(peer)
    settings = [one for one in peer.settings if _is_needed(one, ranks, hosts)]
    return Launch(mpi, command, {one.env: one.value.format(**places) for one in settings}, hosts)


def _is_needed(setting: peers.Setting, ranks: int, hosts: peers.Hosts | None) -> bool:
    if setting.when == "hosts":
        return hosts is not None
    if setting.when == "crowded":
        return ranks > peers.cores()
    return "{prefix}" in setting.value or (setting.when == "root" and setting.applies(1))
