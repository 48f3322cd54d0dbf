# SPDX-License-Identifier: BSD-3-Clause
"""OmniPGAS: the layer in Python (init, alloc, put, wait, ...), loaded at the first use of one of its names.

The instruments, the command omni, are the package omnipgas_tools.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnipgas.calls import Call, RemoteFunction
    from omnipgas.halo import Halo, Neighbor
    from omnipgas.layer import (
        Array,
        Context,
        Handle,
        OmplError,
        OmplTimeoutError,
        Session,
        abort,
        alloc,
        atomic,
        barrier,
        failed_ranks,
        failure_ack,
        fence,
        finalize,
        flush,
        get,
        get_indexed,
        get_nb,
        handle_wait_any,
        init,
        node_rank,
        node_size,
        poll,
        process_quiet,
        progress,
        put,
        put_indexed,
        put_nb,
        put_signal,
        put_word,
        quiet,
        rank,
        signal,
        size,
        stop,
        stopped_ranks,
        update,
        version,
        wait,
        wait_all,
        wait_any,
        wait_memory,
        wait_memory_all,
        wait_memory_any,
        wait_memory_some,
        wait_some,
        wait_until,
    )

__all__ = [
    "Array",
    "Call",
    "Context",
    "Halo",
    "Handle",
    "Neighbor",
    "OmplError",
    "OmplTimeoutError",
    "RemoteFunction",
    "Session",
    "abort",
    "alloc",
    "atomic",
    "barrier",
    "failed_ranks",
    "failure_ack",
    "fence",
    "finalize",
    "flush",
    "get",
    "get_indexed",
    "get_nb",
    "handle_wait_any",
    "init",
    "node_rank",
    "node_size",
    "poll",
    "process_quiet",
    "progress",
    "put",
    "put_indexed",
    "put_nb",
    "put_signal",
    "put_word",
    "quiet",
    "rank",
    "signal",
    "size",
    "stop",
    "stopped_ranks",
    "update",
    "version",
    "wait",
    "wait_all",
    "wait_any",
    "wait_memory",
    "wait_memory_all",
    "wait_memory_any",
    "wait_memory_some",
    "wait_some",
    "wait_until",
]


def _version() -> str:
    """That of the source tree, where ompl.h states it, or of the package as it was installed."""
    import re
    from importlib import metadata

    header = Path(__file__).absolute().parents[3] / "include/omnipgas/ompl.h"
    if header.is_file():
        return str(re.findall(r'OMPL_VERSION_TEXT "(.+)"', header.read_text())[0])
    try:
        return metadata.version("omnipgas")
    except metadata.PackageNotFoundError:  # a copy that nothing installed
        return "unknown"


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name not in __all__:
        raise AttributeError(f"module 'omnipgas' has no attribute {name!r}")
    from omnipgas import calls, halo, layer

    elsewhere = {"Call": calls, "RemoteFunction": calls, "Halo": halo, "Neighbor": halo}
    value = globals()[name] = getattr(elsewhere.get(name, layer), name)
    return value
