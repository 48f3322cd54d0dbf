# SPDX-License-Identifier: BSD-3-Clause
"""A Slurm of two nodes on this host, for one test: munged, slurmctld and two slurmd with their own key,
ports and folders. Nothing of the machine's own Slurm or munge is used or changed. Needs root."""

import ctypes
import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

NODES = ("n0", "n1")
PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "sinfo")
PATIENCE = 240.0
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LIBC = ctypes.CDLL(None)
os.environ["PATH"] += ":/usr/sbin"  # where daemons are; not everybody's PATH has it

# Nodes of one host differ by name, port and folders; config_overrides lets them have more cores than it.
CONFIGURATION = """
ClusterName=ompl
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ctld}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmdSpoolDir={folder}/spool.%n
TmpFS={folder}/tmp.%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
KillWait=2
MailProg=/bin/true
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=5 State=UP
"""


def why_not() -> str:
    """What is missing to run a Slurm here; nothing if all is there."""
    if os.geteuid() != 0:
        return "Slurm's daemons need root"
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"{', '.join(missing)} not installed" if missing else ""


def free_ports(count: int) -> list[int]:
    """Below those that the kernel gives to whoever asks for any: nobody takes them before the daemons do."""
    found: list[int] = []
    for port in random.sample(range(12000, 32000), 1000):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("", port))
            found.append(port)
            if len(found) == count:
                return found
    raise RuntimeError(f"no {count} free ports")


def configure(folder: Path) -> None:
    ctld, *slurmd = free_ports(1 + len(NODES))
    host = socket.gethostname().split(".")[0]
    nodes = "\n".join(
        f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=8 State=UNKNOWN"
        for node, port in zip(NODES, slurmd, strict=True)
    )
    text = CONFIGURATION.format(host=host, ctld=ctld, folder=folder, nodes=nodes)
    (folder / "slurm.conf").write_text(text)
    for name in ("state", *(f"{kind}.{node}" for node in NODES for kind in ("spool", "tmp"))):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)


def descendants() -> list[int]:
    """All processes below this one; orphans of them too, as this process adopts them."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has just ended
    found = [os.getpid()]
    for pid in found:  # grows
        found += [child for child, parent in parents.items() if parent == pid]
    return found[1:]


def end_descendants() -> None:
    """Kills and reaps all processes below this one."""
    while pids := descendants():
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0] != 0:
                pass
        time.sleep(0.05)


def die_with_parent() -> None:
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Slurm:
    """The daemons, as children of this process. Its environment leads programs to them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        foreign = ("SLURM", "PMI", "OMPI", "PRTE")
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(foreign)}
        self.environment["SLURM_CONF"] = f"{folder}/slurm.conf"
        # Interfaces of other tests come and go; Open MPI would try them all, and dies of one that went.
        self.environment["OMPI_MCA_btl_tcp_if_include"] = "lo"

    def start(self, name: str, *arguments: str) -> None:
        with (self.folder / "daemons.log").open("ab") as log:
            subprocess.Popen(
                [name, *arguments],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=die_with_parent,
            )

    def start_all(self) -> None:
        options = [f"--{kind}-file={self.folder}/munge.{kind}" for kind in ("key", "pid", "seed", "log")]
        socket_name = f"{self.folder}/munge.socket"
        self.start("munged", "--foreground", "--force", f"--socket={socket_name}", *options)
        self.wait_for(lambda: os.path.exists(socket_name))
        self.start("slurmctld", "-D")
        for node in NODES:
            self.start("slurmd", "-D", "-N", node)
        self.wait_for(lambda: self.run("sinfo", "-h", "-o", "%T %D").stdout.strip() == f"idle {len(NODES)}")

    def wait_for(self, ready: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not ready():
            if time.monotonic() > end:
                raise TimeoutError((self.folder / "daemons.log").read_text(errors="replace"))
            time.sleep(0.1)

    def run(self, *command: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command,
            env=self.environment | variables,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )


@contextmanager
def slurm() -> Iterator[Slurm]:
    """A Slurm that is ready; gone afterwards with all its processes and files, whatever happens."""
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1)  # slurmd's helpers leave their parents, but not this process
    with TemporaryDirectory(prefix="ompl-slurm-") as name, ExitStack() as stack:
        folder = Path(name)
        folder.chmod(0o755)  # munged wants all to reach its socket
        configure(folder)
        stack.callback(end_descendants)
        started = Slurm(folder)
        started.start_all()
        yield started
