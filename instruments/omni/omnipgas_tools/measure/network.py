# SPDX-License-Identifier: BSD-3-Clause
"""Measuring between ranks that do not share memory: transports, and hosts that are network namespaces."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any

from omnipgas_tools import CHECKOUT
from omnipgas_tools.libraries import catalog
from omnipgas_tools.libraries.catalog import RANKS, Found, Hosts, Library, MissingError, Setting

RIG = CHECKOUT / "tests" / "net"
OFI, UCX = {"OMPL_CONDUITS": "self,ofi"}, {"OMPL_CONDUITS": "self,ucx"}
# Of each transport the baseline, and what the library and the baseline are told.
TRANSPORTS: dict[str, tuple[str, dict[str, str]]] = {
    "sockets": ("sockets", {"OMPL_CONDUITS": "self,tcp"}),
    **{name: ("ofi", OFI | {"OMPL_OFI_PROVIDER": name}) for name in ("tcp", "tcp;ofi_rxm", "net", "net/rdm")},
    "ucx": ("ucx", UCX | {"UCX_TLS": "tcp"}),
    "psm2": ("psm2", {"OMPL_CONDUITS": "self,psm2", "PSM2_DEVICES": "self,shm"}),
    "ucx-shm": ("ucx", UCX | {"UCX_TLS": "posix,sysv,cma"}),
}
INSIDE_ONE_HOST = ("ucx-shm", "psm2")
# What a conduit goes over between hosts, where some ranks may share one and its memory.
BETWEEN = {"tcp": "sockets", "ofi": "tcp", "ucx": "ucx"}


def over(found: Found, transport: str, hosts: Hosts | None, endpoints: int | None = None) -> Found:
    """The library or the baseline over a transport, with so many endpoints in each rank's pool (as many as threads if
    not given; a baseline has always one for each thread)."""
    handwritten, variables = TRANSPORTS[transport]
    variables = _on(hosts.interface if hosts else "lo", transport, variables)
    library = told(found.library, variables | {"OMPL_ENDPOINTS": str(endpoints or "{threads}")}, "--over")
    baseline = f"{handwritten} {transport}"
    return replace(found, library=library, hosts=hosts, transport=transport, endpoints=endpoints, baseline=baseline)


def on_hosts(found: Found, hosts: Hosts | None, baseline: str = "raw") -> Found:
    """A library that finds its own way between two hosts; raises MissingError if it would use memory."""
    if hosts:
        refuse_memory(found.library)
    return replace(found, hosts=hosts, baseline=baseline)


def refuse_memory(library: Library) -> None:
    """Raises MissingError if nothing would keep a library from memory between hosts."""
    if not any(s.when == "hosts" for s in library.settings):
        raise MissingError("no settings in peers.toml that keep it from shared memory between hosts")


def between(hosts: Hosts, conduit: str = "ofi") -> dict[str, str]:
    """What this layer is told in a job on hosts: memory within each, the conduit between them."""
    transport = BETWEEN[conduit]
    _, variables = TRANSPORTS[transport]
    return _on(hosts.interface, transport, variables) | {"OMPL_CONDUITS": f"self,shm,{conduit}"}


def spread(found: Found, hosts: Hosts, conduit: str = "ofi") -> Found:
    """A job of this layer, alone or in the processes of an MPI, on hosts. Raises MissingError."""
    if found.library.is_mpi:
        found = on_hosts(found, hosts)
    library = told(found.library, between(hosts, conduit), "--hosts")
    return replace(found, library=library, hosts=hosts, transport=BETWEEN[conduit])


def told(library: Library, variables: dict[str, str], option: str) -> Library:
    """The library with these variables too, which an option asks for."""
    asked = [Setting(name, value, "always", "asked for", option) for name, value in variables.items()]
    return replace(library, settings=[*library.settings, *asked])


def _on(interface: str, transport: str, variables: dict[str, str]) -> dict[str, str]:
    """The variables of a transport, with the network interface that it shall use."""
    names = ["OMPL_NET_INTERFACE", *(["UCX_NET_DEVICES"] if transport == "ucx" else [])]
    return variables | dict.fromkeys(names, interface)


def contenders(found: Found, transports: list[str], hosts: Hosts | None) -> list[Found]:
    """What of a library is measured; raises MissingError if that is nothing."""
    if not transports and not hosts:
        return [found]
    if not found.library.over:
        baseline, _ = TRANSPORTS[transports[0]]
        return [on_hosts(found, hosts, f"{baseline} {transports[0]}")]
    possible = [t for t in transports if t in found.library.over and not (hosts and t in INSIDE_ONE_HOST)]
    if not possible:
        raise MissingError(f"goes over none of {', '.join(transports)}" + (" between hosts" if hosts else ""))
    return [over(found, transport, hosts) for transport in possible]


def why_no_hosts() -> str:
    """What is missing to make two hosts here; nothing if all is there."""
    if not RIG.is_dir():
        return f"hosts need a checkout of the project: there is no {RIG}"
    reason: str = _rig("network").why_not()
    return reason


def two_hosts(mbit: int | None = None) -> AbstractContextManager[Hosts]:
    """some_hosts() with a rank on each."""
    return some_hosts(RANKS, RANKS, mbit)


@contextmanager
def some_hosts(count: int, ranks: int, mbit: int | None = None) -> Iterator[Hosts]:
    """Network namespaces on a bridge, as the tests have them, for so many ranks in order, with links of so many Mbit/s
    if that is given; gone afterwards. They share the cores, or where these are too few each has all. Raises
    MissingError."""
    if reason := why_no_hosts():
        raise MissingError(reason)
    network, launchers = _rig("network"), _rig("launchers")
    network.remove_leftovers()
    with network.network(count) as made:
        if mbit is not None:
            made.rate(str(mbit))
        hosts = Hosts(
            launch=("ip", "netns", "exec", made.hub),
            enter=("sh", "-c", launchers.TO_ITS_HOST, made.name, str(ranks), str(count)),
            interface=network.INTERFACE,
            hub_interface=network.BRIDGE,
        )
        cores = catalog.affinity()
        first = [len(cores) * number // count for number in range(count + 1)]
        yield on_cores(hosts, *(cores[begin:end] or cores for begin, end in pairwise(first)))


def on_cores(hosts: Hosts, *each: list[int]) -> Hosts:
    """The hosts with these cores each, as the library finds them when it starts."""
    to_its_cores = """
host=${OMPL_NODE_ID#host} hosts=$1
shift $((host + 1)) && own=$1
shift $((hosts - host)) && OMNI_OWN_CORES=1 exec taskset -c "$own" "$@"
"""
    lists = [",".join(map(str, cores)) for cores in each]
    return replace(hosts, enter=(*hosts.enter, "sh", "-c", to_its_cores, "taskset", str(len(lists)), *lists))


def _rig(module: str) -> Any:
    if str(RIG) not in sys.path:
        sys.path.append(str(RIG))
    return importlib.import_module(module)
