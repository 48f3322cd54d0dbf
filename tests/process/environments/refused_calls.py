#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs without one system call each: refused_calls.py [--conduit NAME] BUILD_DIR [CALL...]

Each call that a start, a run with sleeping threads, a failure and an end make is refused in turn, as a container's
seccomp profile refuses it (EPERM) and as an old kernel does (ENOSYS): to the ranks and, over shm, to omplrun with
them. The job works, works with a warning, or fails with a line that says why; it does not hang, and nobody dies by
a signal. A call without which not even a program of C++ runs is left out, and so are write, without which nobody
could say anything, and exit, without which no thread ends."""

import argparse
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

LIMIT_S = 300.0  # of omplrun with its ranks, which has less itself
LOADER = [sys.executable, str(Path(__file__).with_name("system_calls.py"))]
# The forms of futex are named by bits of its second argument, the operation: those on words that processes share; of
# them the one that wakes, and the one that waits.
FUTEX = ["futex", "futex:1:128:0", "futex:1:255:1", "futex:1:255:0"]
# What strace shows of omplrun and its ranks over shm.
CALLS = """
    access bind clone close close_range dup2 epoll_create1 epoll_ctl epoll_wait fallocate fchmod fcntl ftruncate
    getdents64 geteuid getpid getppid getrandom getrusage getsockopt gettid ioctl kill listen lseek madvise
    memfd_create munmap newfstatat pidfd_open pidfd_send_signal pipe2 poll prctl pread64 prlimit64 recvfrom rseq
    rt_sigaction rt_sigprocmask rt_sigsuspend sched_getaffinity sched_getscheduler sched_setaffinity sched_yield
    sendto set_robust_list set_tid_address setpgid setsid signalfd4 socket socketpair tgkill timer_create
    timer_settime unlink wait4 waitid"""
# And of the ranks over TCP, libfabric and UCX.
NETWORK_CALLS = """
    accept accept4 clock_nanosleep clone3 connect epoll_create eventfd2 get_mempolicy getpeername getsockname getuid
    process_vm_writev readlink recvmsg sendmsg set_mempolicy setsockopt shmat shmctl shmdt shmget shutdown
    statfs sysinfo timerfd_create timerfd_settime uname"""
# A job says so, by a warning or an error, where one of these is refused.
MUST_SAY = {*FUTEX, "fallocate", "fchmod", "ftruncate", "memfd_create", "pidfd_open", "pipe2", "poll"}


def conduits(build: Path) -> list[str]:
    """Those of this build and machine that a job of one host can use."""
    info = [str(build / "bin/ompl-info")]
    listed = subprocess.run(info, text=True, capture_output=True, timeout=LIMIT_S, check=True).stdout
    return ["shm", "tcp", *(name for name in ("ofi", "ucx") if re.search(rf"^ *{name}\b", listed, re.MULTILINE))]


def command(build: Path, rule: str, *options: str) -> list[str]:
    worker = str(build / "bin/tests/rules_worker")
    return [str(build / "bin/omplrun"), "-n", "3", "--timeout", "200", *options, worker, rule]


def run(words: list[str], conduit: str) -> "subprocess.CompletedProcess[str]":
    """To its end; status 124 if there is none."""
    environment = {
        **os.environ,
        "OMPL_SPIN": "0",  # threads that wait sleep at once
        "OMPL_YIELDS": "0",
        "OMPL_CONDUITS": f"self,{conduit}",
        "OMPL_ENDPOINTS": "1",
        "UCX_TLS": "tcp,self",
        "UCX_KEEPALIVE_INTERVAL": "1s",
    }
    with subprocess.Popen(
        words, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as started:
        try:
            out, err = started.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            out, err = started.communicate()
            return subprocess.CompletedProcess(words, 124, out, err)
    return subprocess.CompletedProcess(words, started.returncode, out, err)


def verdict(rule: str, done: "subprocess.CompletedProcess[str]") -> str:
    """works, warns or fails; anything else is wrong."""
    words = done.stderr
    if done.returncode == 124 or "did not end within" in words:
        return "HANGS"
    if done.returncode < 0 or done.returncode >= 128 or "was killed by" in words:
        return f"DIES with {done.returncode}"
    if done.returncode == 0 or (rule == "survivors" and done.stdout.count("noticed") == 2):
        return "warns" if "warning: " in words else "works"
    clear = any(" error: " in line or line.startswith("omplrun: ") for line in words.splitlines())
    return "fails" if clear else f"FAILS without a word, {done.returncode}"


def no_program_runs(refuse: list[str]) -> bool:
    """Not even one of C++ with nothing of ours."""
    plain = subprocess.run([*refuse, "cmake", "--version"], capture_output=True, check=False, timeout=LIMIT_S)
    return plain.returncode != 0


def said(done: "subprocess.CompletedProcess[str]") -> str:
    lines = [line for line in done.stderr.splitlines() if "UCX" not in line]
    return next((line for line in lines if "warning: " in line or "error: " in line), lines[0] if lines else "")


def look(build: Path, conduit: str, call: str, error: str, where: str) -> bool:
    """Whether jobs without the call do as they should."""
    refuse = [*LOADER, "refuse", error, call, "--"]
    name = call.partition(":")[0]
    # Without futexes a program that includes <iostream> aborts before its main(); ours do not include it.
    if name != "futex" and no_program_runs(refuse):
        print(f"{call} {error}: no program runs without it", flush=True)
        return True
    right = True
    for rule in ("sleepers", "survivors"):
        words = command(build, rule, *(["--keep-going"] if rule == "survivors" else []))
        if where == "all":
            words = [*refuse, *words]
        else:
            words[-2:-2] = refuse
        done = run(words, conduit)
        found = verdict(rule, done)
        good = found in ("works", "warns", "fails")
        if conduit == "shm" and call in MUST_SAY:
            good = good and found != "works" and name in done.stderr
        right = right and good
        print(f"{call} {error} {where} {rule}: {found}{'' if good else ', WRONG'} {said(done)[:150]}", flush=True)
        if not good:
            print(done.stdout + done.stderr)
    return right


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--conduit", default="shm")
    parser.add_argument("build", type=Path)
    parser.add_argument("calls", nargs="*")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    conduit = arguments.conduit
    if conduit not in conduits(build):
        print(f"{conduit} is not usable here")
        sys.exit(77)
    listed = CALLS if conduit == "shm" else CALLS + NETWORK_CALLS
    calls = arguments.calls or FUTEX + listed.split()
    places = ("ranks", "all") if conduit == "shm" else ("ranks",)
    cases = [(call, error, where) for call in calls for error in ("EPERM", "ENOSYS") for where in places]
    right = [look(build, conduit, call, error, where) for call, error, where in cases]
    sys.exit(not all(right))


if __name__ == "__main__":
    main()
