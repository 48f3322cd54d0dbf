# SPDX-License-Identifier: BSD-3-Clause
"""Measuring between ranks that do not share memory: transports, and two hosts that are network namespaces."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from omnipgas import peers
from omnipgas.peers import RANKS, Found, Hosts, MissingError, Setting

RIG = Path(__file__).absolute().parents[2] / "tests" / "net"
OFI, UCX = {"OMPL_CONDUITS": "self,ofi"}, {"OMPL_CONDUITS": "self,ucx"}
# Of each transport the twin, and what the library and the twin are told.
TRANSPORTS: dict[str, tuple[str, dict[str, str]]] = {
    **{name: ("ofi", OFI | {"OMPL_OFI_PROVIDER": name}) for name in ("tcp", "tcp;ofi_rxm", "net", "net/rdm")},
    "ucx": ("ucx", UCX | {"UCX_TLS": "tcp"}),
    "ucx-shm": ("ucx", UCX | {"UCX_TLS": "posix,sysv,cma"}),
}
INSIDE_ONE_HOST = ("ucx-shm",)


def over(found: Found, transport: str, hosts: Hosts | None, endpoints: int | None = None) -> Found:
    """The library or the twin over a transport, with so many endpoints in each rank's pool (as many as threads if not
    given; a twin has always one for each thread)."""
    twin, variables = TRANSPORTS[transport]
    interface = hosts.interface if hosts else "lo"
    variables = variables | {
        "OMPL_OFI_INTERFACE": interface,
        "OMPL_ENDPOINTS": str(endpoints or "{threads}"),
    }
    if transport == "ucx":
        variables |= {"UCX_NET_DEVICES": interface}
    settings = [Setting(name, value, "always", "asked for", "--over") for name, value in variables.items()]
    peer = replace(found.peer, settings=[*found.peer.settings, *settings])
    return replace(
        found, peer=peer, hosts=hosts, transport=transport, endpoints=endpoints, twin=f"{twin} {transport}"
    )


def on_hosts(found: Found, hosts: Hosts | None, twin: str = "raw") -> Found:
    """A library that finds its own way between two hosts; raises MissingError if it would use memory."""
    if hosts and not any(s.when == "hosts" for s in found.peer.settings):
        raise MissingError("no settings in peers.toml that keep it from shared memory between hosts")
    return replace(found, hosts=hosts, twin=twin)


def contenders(found: Found, transports: list[str], hosts: Hosts | None) -> list[Found]:
    """What of a library is measured; raises MissingError if that is nothing."""
    if not transports and not hosts:
        return [found]
    if not found.peer.over:
        twin, _ = TRANSPORTS[transports[0]]
        return [on_hosts(found, hosts, f"{twin} {transports[0]}")]
    possible = [t for t in transports if t in found.peer.over and not (hosts and t in INSIDE_ONE_HOST)]
    if not possible:
        raise MissingError(f"goes over none of {', '.join(transports)}" + (" between hosts" if hosts else ""))
    return [over(found, transport, hosts) for transport in possible]


def why_no_hosts() -> str:
    """What is missing to make two hosts here; nothing if all is there."""
    if not RIG.is_dir():
        return f"hosts need a checkout of the project: there is no {RIG}"
    reason: str = _rig("network").why_not()
    return reason


@contextmanager
def two_hosts(mbit: int | None = None) -> Iterator[Hosts]:
    """Two network namespaces on a bridge, as the tests have them, with links of so many Mbit/s if that is given; gone
    afterwards. Raises MissingError."""
    if reason := why_no_hosts():
        raise MissingError(reason)
    network, launchers = _rig("network"), _rig("launchers")
    network.remove_leftovers()
    with network.network(RANKS) as made:
        if mbit is not None:
            made.rate(str(mbit))
        hosts = Hosts(
            launch=("ip", "netns", "exec", made.hub),
            enter=("sh", "-c", launchers.TO_ITS_HOST, made.name, str(RANKS), str(RANKS)),
            interface=network.INTERFACE,
            hub_interface=network.BRIDGE,
        )
        cores = peers.affinity()
        half = len(cores) // 2
        yield on_cores(hosts, cores[:half] or cores, cores[half:])


def on_cores(hosts: Hosts, *each: list[int]) -> Hosts:
    """The hosts with so many cores each, as the library finds them when it starts: hosts do not share any."""
    to_its_cores = """
own=$1 && shift
[ "$OMPL_NODE_ID" = host0 ] || own=$1
shift && OMNI_OWN_CORES=1 exec taskset -c "$own" "$@"
"""
    lists = [",".join(map(str, cores)) for cores in each]
    return replace(hosts, enter=(*hosts.enter, "sh", "-c", to_its_cores, "taskset", *lists))


def _rig(module: str) -> Any:
    if str(RIG) not in sys.path:
        sys.path.append(str(RIG))
    return importlib.import_module(module)
