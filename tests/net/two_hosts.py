#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program as two ranks on two hosts: network namespaces joined by a pair of virtual Ethernet devices.
Needs root; without, it says so and exits with 77.

two_hosts.py [--seconds S] [--killed RANK] PROGRAM [ARG...]
    Starts the program twice, without a launcher. Passes if both exit with 0 in time, or, with --killed, if
    that rank dies of SIGKILL and the other exits with 0. The program finds in its environment
    TWO_HOSTS_RANK and TWO_HOSTS_FD, a stream socket that leads to the other rank.

two_hosts.py --omplrun OMPLRUN [--seconds S] [--keep-going] [--code N] [--expect TEXT] PROGRAM [ARG...]
    Starts a job of the library. Passes if omplrun exits with N (0) and its output has the text.

Either way OMPL_NODE_ID and OMPL_OFI_INTERFACE tell the library which host it is on.
"""

import argparse
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import NoReturn

SKIP = 77
INTERFACE = "net0"  # in each namespace
PREFIX = "ompl-two-hosts"


def skip(reason: str) -> NoReturn:
    print(f"skipped: {reason}")
    sys.exit(SKIP)


def ip(*args: str) -> None:
    subprocess.run(["ip", *args], check=True, timeout=30)


def remove_leftovers() -> None:
    """Namespaces of runs that were killed: their names carry the process that made them."""
    listed = subprocess.run(["ip", "netns", "list"], check=True, timeout=30, capture_output=True, text=True)
    for name, pid in re.findall(rf"^({PREFIX}-(\d+)-\d)\b", listed.stdout, re.MULTILINE):
        if not os.path.exists(f"/proc/{pid}"):
            ip("netns", "del", name)


def is_up(namespace: str) -> bool:
    """Whether the namespace's interface has seen its other end: a moment after both were set up."""
    command = ["ip", "-n", namespace, "link", "show", INTERFACE]
    shown = subprocess.run(command, check=True, timeout=30, capture_output=True, text=True)
    return "state UP" in shown.stdout


@contextmanager
def two_hosts() -> Iterator[list[str]]:
    """The names of two namespaces that reach each other; gone afterwards, whatever happens."""
    names = [f"{PREFIX}-{os.getpid()}-{host}" for host in (0, 1)]
    with ExitStack() as stack:
        for name in names:
            ip("netns", "add", name)
            stack.callback(ip, "netns", "del", name)  # and the devices with it
        ip(
            "link",
            "add",
            INTERFACE,
            "netns",
            names[0],
            "type",
            "veth",
            "peer",
            INTERFACE,
            "netns",
            names[1],
        )
        for host, name in enumerate(names):
            ip("-n", name, "addr", "add", f"10.77.0.{host + 1}/24", "dev", INTERFACE)
            for device in ("lo", INTERFACE):
                ip("-n", name, "link", "set", device, "up")
        limit = time.monotonic() + 10
        while not all(is_up(name) for name in names) and time.monotonic() < limit:
            time.sleep(0.02)
        yield names


def start(namespace: str, rank: int, channel: socket.socket, command: list[str]) -> subprocess.Popen[bytes]:
    environment = os.environ | {
        "TWO_HOSTS_RANK": str(rank),
        "TWO_HOSTS_FD": str(channel.fileno()),
        "OMPL_NODE_ID": f"host{rank}",
        "OMPL_OFI_INTERFACE": INTERFACE,
    }
    inside = ["ip", "netns", "exec", namespace, "setpriv", "--pdeathsig", "KILL", *command]
    return subprocess.Popen(inside, env=environment, pass_fds=[channel.fileno()])


def run_pair(names: list[str], args: argparse.Namespace) -> bool:
    """The program twice, by ourselves."""
    with ExitStack() as stack:
        channels = [stack.enter_context(channel) for channel in socket.socketpair()]
        ranks: list[subprocess.Popen[bytes]] = []
        for rank, (name, channel) in enumerate(zip(names, channels, strict=True)):
            ranks.append(start(name, rank, channel, args.program))
            stack.callback(ranks[rank].wait)
            stack.callback(ranks[rank].kill)
            channel.close()
        limit = time.monotonic() + args.seconds
        passed = True
        for rank, process in enumerate(ranks):
            try:
                code = process.wait(max(0.1, limit - time.monotonic()))
            except subprocess.TimeoutExpired:
                print(f"rank {rank} did not end in {args.seconds:g} s")
                passed = False
                continue
            if code != (-signal.SIGKILL if rank == args.killed else 0):
                print(f"rank {rank} ended with {code}")
                passed = False
        return passed


# Each rank of the job goes to its own host.
TO_ITS_HOST = f"""
export OMPL_NODE_ID=host$PMI_RANK OMPL_OFI_INTERFACE={INTERFACE}
exec ip netns exec "$0-$PMI_RANK" "$@"
"""


def run_job(names: list[str], args: argparse.Namespace) -> bool:
    """The program under omplrun."""
    launcher = [args.omplrun, "-n", "2", "--timeout", f"{args.seconds:g}"]
    if args.keep_going:
        launcher.append("--keep-going")
    command = [*launcher, "sh", "-c", TO_ITS_HOST, names[0].removesuffix("-0"), *args.program]
    done = subprocess.run(
        command,
        timeout=args.seconds + 10,
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    print(done.stdout, end="")
    print(f"omplrun exited with {done.returncode}, {args.code} is right")
    if args.expect not in done.stdout:
        print(f'there is no "{args.expect}" in its output')
    return done.returncode == args.code and args.expect in done.stdout


def stop(number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)  # through every `with`


def main() -> int:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--seconds", type=float, default=50)
    parser.add_argument("--killed", type=int, metavar="RANK")
    parser.add_argument("--omplrun", metavar="OMPLRUN")
    parser.add_argument("--keep-going", action="store_true")
    parser.add_argument("--code", type=int, default=0)
    parser.add_argument("--expect", default="", metavar="TEXT")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    if os.geteuid() != 0:
        skip("network namespaces need root")
    for needed in ("ip", "setpriv"):
        if shutil.which(needed) is None:
            skip(f"there is no {needed} (Debian: iproute2, util-linux)")
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    remove_leftovers()
    try:
        with two_hosts() as names:
            return 0 if (run_job if args.omplrun else run_pair)(names, args) else 1
    except subprocess.CalledProcessError as error:
        if error.cmd[1:3] == ["netns", "add"]:
            skip("this machine allows no network namespaces")
        raise


if __name__ == "__main__":
    sys.exit(main())
