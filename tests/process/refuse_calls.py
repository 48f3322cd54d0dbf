#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program without some system calls of x86-64: refuse_calls.py NUMBER[:VALUE]... -- PROGRAM [ARG...]

With a VALUE only those are refused whose second argument is that number."""

import ctypes
import errno
import os
import struct
import sys


def refuse_calls(*calls: tuple[int, int | None]) -> None:
    """These system calls fail with ENOSYS from now on, here and in children, as in an old kernel or a container."""
    load, equal, give, allow, refuse = 0x20, 0x15, 0x06, 0x7FFF0000, 0x00050000 | errno.ENOSYS
    second_argument = 24  # where it is in what BPF is given; the number of the call comes first
    steps = []
    for number, value in calls:
        steps.append((load, 0, 0, 0))
        if value is None:
            steps += [(equal, 0, 1, number), (give, 0, 0, refuse)]
        else:
            steps += [(equal, 0, 3, number), (load, 0, 0, second_argument), (equal, 0, 1, value), (give, 0, 0, refuse)]
    steps.append((give, 0, 0, allow))
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    described = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(program))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, set_filter, by_filter = 38, 22, 2
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.prctl(set_filter, by_filter, described, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def parsed(call: str) -> tuple[int, int | None]:
    """NUMBER or NUMBER:VALUE."""
    number, _, value = call.partition(":")
    return int(number), int(value) if value else None


if __name__ == "__main__":
    split = sys.argv.index("--")
    refuse_calls(*map(parsed, sys.argv[1:split]))
    os.execvp(sys.argv[split + 1], sys.argv[split + 1 :])
