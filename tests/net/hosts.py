#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program on hosts that are network namespaces on one bridge. Needs root; without, it says so and exits with 77.

hosts.py [--seconds S] [--killed RANK] PROGRAM [ARG...]
    Starts the program as two ranks on two hosts, without a launcher. Passes if both exit with 0 in time, or, with
    --killed, if that rank dies of SIGKILL and the other exits with 0. The program finds in its environment
    HOSTS_RANK and HOSTS_FD, a stream socket that leads to the other rank.

hosts.py --launcher KIND=PATH [--hosts LIST] [OPTION...] PROGRAM [ARG...]
    Starts a job of the library on so many hosts, once for each number of the list. Passes if the launcher exits with
    the right code, its output has the text, and all that --at asked for happened: then the file HOSTS_DISTURBED of the
    program's environment exists. See README.md.

Either form takes --set NAME=VALUE, as often as needed: it adds to the environment of the program.

Either way OMPL_NODE_ID and OMPL_NET_INTERFACE tell the library which host it is on."""

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread, Timer
from types import FrameType
from typing import NoReturn

import launchers
import network

SKIP = 77
GOING = "going"  # what a job says when it has begun


def start(namespace: str, rank: int, channel: socket.socket, command: list[str]) -> subprocess.Popen[bytes]:
    environment = os.environ | {
        "HOSTS_RANK": str(rank),
        "HOSTS_FD": str(channel.fileno()),
        "OMPL_NODE_ID": f"host{rank}",
        "OMPL_NET_INTERFACE": network.INTERFACE,
    }
    inside = ["ip", "netns", "exec", namespace, "setpriv", "--pdeathsig", "KILL", *command]
    return subprocess.Popen(inside, env=environment, pass_fds=[channel.fileno()])


def run_pair(hosts: list[str], args: argparse.Namespace) -> bool:
    """The program twice, by ourselves."""
    with ExitStack() as stack:
        channels = [stack.enter_context(channel) for channel in socket.socketpair()]
        ranks: list[subprocess.Popen[bytes]] = []
        for rank, (host, channel) in enumerate(zip(hosts, channels, strict=True)):
            ranks.append(start(host, rank, channel, args.program))
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
            if code == SKIP:  # said why
                sys.exit(SKIP)
            if code != (-signal.SIGKILL if rank == args.killed else 0):
                print(f"rank {rank} ended with {code}")
                passed = False
        return passed


class Disturber(Thread):
    """Does to the network what --at says, each at its time after the job began, and then makes the file."""

    def __init__(self, made: network.Network, actions: list[list[str]], file: Path) -> None:
        super().__init__(daemon=True)
        self.made = made
        self.file = file
        self.wanted = {action[1] for action in actions}
        self.left = list(actions)
        self.over = Event()
        self.hit = 0

    def run(self) -> None:
        began = time.monotonic()
        while self.left and not self.over.wait(began + float(self.left[0][0]) - time.monotonic()):
            _, name, *arguments = self.left[0]
            self.hit += getattr(self.made, name)(*arguments) or 0
            print(f"network: {name} {' '.join(arguments)}", flush=True)
            self.left.pop(0)
        if not self.left:
            self.file.touch()

    def finish(self) -> bool:
        """Heals the network; whether the job was disturbed as it should have been."""
        self.over.set()
        if self.ident:
            self.join()
        self.hit += self.made.heal()
        if self.left:
            print(f"network: the job ended before {self.left}")
        if not self.wanted:
            return True
        print(f"network: {self.hit} packets were dropped or held back")
        return not self.left and (self.hit > 0 or "unplug" in self.wanted)


def run_job(made: network.Network, launcher: launchers.Launcher, hosts: int, args: argparse.Namespace) -> bool:
    """The program under the launcher, one rank on each of the first so many hosts."""
    with TemporaryDirectory(prefix=f"{made.name}-") as folder:
        return run_disturbed_job(made, launcher, hosts, args, Path(folder) / "disturbed")


def run_disturbed_job(
    made: network.Network, launcher: launchers.Launcher, hosts: int, args: argparse.Namespace, file: Path
) -> bool:
    disturber = Disturber(made, args.at, file)
    expired = Event()
    program = ["env", f"HOSTS_DISTURBED={file}", *args.program] if args.at else args.program

    def expire() -> None:
        expired.set()
        for pid in launchers.descendants():
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(pid, signal.SIGKILL)

    output = ""
    with subprocess.Popen(
        launcher.command(made.name, args.ranks or hosts, hosts, program),
        env=launcher.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        preexec_fn=launchers.die_with_parent,
    ) as job:
        timer = Timer(args.seconds, expire)
        timer.start()
        assert job.stdout
        try:
            for line in job.stdout:
                print(line, end="", flush=True)
                output += line
                if GOING in line and args.at and not disturber.ident:
                    disturber.start()
            job.wait()
        except BaseException:
            expire()  # we are ended ourselves
            raise
        finally:
            timer.cancel()
            timer.join()
    passed = disturber.finish()
    print(f"{hosts} hosts: the launcher exited with {job.returncode}, {args.code} is right")
    if expired.is_set():
        print(f"the job did not end in {args.seconds:g} s")
    if args.expect not in output:
        print(f'there is no "{args.expect}" in its output')
    return passed and not expired.is_set() and job.returncode == args.code and args.expect in output


def run_jobs(made: network.Network, args: argparse.Namespace) -> bool:
    kind, path = args.launcher
    with launchers.launcher(kind, path, args.option) as launcher:
        return all(run_job(made, launcher, hosts, args) for hosts in args.hosts)


def timed_action(text: str) -> list[str]:
    """SECONDS ACTION [ARGUMENT]"""
    seconds, name, *arguments = text.split()
    if float(seconds) < 0 or network.ACTIONS.get(name) != len(arguments):
        raise ValueError
    return [seconds, name, *arguments]


def kind_and_path(text: str) -> tuple[str, str]:
    """KIND=PATH"""
    kind, path = text.split("=", 1)
    if kind not in launchers.COMMANDS:
        raise ValueError
    return kind, path


def stop(number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)  # through every `with`


def main() -> int:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--seconds", type=float, default=240, help="for each job")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--killed", type=int, metavar="RANK")
    parser.add_argument("--launcher", type=kind_and_path, metavar="KIND=PATH")
    parser.add_argument("--option", action="append", default=[], help="one of the launcher's")
    parser.add_argument("--hosts", type=lambda text: [int(count) for count in text.split(",")], default=[2])
    parser.add_argument("--ranks", type=int, help="as many as hosts if not given")
    parser.add_argument("--code", type=int, default=0)
    parser.add_argument("--expect", default="", metavar="TEXT")
    parser.add_argument("--give-up", type=int, metavar="RETRIES", help="of TCP, before a connection is broken")
    parser.add_argument("--mtu", metavar="BYTES", help="of a packet, at most")
    parser.add_argument("--at", type=timed_action, action="append", default=[], metavar="'SECONDS ACTION [ARGUMENT]'")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    os.environ.update(setting.split("=", 1) for setting in args.set)
    if reason := network.why_not() or (launchers.why_not(*args.launcher) if args.launcher else ""):
        print(f"skipped: {reason}")
        return SKIP
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    network.remove_leftovers()
    try:
        with network.network(max(args.hosts)) as made:
            network.enter(made.hub)
            if args.give_up:
                made.give_up_after(args.give_up)
            if args.mtu:
                made.mtu(args.mtu)
            return 0 if (run_jobs(made, args) if args.launcher else run_pair(made.hosts, args)) else 1
    except subprocess.CalledProcessError as error:
        if error.cmd[1:3] == ["netns", "add"]:
            print("skipped: this machine allows no network namespaces")
            return SKIP
        raise


if __name__ == "__main__":
    sys.exit(main())
