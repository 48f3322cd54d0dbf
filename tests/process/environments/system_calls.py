#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program under a seccomp filter, by libseccomp.

system_calls.py refuse ERROR CALL... -- PROGRAM [ARG...]
    These system calls fail with that error (EPERM or ENOSYS), as in a container or an old kernel. A call is a name, or
    NAME:ARGUMENT:MASK:VALUE, which is that call with these bits of an argument.
system_calls.py profile FILE [CAPABILITY...] -- PROGRAM [ARG...]
    A container runtime's profile in JSON, as for a container that has these capabilities."""

import ctypes
import errno
import json
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ALLOW = 0x7FFF0000
COMPARISONS = {"NE": 1, "LT": 2, "LE": 3, "EQ": 4, "GE": 5, "GT": 6, "MASKED_EQ": 7}
MACHINES = {"x86_64": {"amd64", "x32", "x86"}, "aarch64": {"arm64", "arm"}}


def refusal(error: int) -> int:
    """The action that lets a call fail."""
    return 0x00050000 | error


class Comparison(ctypes.Structure):
    """libseccomp's scmp_arg_cmp."""

    _fields_ = (
        ("argument", ctypes.c_uint),
        ("operation", ctypes.c_int),
        ("value", ctypes.c_uint64),
        ("second", ctypes.c_uint64),
    )


class Filter:
    """What happens to each system call of this process and its children, once it is loaded."""

    def __init__(self, default: int) -> None:
        try:
            self.library = ctypes.CDLL("libseccomp.so.2")
        except OSError:
            print("libseccomp.so.2 is not installed", file=sys.stderr)
            sys.exit(77)
        self.library.seccomp_init.restype = ctypes.c_void_p
        self.library.seccomp_syscall_resolve_name.argtypes = [ctypes.c_char_p]
        self.default = default
        self.context = ctypes.c_void_p(self.library.seccomp_init(ctypes.c_uint32(default)))
        if not self.context:
            raise OSError("seccomp_init")

    def knows(self, name: str) -> bool:
        """Whether the library, and so this processor, has a call of that name."""
        return bool(self.library.seccomp_syscall_resolve_name(name.encode()) >= 0)

    def add(self, action: int, name: str, comparisons: list[Comparison]) -> None:
        """For that call, with arguments that fulfil all comparisons. Calls that the library does not know are left out,
        as container runtimes do."""
        if action == self.default or not self.knows(name):
            return
        number = self.library.seccomp_syscall_resolve_name(name.encode())
        array = (Comparison * len(comparisons))(*comparisons)
        code = self.library.seccomp_rule_add_array(
            self.context, ctypes.c_uint32(action), number, len(comparisons), array
        )
        if code < 0:
            raise OSError(-code, f"seccomp_rule_add: {name}")

    def load(self) -> None:
        """From now on."""
        code = self.library.seccomp_load(self.context)
        if code < 0:
            raise OSError(-code, "seccomp_load")


def refuse_calls(error: int, *calls: str) -> None:
    """These system calls fail with that error from now on, here and in children."""
    made = Filter(ALLOW)
    for call in calls:
        name, *numbers = call.split(":")
        comparisons = []
        if numbers:
            argument, mask, value = (int(number, 0) for number in numbers)
            comparisons.append(Comparison(argument, COMPARISONS["MASKED_EQ"], mask, value))
        if not made.knows(name):
            raise ValueError(f"no system call {name}")
        made.add(refusal(error), name, comparisons)
    made.load()


def concerns(rule: dict[str, Any], capabilities: set[str]) -> bool:
    """Whether a rule of a profile is for this processor, kernel and container."""
    machine = MACHINES[platform.machine()]
    includes, excludes = rule.get("includes") or {}, rule.get("excludes") or {}
    kernel = tuple(int(number) for number in platform.release().split("-")[0].split(".")[:2])
    if "minKernel" in includes and kernel < tuple(map(int, includes["minKernel"].split("."))):
        return False
    wanted = set(includes.get("caps") or [])
    unwanted = set(excludes.get("caps") or [])
    return (
        machine.isdisjoint(excludes.get("arches") or [])
        and not (includes.get("arches") and machine.isdisjoint(includes["arches"]))
        and wanted <= capabilities
        and unwanted.isdisjoint(capabilities)
    )


def rules_of(profile: dict[str, Any], capabilities: set[str]) -> Iterator[tuple[int, str, list[Comparison]]]:
    """What a profile says of each call: the action and the comparisons of arguments."""
    for rule in profile["syscalls"]:
        if not concerns(rule, capabilities):
            continue
        # An error of its own, or that of the profile, or EPERM.
        error = rule.get("errnoRet")
        action = ALLOW if rule["action"] == "SCMP_ACT_ALLOW" else refusal(errno.EPERM if error is None else error)
        comparisons = [
            Comparison(
                one["index"], COMPARISONS[one["op"].removeprefix("SCMP_CMP_")], one["value"], one.get("valueTwo", 0)
            )
            for one in rule.get("args") or []
        ]
        for name in rule.get("names") or [rule["name"]]:
            yield action, name, comparisons


def apply_profile(path: Path, capabilities: set[str]) -> None:
    """From now on, here and in children."""
    profile = json.loads(path.read_text())
    error = profile.get("defaultErrnoRet")
    made = Filter(refusal(errno.EPERM if error is None else error))
    for action, name, comparisons in rules_of(profile, capabilities):
        made.add(action, name, comparisons)
    made.load()


def main() -> None:
    split = sys.argv.index("--")
    what, first, *rest = sys.argv[1:split]
    if what == "refuse":
        refuse_calls(getattr(errno, first), *rest)
    else:
        apply_profile(Path(first), set(rest))
    os.execvp(sys.argv[split + 1], sys.argv[split + 1 :])


if __name__ == "__main__":
    main()
