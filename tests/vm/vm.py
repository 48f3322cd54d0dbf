#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a command in throw-away virtual machines that have a Soft-RoCE InfiniBand device.

vm.py [OPTION...] COMMAND [ARG...]
    Runs it in each guest; one word alone is a line for bash. What it writes comes out here line by line, and
    its exit status is this one's: of two, the first that is not 0. See README.md for what a guest is.

Exits with 77 if there is no qemu or no image, and with 125 and the guest's console if a guest did not boot,
or did not finish in time. Afterwards the guests and the temporary folder are gone, whatever happens."""

import argparse
import ctypes
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import mkdtemp
from types import FrameType
from typing import BinaryIO, NoReturn

import image

SKIP = 77
NOT_FINISHED = 125
QEMU = "qemu-system-x86_64"
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)
ACCELERATORS = {
    "tcg": ["-accel", "tcg,thread=multi", "-cpu", "max,la57=off"],
    "kvm": ["-accel", "kvm", "-cpu", "host"],
}


def why_not(folder: Path = image.FOLDER) -> str:
    """What is missing to run guests here; nothing if all is there."""
    if shutil.which(QEMU) is None:
        return f"there is no {QEMU} (Debian: qemu-system-x86)"
    return "" if image.is_ready(folder) else f"no image in {folder}, or an old one; tests/vm/image.py makes it"


def stop(number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)  # through every `with`


def die_with_parent() -> None:
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


@contextmanager
def folders(job: Path | None) -> Iterator[tuple[Path, Path]]:
    """A temporary folder for this run, and the one that the guests share, below it if none is given. Nothing
    of ours stays in either: a process that is no child of ours removes it if we are killed."""
    own = Path(mkdtemp(prefix="ompl-vm-"))
    shared = job or own / "job"
    ours = shared / ".vm"
    wait_and_remove = 'cat; for i in $(seq 300); do rm -rf "$@" && exit; sleep 0.2; done'
    command = ["setsid", "--fork", "sh", "-c", wait_and_remove, "sh", str(ours), str(own)]
    heir = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        ours.mkdir(parents=True)
        yield own, shared
    finally:
        shutil.rmtree(ours)
        shutil.rmtree(own)
        assert heir.stdin
        heir.stdin.close()
        heir.wait()


class Follower:
    """Copies a growing file to a stream, whole lines at a time."""

    def __init__(self, path: Path, target: BinaryIO) -> None:
        path.touch()
        self.file = path.open("rb")
        self.target = target
        self.rest = b""

    def copy(self, last: bool = False) -> None:
        data = self.rest + self.file.read()
        end = len(data) if last else data.rfind(b"\n") + 1
        self.rest = data[end:]
        if end:
            self.target.write(data[:end])
            self.target.flush()


class Guest:
    def __init__(self, number: int, own: Path, shared: Path, args: argparse.Namespace) -> None:
        self.name = f"guest {number}"
        self.console = own / f"console.{number}"
        self.status = shared / f".vm/status.{number}"
        self.followers = [
            Follower(shared / f".vm/stdout.{number}", sys.stdout.buffer),
            Follower(shared / f".vm/stderr.{number}", sys.stderr.buffer),
        ]
        words = f"console=ttyS0 quiet no_timer_check panic=-1 mitigations=off random.trust_cpu=on vm.id={number}"
        command = [QEMU, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-M", "q35"]
        command += [*ACCELERATORS[args.accelerator], "-smp", str(args.cpus), "-m", str(args.memory)]
        command += ["-kernel", f"{args.image}/vmlinux", "-initrd", f"{args.image}/initrd"]
        command += ["-append", f"{words} vm.guests={args.guests}", "-serial", f"file:{self.console}"]
        for tag, path, extra in ("root", Path("/"), ",readonly=on,multidevs=remap"), ("job", shared, ""):
            command += ["-fsdev", f"local,id={tag},path={path},security_model=none{extra}"]
            command += ["-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]
        if args.guests == 2:
            ends = f"local.type=unix,local.path={own}/net.{number},remote.type=unix,remote.path={own}/net.{1 - number}"
            command += ["-netdev", f"dgram,id=net,{ends}"]
            command += ["-device", f"virtio-net-pci,netdev=net,mac=52:54:00:00:00:0{number + 1},host_mtu=9000,romfile="]
        with self.console.open("wb") as console:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=console, stderr=console, preexec_fn=die_with_parent
            )

    def follow(self) -> bool:
        """Passes on what came; whether the guest is still there."""
        ended = self.process.poll() is not None
        for follower in self.followers:
            follower.copy(last=ended)
        return not ended

    def result(self) -> int | None:
        """What the command ended with, once the guest is gone; None if it did not."""
        return int(self.status.read_text()) if self.status.exists() else None

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.follow()


def over(guests: list[Guest]) -> bool:
    """Whether all have ended, or one without a result: the other might wait for it for ever."""
    ended = [guest for guest in guests if not guest.follow()]
    return len(ended) == len(guests) or any(guest.result() is None for guest in ended)


def run(args: argparse.Namespace, own: Path, shared: Path) -> int:
    line = args.command[0] if len(args.command) == 1 else shlex.join(args.command)
    (shared / ".vm/command").write_text(line + "\n")
    with ExitStack() as stack:
        guests: list[Guest] = []
        for number in range(args.guests):
            guests.append(Guest(number, own, shared, args))
            stack.callback(guests[number].end)
        limit = time.monotonic() + args.seconds
        expired = False
        while not over(guests) and not expired:
            time.sleep(0.05)
            expired = time.monotonic() > limit
    status = 0
    for guest in guests:
        result = guest.result()
        if result is None or args.console:
            print(f"vm: the console of {guest.name}:\n{guest.console.read_text(errors='replace')}", file=sys.stderr)
        if result is None:
            why = f"within {args.seconds:g} s" if expired else "before it or the other one ended"
            print(f"vm: {guest.name} did not finish {why}, see above", file=sys.stderr)
            status = NOT_FINISHED
        status = status or result or 0
    return status


def main() -> int:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--guests", type=int, choices=(1, 2), default=1)
    parser.add_argument("--cpus", type=int, default=2, help="of each guest")
    parser.add_argument("--memory", type=int, default=512, metavar="MIB", help="of each guest")
    parser.add_argument("--seconds", type=float, default=240, help="from the start of the boot")
    parser.add_argument("--job", type=Path, metavar="FOLDER", help="shared with the guests as /run/job, and kept")
    parser.add_argument("--console", action="store_true", help="show the guests' consoles at the end")
    parser.add_argument("--accelerator", choices=ACCELERATORS, default="tcg")
    parser.add_argument("--image", type=Path, default=image.FOLDER, metavar="FOLDER")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    if not args.command:
        parser.error("which command?")
    if reason := why_not(args.image):
        print(f"skipped: {reason}")
        return SKIP
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    with folders(args.job and args.job.resolve(strict=True)) as (own, shared):
        return run(args, own, shared)


if __name__ == "__main__":
    sys.exit(main())
