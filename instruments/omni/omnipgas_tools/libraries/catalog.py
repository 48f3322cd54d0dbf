# SPDX-License-Identifier: BSD-3-Clause
"""The libraries that can be measured: reads peers.toml and finds what it names on this machine.

Standard library only, because the build uses it to compile the MPI workers.
"""

import glob
import json
import os
import shutil
import socket
import sys
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from omnipgas_tools import CHECKOUT

RANKS = 2
LAUNCHER = "omplrun"  # the project's own
# How a row is started that does not say.
OMPLRUN_LINE = ["{launcher}", "-n", "{ranks}", "--bind", "none", "{worker}"]
BY_OMPLRUN: dict[str, Any] = {"launcher": LAUNCHER, "launch": OMPLRUN_LINE}
OF_ALL = ("bench", "connected", "calls")  # kinds of worker that not only MPIs have
COARRAY = "coarray"  # the kind, and the adapter, of libraries for gfortran's coarrays
PROCESSES = "processes"  # added to the name of a library that is measured as processes in place of threads


class MissingError(Exception):
    """A library cannot be measured here; the text says why and how to get it."""


@dataclass(frozen=True)
class Setting:
    """A variable or launcher arguments under which a library does best, and why."""

    env: str
    value: str
    when: str
    why: str
    source: str

    def applies(self, threads: int, two_hosts: bool = False, ranks: int = RANKS) -> bool:
        """Whether it is set in a run of `threads` threads per rank."""
        if self.when == "hosts":
            return two_hosts
        if self.when == "root":
            return os.geteuid() == 0
        if self.when == "crowded":
            return ranks * threads > cores()
        return True


@dataclass(frozen=True)
class Library:
    """A row of peers.toml."""

    name: str
    title: str
    ops: list[str]
    worker: str
    launch: list[str]
    launcher: str = ""
    compiler: str = ""
    adapter: str = "mpi"  # bench/adapters/NAME.cpp, which the compiler makes the worker of
    flags: list[str] = field(default_factory=list)
    packages: list[str] = field(default_factory=list)
    prefix: dict[str, str] = field(default_factory=dict)
    device: dict[str, str] = field(default_factory=dict)
    sweep: dict[str, str] = field(default_factory=dict)
    family: str = ""  # its table in collectives.toml
    get: str = ""
    hang_signal: str = ""
    over: list[str] = field(default_factory=list)
    installed: bool = False
    sessions: bool = False
    attends: bool = False
    like: str = ""
    caveats: list[str] = field(default_factory=list)
    settings: list[Setting] = field(default_factory=list)

    @property
    def is_mpi(self) -> bool:
        """Whether it is an MPI, and not another way to use one that has a row of its own."""
        return bool(self.compiler) and self.adapter == "mpi" and not self.like

    @property
    def has_coarrays(self) -> bool:
        """Whether its compiler makes programs with coarrays."""
        return bool(self.compiler) and self.adapter == COARRAY


@dataclass(frozen=True)
class Hosts:
    """Two hosts, made by network.two_hosts(): what comes before the launcher, what before the worker, and the names
    of the interface in each and where the launcher runs."""

    launch: tuple[str, ...]
    enter: tuple[str, ...]
    interface: str
    hub_interface: str


@dataclass(frozen=True)
class Found:
    """Where a library is on this machine."""

    library: Library
    worker: Path
    prefix: Path | None
    launcher: Path | None
    hosts: Hosts | None = None  # one rank on each; else both on this machine
    transport: str = ""  # of `over`
    endpoints: int | None = None  # of each rank's pool, if that was asked for
    baseline: str = "raw"  # the library it is compared with
    ranks: int = RANKS
    jobs: int = 1  # that run at once, each of two ranks with one thread, in place of threads;
    processes: bool = False  # true: as many as there would be threads

    @property
    def name(self) -> str:
        """The row of peers.toml, and what of it is measured."""
        extra = [self.transport, f"{self.endpoints} ep" if self.endpoints else "", PROCESSES if self.processes else ""]
        return " ".join([self.library.name, *filter(None, extra)])

    def command(self, arguments: list[str]) -> list[str]:
        """The command line that starts the ranks with `arguments` for the worker."""
        line = [*self.hosts.launch] if self.hosts else []
        for part in self.library.launch:
            if part == "{worker}" and self.hosts:
                line += self.hosts.enter
            line.append(part.format(worker=self.worker, launcher=self.launcher, prefix=self.prefix, ranks=self.ranks))
        return line + arguments

    def environment(self, threads: int) -> dict[str, str]:
        """The variables to set for `threads` threads per rank."""
        places: dict[str, object] = {"prefix": self.prefix, "threads": threads, "ranks": self.ranks}
        places["host"] = socket.gethostname()
        if self.hosts:
            places |= {"interface": self.hosts.interface, "hub_interface": self.hosts.hub_interface}
        return {s.env: s.value.format(**places) for s in self.applying(threads)}

    def applying(self, threads: int) -> list[Setting]:
        """The settings for `threads` threads per rank."""
        return [s for s in self.library.settings if s.applies(threads * self.jobs, self.hosts is not None, self.ranks)]


def with_endpoints(found: Found, count: int) -> Found:
    """The library with so many endpoints in each rank for all its threads; raises MissingError where that cannot be
    chosen."""
    variable = found.library.sweep.get("variable")
    if not variable:
        raise MissingError("the number of its endpoints cannot be chosen")
    if found.hosts and any(s.env == variable and s.when == "hosts" for s in found.library.settings):
        raise MissingError(f"between hosts {variable} is what peers.toml says")
    setting = Setting(variable, str(count), "always", "asked for", "--pools")
    library = replace(found.library, settings=[*found.library.settings, setting])
    return replace(found, library=library, endpoints=count)


def affinity() -> list[int]:
    """The cores this process may use."""
    return sorted(os.sched_getaffinity(0))


def cores() -> int:
    """How many."""
    return len(affinity())


def build_dir() -> Path:
    """The build tree, or what an installation has of it: OMNI_BUILD_DIR, or the first likely place that holds the
    baseline's worker."""
    if chosen := os.environ.get("OMNI_BUILD_DIR"):
        return Path(chosen).absolute()
    installed = Path(sys.prefix) / "libexec" / "omnipgas"
    for place in (Path(sys.prefix).parent, CHECKOUT / "build", Path.cwd() / "build", installed):
        if (place / "bin" / "ompl_bench_raw").exists():
            return place
    return CHECKOUT / "build"


def read_table(path: Path) -> dict[str, Library]:
    """All rows of a peers.toml, in its order."""
    with path.open("rb") as file:
        rows: dict[str, dict[str, Any]] = tomllib.load(file)
    found: dict[str, Library] = {}
    for name, own in rows.items():
        row = rows[own["also"]] | own if "also" in own else dict(own)
        row.pop("also", None)
        settings = [
            Setting(**{"when": "always", **s, "env": variable})
            for s in row.pop("setting", [])
            for variable in ([s["env"]] if isinstance(s["env"], str) else s["env"])
        ]
        if model := found.get(row.get("like", "")):
            mine = {(s.env, s.when) for s in settings}
            settings = [s for s in model.settings if (s.env, s.when) not in mine] + settings
            found[name] = replace(model, name=name, settings=settings, **row)
        else:
            found[name] = Library(name=name, settings=settings, **({} if "launch" in row else BY_OMPLRUN), **row)
    return found


def sources(build: Path) -> Path | None:
    """What an installation compiles for the user's MPI; None: a build folder, for which the build does that."""
    place = build / "sources"
    return place if place.is_dir() else None


def table(build: Path | None = None) -> dict[str, Library]:
    """The table of the checkout, as the build copied it, or of the installation."""
    place = build or build_dir()
    rows = read_table(place / "bench" / "peers.toml")
    return {name: library for name, library in rows.items() if not library.installed or sources(place)}


def added_file() -> Path:
    """Where `omni libs add` notes the prefixes it was given, by name."""
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home).absolute() / "omnipgas" / "libraries.json"


def added() -> dict[str, str]:
    """The prefixes that `omni libs add` was given, by name."""
    try:
        return dict(json.loads(added_file().read_text()))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise MissingError(f"{added_file()} cannot be read ({error}): delete it and add the libraries again") from error


def find_prefix(library: Library, build: Path) -> Path | None:
    """Where a library with a prefix is installed: by its variable, by `omni libs add`, or where setup.sh puts it; None
    if it comes from the PATH or from pkg-config."""
    if not library.prefix:
        return None
    variable, default = library.prefix["variable"], library.prefix.get("default", "")
    chosen = os.environ.get(variable) or added().get(library.name)
    if not chosen and library.packages:
        return None
    places = [Path(chosen)] if chosen else sorted(build.glob(default)) if default else []
    if not places or not places[0].is_dir():
        how = f"{library.get.format(build=build)}; or set {variable}"
        raise MissingError(f"set {variable} to its folder" if sources(build) else f"not installed: {how}")
    return places[0].absolute()


def check_device(library: Library) -> None:
    """Raises MissingError if the library runs on a device that this machine has not."""
    if library.device and not glob.glob(library.device["files"]):
        raise MissingError(f"this machine has no {library.device['name']} ({library.device['files']})")


def find_program(library: Library, name: str, build: Path, prefix: Path | None) -> Path:
    """A program of the library, by its path under the prefix, or the build's or the PATH's."""
    if prefix and "/" in name:
        path = prefix / name
    elif library.compiler and name != LAUNCHER:
        path = Path(shutil.which(name) or name)
    else:
        path = build / "bin" / name
        if not path.is_file():  # an installation has its launcher with the other commands
            path = Path(sys.prefix) / "bin" / name
    if not path.is_file():
        how = library.get.format(build=build) or "build the project"
        raise MissingError(f"{path} does not exist: {how}")
    return path


def worker_of(library: Library, kind: str) -> str:
    """The library's program of that kind: bench, or a folder of bench/: connected, calls, roundtrip, halo, overlap."""
    return library.worker.replace("_bench_", f"_{kind}_")


def find(library: Library, build: Path, kind: str = "bench", made: Path | None = None) -> Found:
    """Everything needed to run a library, its worker in the folder `made`, if not in the build's; raises MissingError
    with the remedy."""
    check_device(library)
    prefix = find_prefix(library, build)
    launcher = find_program(library, library.launcher, build, prefix) if library.launcher else None
    worker = (made or build) / "bin" / worker_of(library, kind)
    if not worker.is_file():
        by_hand = library.get and (library.packages or not library.prefix)
        first = f"{library.get.format(build=build)}, then " if by_hand else ""
        raise MissingError(f"{worker} is not built: {first}run make (or cmake --build {build})")
    return Found(library, worker, prefix, launcher)


def with_ranks(found: Found, ranks: int, build: Path) -> Found:
    """The job of so many ranks, by the launcher that suits it (`sessions` in peers.toml)."""
    found = replace(found, ranks=ranks)
    if not found.library.sessions or ranks <= cores():
        return found
    layer = table(build)["ompl"]
    launcher = find_program(layer, layer.launcher, build, None)
    return replace(found, launcher=launcher, library=replace(found.library, launch=layer.launch))
