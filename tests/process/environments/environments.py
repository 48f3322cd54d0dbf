#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A job in many environments: environments.py BUILD_DIR [NAME...]

In each it works, works with a warning, or fails with a clear error; it never hangs, and no rank dies by a signal.
Prints a line for each."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

LIMIT_S = 240.0
WORKS, WARNS, FAILS = "works", "warns", "fails"
REFUSE = f"{sys.executable} {Path(__file__).with_name('system_calls.py')} refuse"
NO_PROC = "mount -t tmpfs none /proc"
TCP = "export OMPL_CONDUITS=self,tcp"


@dataclass(frozen=True)
class Environment:
    """What a rank's shell does first, what its program is wrapped into, and what omplrun's shell does first, where {}
    stands for omplrun, which otherwise comes last."""

    name: str
    allowed: tuple[str, ...] = (WORKS,)
    first: str = "true"
    wrap: str = ""
    around: str = "true"
    only: bool = False  # rank 1, not all
    options: str = ""  # of omplrun
    ranks: int = 3
    rule: str = "everybody"  # of rules_worker; survivors: rank 1 ends, and the others must notice
    says: str = ""


def inside(commands: str, more: str = "") -> str:
    """A wrapper: these commands in a mount namespace of its own, then another wrapper."""
    return f"unshare --mount sh -c '{commands}; exec \"$@\"' sh {more}"


def without(*calls: str, error: str = "ENOSYS") -> str:
    """A wrapper: without these system calls."""
    return f"{REFUSE} {error} {' '.join(calls)} --"


ENVIRONMENTS = [
    Environment("nothing special"),
    # Limits
    Environment("64 descriptors", first="ulimit -n 64"),
    Environment("a soft limit of 20 descriptors", first="ulimit -Sn 20"),
    Environment("10 descriptors", (WARNS, FAILS), first="ulimit -n 10", says="open"),
    Environment("files of 100 KiB", (FAILS,), first="ulimit -f 100", says="ulimit -f"),
    Environment("files of 100 KiB for one rank", (FAILS,), first="ulimit -f 100", only=True, says="ulimit -f"),
    Environment("address space of 1 GB", (FAILS,), first="ulimit -v 1000000", says="ulimit -v"),
    Environment("address space for one segment", (WARNS, FAILS), first="ulimit -v 20000000", says="memory"),
    Environment("the same for one rank", (WARNS, FAILS), first="ulimit -v 20000000", only=True, says="memory"),
    Environment("no locked memory", first="ulimit -l 0"),
    Environment("stacks of 256 KiB", first="ulimit -s 256"),
    Environment("core dumps allowed", first="ulimit -c unlimited"),
    # Namespaces of each rank, and of one
    Environment("user namespaces", wrap="unshare --user --map-root-user"),
    Environment("a user namespace for one rank", wrap="unshare --user --map-root-user", only=True),
    Environment("PID namespaces", wrap="unshare --pid --fork --kill-child"),
    Environment("a PID namespace for one rank", wrap="unshare --pid --fork --kill-child", only=True),
    Environment("PID namespaces with their own /proc", wrap="unshare --pid --fork --kill-child --mount-proc"),
    Environment("user and PID namespaces", wrap="unshare --user --map-root-user --pid --fork --kill-child"),
    Environment("PID namespaces, and a rank dies", rule="survivors", options="--keep-going",
                wrap="unshare --pid --fork --kill-child --mount-proc"),
    Environment("no /proc, and a rank dies", wrap=inside(NO_PROC), rule="survivors", options="--keep-going"),
    Environment("user namespaces, and a rank dies", wrap="unshare --user --map-root-user", rule="survivors",
                options="--keep-going"),
    Environment("network namespaces", wrap="unshare --net"),
    Environment("a network namespace for one rank", wrap="unshare --net", only=True),
    Environment("user and network namespaces", (WARNS, FAILS), wrap="unshare --user --map-root-user --net",
                says="no socket leads to it"),
    Environment("PID and network namespaces", (FAILS,), says="--network host",
                wrap="unshare --pid --fork --kill-child --net"),
    Environment("PID, network, IPC, mount namespaces for all together",
                around="exec unshare --pid --fork --kill-child --mount-proc --net --ipc --uts {}"),
    Environment("a user namespace without privileges for all together", around="exec unshare --user --net --ipc {}"),
    Environment("IPC and UTS namespaces", wrap="unshare --ipc --uts"),
    Environment("cgroup namespaces", wrap="unshare --cgroup"),
    # What is missing
    Environment("no /proc", wrap=inside(NO_PROC)),
    Environment("no /proc for one rank", wrap=inside(NO_PROC), only=True),
    Environment("no /proc for omplrun either", around=f"{NO_PROC}", wrap=""),
    Environment("processes of others hidden in /proc", around="mount -t proc -o hidepid=2 none /proc",
                wrap="setpriv --reuid 65534 --regid 65534 --clear-groups"),
    Environment("no /dev", around="mount -t tmpfs none /dev"),
    Environment("no /proc, /sys, /dev, HOME, /tmp", first="unset HOME",
                around=f"for i in sys dev tmp; do mount -t tmpfs -o ro none /$i; done; {NO_PROC}"),
    Environment("nothing can be written", around="mount -o remount,ro,bind / && mount -t tmpfs -o ro none /tmp"),
    Environment("no /sys, no /dev/shm", wrap=inside("mount -t tmpfs none /sys; mount -t tmpfs none /dev/shm")),
    Environment("no HOME, no writable folder for temporary files", first="unset HOME; export TMPDIR=/nowhere"),
    Environment("a folder that is gone", first="d=$(mktemp -d) && cd $d && rmdir $d"),
    Environment("closed standard streams of omplrun", around="exec <&- 2>&-"),
    Environment("SIGCHLD and SIGPIPE ignored", around="trap '' CHLD PIPE"),
    # Refused system calls
    # each of them alone: refused_calls.py
    Environment("no pidfd_open", (WARNS,), wrap=without("pidfd_open"), says="pidfd_open"),
    Environment("no pidfd_open, close_range, pidfd_send_signal, clone3", (WARNS,),
                wrap=without("pidfd_open", "close_range", "pidfd_send_signal", "clone3")),
    Environment("no memfd_create", (WARNS,), wrap=without("memfd_create"), says="memfd_create"),
    Environment("no memfd_create for one rank", wrap=without("memfd_create"), only=True),
    Environment("no memfd_create, no /dev/shm", (FAILS,), says="memfd_create",
                wrap=inside("mount -t tmpfs none /dev", without("memfd_create"))),
    Environment("no memfd_create, 16 KiB in /dev/shm", (FAILS,), says="cannot commit",
                wrap=inside("mount -t tmpfs -o size=16k none /dev/shm", without("memfd_create"))),
    Environment("no fallocate, no memfd_create, 16 KiB in /dev/shm", (FAILS,), says="cannot commit",
                wrap=inside("mount -t tmpfs -o size=16k none /dev/shm", without("memfd_create", "fallocate"))),
    Environment("no madvise", wrap=without("madvise")),
    Environment("no fallocate, no madvise", (FAILS,), wrap=without("fallocate", "madvise"), says="fallocate"),
    Environment("no getrandom", wrap=without("getrandom")),
    Environment("no getrandom for omplrun either, no /dev",
                around=f"mount -t tmpfs none /dev; exec {without('getrandom')} {{}}"),
    Environment("no sched_getaffinity, sched_yield", wrap=without("sched_getaffinity", "sched_yield")),
    Environment("no process_vm_readv, ptrace", wrap=without("process_vm_readv", "ptrace")),
    Environment("no sockets", (WARNS,), wrap=without("socket"), says="Unix socket"),
    Environment("no sockets, no /proc", (FAILS,), says="has no Unix socket", wrap=inside(NO_PROC, without("socket"))),
    Environment("no futexes for one rank", (FAILS,), wrap=without("futex"), only=True, says="futex"),
    Environment("no wake-ups for one rank", (WARNS,), only=True, says="futex",
                wrap=without("futex:1:255:1", error="EPERM")),
    # Over TCP
    Environment("TCP", around=TCP),
    Environment("TCP, and a rank dies", around=TCP, rule="survivors", options="--keep-going"),
    Environment("TCP, 64 descriptors", around=TCP, first="ulimit -n 64"),
    Environment("TCP, 8 descriptors", (WARNS, FAILS), around=TCP, first="ulimit -n 8", says="open files"),
    Environment("TCP, user namespaces", around=TCP, wrap="unshare --user --map-root-user"),
    Environment("TCP, PID namespaces with their own /proc", around=TCP,
                wrap="unshare --pid --fork --kill-child --mount-proc"),
    Environment("TCP, no /proc, /sys, /dev, HOME, /tmp", first="unset HOME",
                around=f"for i in sys dev tmp; do mount -t tmpfs -o ro none /$i; done; {NO_PROC}; {TCP}"),
    Environment("TCP, network namespaces", (FAILS,), around=TCP, wrap="unshare --net", says="address of IP"),
    Environment("TCP, a network namespace for all together with the loopback alone",
                around=f"{TCP}; exec unshare --net sh -c 'ip link set lo up; exec \"$@\"' sh {{}}"),
    Environment("TCP, no accept4", (FAILS,), around=TCP, wrap=without("accept4"), says="accept4"),
    Environment("TCP, no getrandom, no pidfd_open", (WORKS, WARNS), around=TCP,
                wrap=without("getrandom", "pidfd_open"), says="pidfd_open"),
    Environment("TCP, no sockets", (FAILS,), around=TCP, wrap=without("socket"), says="address of IP"),
    Environment("TCP, no options of sockets", (FAILS,), around=TCP, wrap=without("setsockopt"), says="listen"),
    Environment("TCP, another user, without capabilities", around=TCP,
                wrap="setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all --inh-caps -all"),
    Environment("TCP, one processor", around=TCP, wrap="taskset -c 0", options="--bind none"),
    # Scheduling and rights
    Environment("the last processor only", wrap="sh -c 'exec taskset -c $(($(nproc --all) - 1)) \"$@\"' sh",
                options="--bind none"),
    Environment("one processor", wrap="taskset -c 0", options="--bind none"),
    Environment("idle priority", wrap="chrt --idle 0"),
    Environment("real-time priority on one processor", wrap="chrt --fifo 1 taskset -c 0", options="--bind none"),
    Environment("another user", wrap="setpriv --reuid 65534 --regid 65534 --clear-groups"),
    Environment("another user for one rank", (WARNS, FAILS), only=True, says="is on this node",
                wrap="setpriv --reuid 65534 --regid 65534 --clear-groups"),
    Environment("no new privileges", wrap="setpriv --no-new-privs"),
    Environment("no capabilities", wrap="setpriv --bounding-set -all --inh-caps -all"),
    Environment("many ranks on few processors", ranks=24),
    Environment("a job inside a rank", options="-n 1 --no-prefix {omplrun}", ranks=2),
]  # fmt: skip


def classify(rule: str, done: "subprocess.CompletedProcess[str]") -> str:
    """Which of the three it was; else what went wrong."""
    if done.returncode == 124:
        return "hangs"
    if done.returncode >= 128 or "was killed by" in done.stderr:
        return f"dies with {done.returncode}"
    if done.returncode == 0 or (rule == "survivors" and done.stdout.count("noticed") == 2):
        return WARNS if "warning" in done.stderr else WORKS
    clear = any(" error: " in line or line.startswith("omplrun: ") for line in done.stderr.splitlines())
    return FAILS if clear else f"fails without a word, {done.returncode}"


def possible(environment: Environment) -> bool:
    """Whether this machine allows it at all."""
    script = f"{environment.first}; exec {environment.wrap} true"
    return subprocess.run(["sh", "-c", script], capture_output=True, timeout=LIMIT_S, check=False).returncode == 0


def run(build: Path, environment: Environment) -> "subprocess.CompletedProcess[str]":
    program = f"{build}/bin/tests/rules_worker {environment.rule}"
    changed = f"{environment.first}; exec {environment.wrap} {program}"
    rank = f"[ $PMI_RANK = 1 ] || exec {program}; {changed}" if environment.only else changed
    options = environment.options.format(omplrun=f"{build}/bin/omplrun")
    omplrun = f"{build}/bin/omplrun {options} -n {environment.ranks} --timeout 100 sh -c \"$0\""
    apart = ["unshare", "--mount"] if "mount" in environment.around else []
    around = environment.around if "{}" in environment.around else f"{environment.around}; exec {{}}"
    return subprocess.run(
        [*apart, "sh", "-ec", around.format(omplrun), rank],
        capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip


def main(build: Path, names: list[str]) -> None:
    failed = 0
    for environment in ENVIRONMENTS:
        if names and environment.name not in names:
            continue
        if not possible(environment):
            print(f"{environment.name}: not possible here", flush=True)
            continue
        done = run(build, environment)
        found = classify(environment.rule, done)
        right = found in environment.allowed and (found == WORKS or environment.says in done.stderr)
        failed += not right
        said = next((line for line in done.stderr.splitlines() if "warning" in line or "error" in line), "")
        print(f"{environment.name}: {found}{'' if right else ', WRONG'} {said[:150]}", flush=True)
        if not right:
            print(done.stdout + done.stderr)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])
