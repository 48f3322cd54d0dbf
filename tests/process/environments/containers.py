#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs in real containers: containers.py BUILD_DIR [RUNTIME...]

The runtimes are Podman (as root, with runc), Charliecloud and Bubblewrap, each where it is installed and starts a
container here. A container's root is an empty folder with this machine's /usr and the build in it, so nothing is
downloaded. A job runs in one container, and with a container for each rank. docs/how-to/containers.md tells users what
is shown here."""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from refused_calls import conduits

LIMIT_S = 120.0
WORKS, WARNS, FAILS = "works", "warns", "fails"
OFI = "OMPL_CONDUITS=self,ofi"
JOB, RANKS = "a job in a container", "a container for each rank"
PODMAN_LOCKS = Path("/dev/shm/libpod_lock")  # made when there are none, and left there


@dataclass(frozen=True)
class Case:
    """How the containers are started, and what comes of it."""

    runtime: str
    kind: str
    options: tuple[str, ...] = ()
    expected: str = WORKS
    says: str = ""
    rule: str = "node"  # all ranks share memory
    variables: tuple[str, ...] = ()


CASES = [
    Case("podman", JOB),
    Case("podman", JOB, ("--read-only", "--read-only-tmpfs=false")),
    Case("podman", JOB, ("--user", "1000:1000", "--cap-drop", "all", "--security-opt", "no-new-privileges")),
    Case("podman", JOB, ("--shm-size", "64k")),
    Case("podman", JOB, ("--ulimit", "memlock=0:0", "--cpuset-cpus", "0")),
    Case("podman", JOB, ("--ulimit", "nofile=32:32"), FAILS, says="ulimit -Hn"),
    Case("podman", JOB, ("--security-opt", "seccomp=unconfined")),
    Case("podman", JOB, ("--cpus", "1"), says=" 1 core(s) on this node", variables=("OMPL_LOG=info",)),
    Case("podman", JOB, ("--memory", "300m"), rule="scarce", variables=("RULES_MIB=400",)),
    Case("podman", JOB, ("--memory", "300m", "--cgroupns", "host"), rule="scarce", variables=("RULES_MIB=400",)),
    Case("podman", JOB, ("--network", "host"), rule="sleepers", variables=(OFI,)),
    Case("podman", RANKS, ("--network", "none"), FAILS, says="--network host"),
    Case("podman", RANKS, ("--network", "host")),
    Case("podman", RANKS, ("--network", "host"), rule="survivors"),
    Case("podman", RANKS, ("--network", "none", "--pid", "host")),
    Case("podman", RANKS, ("--network", "none", "--pid", "host", "--user", "1000:1000")),
    Case("podman", RANKS, ("--network", "host", "--pid", "host", "--ipc", "host")),
    Case("podman", RANKS, ("--network", "host", "--user", "1000:1000", "--cap-drop", "all")),
    Case("podman", RANKS, ("--network", "host"), rule="sleepers", variables=(OFI,)),
    Case("charliecloud", JOB),
    Case("charliecloud", RANKS),
    Case("charliecloud", RANKS, rule="survivors"),
    Case("charliecloud", JOB, rule="sleepers", variables=(OFI,)),
    Case("bubblewrap", JOB, ("--proc", "/proc", "--dev", "/dev", "--unshare-all")),
    Case("bubblewrap", JOB, ("--unshare-all",)),  # without /proc, /sys, /dev, /tmp
    Case("bubblewrap", JOB, ("--unshare-all", "--clearenv")),
    Case("bubblewrap", RANKS, ("--proc", "/proc", "--dev", "/dev", "--unshare-pid", "--unshare-ipc")),
    Case("bubblewrap", RANKS, ("--unshare-pid",)),
]


def make_root(folder: Path) -> None:
    """What a container begins with."""
    for name in ("usr", "etc", "tmp", "dev", "proc", "sys", "run", "root", "home"):
        (folder / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64", "sbin"):
        (folder / name).symlink_to(f"usr/{name}")
    for name in ("passwd", "group", "ld.so.cache"):
        shutil.copy(f"/etc/{name}", folder / "etc" / name)
    shutil.copytree("/etc/alternatives", folder / "etc/alternatives", symlinks=True)  # some libraries are found by it
    for name in ("hosts", "hostname", "resolv.conf"):
        (folder / "etc" / name).touch()


class Containers:
    def __init__(self, build: Path, folder: Path) -> None:
        self.build = build
        self.root = folder / "root"
        make_root(self.root)
        folder.chmod(0o755)
        self.shown = ["/usr", str(build)]  # at the same place inside
        extra = os.environ.get("LD_LIBRARY_PATH", "").split(":")
        self.shown += [name for name in extra if name.startswith("/") and not name.startswith(str(build))]
        for name in self.shown:
            (self.root / name.lstrip("/")).mkdir(parents=True, exist_ok=True)

    def prefix(self, case: Case) -> list[str]:
        """What comes before a program that is to run in a container."""
        variables = ["OMPL_SPIN=0", "OMPL_YIELDS=0", *case.variables]
        if case.runtime == "podman":
            binds = [word for name in self.shown for word in ("-v", f"{name}:{name}:ro")]
            passed = [word for variable in variables for word in ("--env", variable)]
            # Where root may not raise limits, as in some containers, Podman's own are too high.
            limits = [] if any("nofile" in option for option in case.options) else ["--ulimit", "nofile=4096:4096"]
            ranks = ["--preserve-fds", "1", *(f"--env={name}" for name in ("PMI_FD", "PMI_RANK", "PMI_SIZE"))]
            # Podman's own network would make a bridge on this host, beside which other tests' jobs run.
            network = [] if "--network" in case.options else ["--network", "none"]
            return [
                "podman", "--runtime", "runc", "--cgroup-manager", "cgroupfs", "run", "--rm", "--log-driver", "none",
                *limits, "--ulimit", "nproc=4096:4096", *binds, *passed, *(ranks if case.kind == RANKS else []),
                *network, *case.options, "--rootfs", str(self.root),
            ]  # fmt: skip
        if case.runtime == "charliecloud":
            binds = [word for name in self.shown for word in ("-b", f"{name}:{name}")]
            return ["env", *variables, "ch-run", *binds, *case.options, str(self.root), "--"]
        binds = [word for name in self.shown for word in ("--ro-bind", name, name)]
        links = [word for name in ("bin", "lib", "lib64") for word in ("--symlink", f"usr/{name}", f"/{name}")]
        passed = [word for variable in variables for word in ("--setenv", *variable.split("=", 1))]
        return ["bwrap", *binds, *links, *case.options, *passed, "--"]

    def words(self, case: Case) -> list[str]:
        """The whole job."""
        omplrun = [f"{self.build}/bin/omplrun", "-n", "3", "--timeout", "60"]
        if case.rule == "survivors":
            omplrun.append("--keep-going")
        rank = [f"{self.build}/bin/tests/rules_worker", case.rule]
        if case.kind == JOB:
            return [*self.prefix(case), *omplrun, *rank]
        # Podman passes descriptors on from 3 upwards.
        moved = 'eval "exec 3<&$PMI_FD"; export PMI_FD=3; exec "$0" "$@"'
        return [*omplrun, *(["bash", "-c", moved] if case.runtime == "podman" else []), *self.prefix(case), *rank]

    def start(self, words: list[str]) -> "subprocess.CompletedProcess[str]":
        environment = {**os.environ, "USER": os.environ.get("USER", "root")}  # ch-run wants to know
        return subprocess.run(
            words, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False, cwd="/"
        )  # fmt: skip

    def works(self, runtime: str) -> str:
        """Nothing, or why no container starts here."""
        program = {"podman": "podman", "charliecloud": "ch-run", "bubblewrap": "bwrap"}[runtime]
        if shutil.which(program) is None or (runtime == "podman" and shutil.which("runc") is None):
            return "not installed"
        done = self.start([*self.prefix(Case(runtime, JOB)), "true"])
        return "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def classify(case: Case, done: "subprocess.CompletedProcess[str]") -> str:
    if done.returncode == 0 or (case.rule == "survivors" and done.stdout.count("noticed") == 2):
        return WARNS if "warning: " in done.stderr else WORKS
    if done.returncode >= 124 or done.returncode < 0:
        return f"DIES with {done.returncode}"
    clear = " error: " in done.stderr or done.stderr.startswith("omplrun: ")
    return FAILS if clear else f"FAILS without a word, {done.returncode}"


def main(build: Path, wanted: list[str]) -> None:
    wrong = run = 0
    network = "ofi" in conduits(build)
    podman_was_used = PODMAN_LOCKS.exists()
    with tempfile.TemporaryDirectory() as folder:
        containers = Containers(build, Path(folder))
        for runtime in ("podman", "charliecloud", "bubblewrap"):
            if wanted and runtime not in wanted:
                continue
            if why := containers.works(runtime):
                print(f"{runtime}: no container starts here: {why}", flush=True)
                continue
            for case in CASES:
                if case.runtime != runtime or (OFI in case.variables and not network):
                    continue
                done = containers.start(containers.words(case))
                found = classify(case, done)
                right = found == case.expected and case.says in done.stderr
                run += 1
                wrong += not right
                options = " ".join([*case.options, *case.variables])
                found += "" if right else ", WRONG"
                print(f"{runtime}, {case.kind}, {options or 'no options'}, {case.rule}: {found}", flush=True)
                if not right:
                    print(" ".join(containers.words(case)), done.stdout + done.stderr, sep="\n", flush=True)
    if not podman_was_used:
        PODMAN_LOCKS.unlink(missing_ok=True)
    sys.exit(1 if wrong else 0 if run else 77)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])
