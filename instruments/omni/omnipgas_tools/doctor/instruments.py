# SPDX-License-Identifier: BSD-3-Clause
"""The checks of what omni needs beside the layer. A check is a row of CHECKS."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path

from omnipgas_tools.doctor.findings import Finding
from omnipgas_tools.doctor.layer import run
from omnipgas_tools.libraries import catalog
from omnipgas_tools.libraries.catalog import Found, Library, MissingError
from omnipgas_tools.measure import network

AREA = "instruments"
START_LIMIT = 60.0  # seconds for a launcher to start two processes that end at once
COMPILE_LIMIT = 120.0
PACKAGES = {"numpy": "1.24", "matplotlib": "3.6", "typer": "0.7", "rich": "13", "fastjsonschema": "2.16"}
PROGRAM = "#include <span>\nint main() { return static_cast<int>(std::span<int>().size()); }\n"


@dataclass(frozen=True)
class Context:
    """What checks may look at: the build or installation, and whether they may start jobs."""

    build: Path
    jobs: bool = True


@dataclass(frozen=True)
class State:
    """What a check found. Without texts of its own the row's count; `part`: of several things that a check looks at."""

    verdict: str
    found: str
    part: str = ""
    means: str = ""
    change: str = ""


@dataclass(frozen=True)
class Check:
    """A name, a function that looks, what it means if that is not fine, and what to change then."""

    name: str
    look: Callable[[Context], Iterator[State]]
    means: str
    change: str

    def findings(self, at: Context) -> Iterator[Finding]:
        """What there is to say."""
        for one in self.look(at):
            fine = one.verdict == "fine"
            means, change = ("", "") if fine else (one.means or self.means, one.change or self.change)
            yield Finding(AREA, f"{self.name} {one.part}".strip(), one.verdict, one.found, means, change)


def busy(_: Context) -> Iterator[State]:
    """Other work on the machine, before anything is started."""
    begin, used = time.perf_counter(), time.process_time()
    while time.perf_counter() - begin < 0.3:
        pass
    share = (time.process_time() - used) / (time.perf_counter() - begin)
    yield load_state(os.getloadavg()[0], share, catalog.cores())


def load_state(load: float, share: float, cores: int) -> State:
    """Of the mean number of running processes, and of the part of a core that a busy thread got."""
    found = f"load {load:.1f} on {cores} cores; a thread that computes gets {share:.0%} of a core"
    return State("slow" if share < 0.9 or load > 0.5 * cores else "fine", found)


def packages(_: Context) -> Iterator[State]:
    """The Python packages, in the versions that omni was made for."""
    there = []
    for name, least in PACKAGES.items():
        try:
            import_module(name)
            version = metadata.version(name)
        except (ImportError, metadata.PackageNotFoundError) as error:
            yield State("fails", f"cannot be used: {error}", name)
            continue
        if _numbers(version) < _numbers(least):
            yield State("fails", f"{version}, but {least} is needed", name)
        else:
            there.append(f"{name} {version}")
    yield State("fine", ", ".join(there) or "none")


def _numbers(version: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", version)]


def worker_programs(at: Context) -> Iterator[State]:
    """Whether the build has what omni runs."""
    missing = [name for name in ("ompl_bench_raw", "ompl_bench_ompl") if not (at.build / "bin" / name).is_file()]
    yield State("fails" if missing else "fine", f"{at.build}: " + (f"no {', '.join(missing)}" if missing else "built"))


def compilers(at: Context) -> Iterator[State]:
    """A C++ compiler, with which an installation compiles what it runs under the user's MPI."""
    installed = catalog.sources(at.build) is not None
    name = os.environ.get("CXX", "c++")
    path = shutil.which(name)
    if path is None:
        yield State("fails" if installed else "note", f"there is no {name}")
        return
    try:
        status, out, err = run(
            ["sh", "-c", 'printf %s "$2" | "$1" -std=c++20 -x c++ -fsyntax-only -', "sh", path, PROGRAM], COMPILE_LIMIT
        )
    except subprocess.TimeoutExpired:
        status, out, err = 1, "", f"not done after {COMPILE_LIMIT:g} s"
    if status != 0:
        yield State("fails" if installed else "note", f"{path} compiles no C++20: {_end_of(err or out)}")
    else:
        yield State("fine", f"{path} compiles C++20")


def mpis(at: Context) -> Iterator[State]:
    """Each MPI of the table that is here: whether its launcher starts two processes."""
    missing, there = [], 0
    for library in catalog.table(at.build).values():
        if not library.is_mpi:
            continue
        try:
            found = launchable(library, at.build)
        except MissingError:
            missing.append(library.name)
            continue
        there += 1
        yield mpi_state(found, at.jobs)
    if missing:
        yield State(
            "fine" if there else "note", f"not here: {', '.join(missing)}",
            means="no MPI is here to compare with", change="omni libs says how to get each",
        )  # fmt: skip


def launchable(library: Library, build: Path) -> Found:
    """An MPI with `true` in place of the worker. Raises MissingError."""
    prefix = catalog.find_prefix(library, build)
    catalog.find_program(library, library.compiler, build, prefix)  # a mere mpiexec may be another MPI's
    launcher = catalog.find_program(library, library.launcher, build, prefix)
    return Found(library, Path(shutil.which("true") or "/bin/true"), prefix, launcher)


def mpi_state(found: Found, jobs: bool) -> State:
    """Whether its launcher works."""
    name, command = found.library.name, found.command([])
    if not jobs:
        return State("fine", f"{found.launcher}; not started", name)
    begin = time.monotonic()
    try:
        status, out, err = run(command, START_LIMIT, found.environment(1))
    except subprocess.TimeoutExpired:
        return State("fails", f"{found.launcher}: two processes had not ended after {START_LIMIT:g} s", name)
    except OSError as error:
        return State("fails", f"{found.launcher}: {error.strerror}", name)
    took = time.monotonic() - begin
    if status != 0:
        return State("fails", f"{found.launcher} ended with {status}: {_end_of(err or out)}", name)
    return State("fine", f"{found.launcher} starts two processes in {took:.1f} s", name)


def slurm(_: Context) -> Iterator[State]:
    """In an allocation of Slurm: whether srun offers a protocol that the layer speaks."""
    if "SLURM_JOB_ID" not in os.environ:
        yield State("fine", "no allocation")
        return
    try:
        status, out, err = run(["srun", "--mpi=list"], START_LIMIT)
    except (OSError, subprocess.TimeoutExpired) as error:
        yield State("fails", f"srun --mpi=list: {error}")
        return
    offered = sorted(set(re.findall(r"\b(pmi2|pmix)\b", out + err)))
    found = f"srun --mpi=list: {', '.join(offered) or 'neither pmi2 nor pmix'}"
    yield State("fine" if status == 0 and offered else "fails", found)


def _end_of(said: str) -> str:
    return " ".join(said.split())[-300:]


def valgrind(_: Context) -> Iterator[State]:
    """What counts instructions."""
    path = shutil.which("valgrind")
    yield State("fine" if path else "note", path or "there is no valgrind")


def perf(_: Context) -> Iterator[State]:
    """Whether a user may count events of the processor, to find out why something is slow."""
    yield perf_state(Path("/proc/sys/kernel/perf_event_paranoid"), os.geteuid() == 0, shutil.which("perf"))


def perf_state(file: Path, root: bool, program: str | None) -> State:
    """Of the kernel's setting (above 2: nothing of users), and the program."""
    try:
        level = int(file.read_text())
    except (OSError, ValueError):
        return State("note", "this kernel counts no events")
    allowed = root or level <= 2
    found = f"{program or 'no program perf'}; kernel.perf_event_paranoid is {level}"
    return State("fine" if allowed and program else "note", found)


def hosts(_: Context) -> Iterator[State]:
    """Whether network namespaces can stand in for hosts."""
    reason = network.why_no_hosts()
    yield State("note" if reason else "fine", reason or "network namespaces can stand in for hosts")


# Before anything else, which would make the machine busy.
FIRST = (Check("busy machine", busy, "times of this moment say little, and vary", "end other work, or measure later"),)
CHECKS = (
    Check("Python packages", packages, "commands that need it end with an error", "python3 -m pip install -U numpy "
          "matplotlib typer rich fastjsonschema, or the distribution's packages"),
    Check("programs", worker_programs, "omni cannot measure the layer", "run make, or set OMNI_BUILD_DIR to a build"),
    Check("compiler", compilers, "what runs under an MPI of the user's cannot be compiled", "install g++ 12 or later, "
          "or set CXX"),
    Check("MPI", mpis, "jobs under this MPI do not start", "do what its text says; omni libs says how it is installed"),
    Check("Slurm", slurm, "srun starts ranks that do not find each other", "load Slurm's plugins for PMI-2 or PMIx, or "
          "start by omplrun or mpiexec"),
    Check("valgrind", valgrind, "omni figures cannot count instructions", "install valgrind"),
    Check("perf", perf, "perf cannot show where time goes", "install perf; set kernel.perf_event_paranoid to 1"),
    Check("hosts", hosts, "--hosts 2 cannot be used", "run as root in a checkout, with iproute2 and nftables"),
)  # fmt: skip


def look(at: Context, checks: Iterable[Check] = CHECKS) -> Iterator[Finding]:
    """Checks, one after the other. What one of them cannot do is a note."""
    for check in checks:
        try:
            yield from check.findings(at)
        except (OSError, MissingError) as error:
            yield Finding(AREA, check.name, "note", f"cannot be looked at: {error}", check.means, check.change)
