# SPDX-License-Identifier: BSD-3-Clause
"""A mock of a worker, hostile on purpose: speaks the driver's protocol, and misbehaves as told.

hostile_worker.py MODE [--fail-at SIZE] [--fail-op OP] [--nth N] [--mark FILE] [--ranks N] ...
MODE: good, hang, crash, corrupt, babble, mute, refuse.
It fails when asked the Nth time for a message of SIZE bytes (default: any) by the operation OP (default: any). Before
it hangs it makes FILE. As a worker of halo exchange it refuses `create` of OP in the mode refuse; rank r takes r + 1
microseconds for each letter of a strategy's name. Its allgather takes 20 microseconds at rank 0 and 40 at rank 1, 10 of
them before it has started; the rest is hidden if MOCK_PROGRESS is set, and the computation, 1 ns an element on one
thread, then takes a quarter more. As a worker of products rank r computes r + 1 microseconds for each of its planes but
the outer thirds of both ends; what is not polled is not hidden.
"""

import argparse
import json
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

parser = argparse.ArgumentParser()
parser.add_argument("mode")
parser.add_argument("--fail-at", type=int, default=0)
parser.add_argument("--fail-op", default="")
parser.add_argument("--nth", type=int, default=1)
parser.add_argument("--ranks", type=int, default=2)
parser.add_argument("--mark", type=Path, default=os.devnull)
parser.add_argument("--control", required=True)
parser.add_argument("--threads", type=int, required=True)
parser.add_argument("--bytes", type=int, required=True)
options = parser.parse_args()


def halo(command: dict[str, Any], rank: int) -> dict[str, Any]:
    op, count = command["op"], command["iterations"]
    if command["do"] == "create":
        assert planes or command["neighbors"]
        return {"refused": "not today" if options.mode == "refuse" and op == options.fail_op else ""}
    if command["do"] == "verify":
        return {"exchanges": count, "products": count}
    return {"seconds": (rank + 1) * len(op) * 1e-6 * count, "uses": f"  other\n* {op}\n"}


planes: list[int] = []  # of a rank; the last grid's is last


def product(command: dict[str, Any], rank: int) -> dict[str, Any]:
    if command["do"] == "grid":
        planes.append(command["grid"][2] // options.ranks)
        return {"rows": 0, "interior": 0}
    compute = (rank + 1) * (planes[-1] - 2 / 3) * 1e-6 * command["iterations"]
    if command["do"] == "compute":
        return {"seconds": compute}
    exchange = float(halo(command, rank)["seconds"])
    return {"seconds": max(exchange, compute) if command["polls"] else exchange + compute}


told: dict[str, Any] = {}


def collective(command: dict[str, Any], rank: int) -> dict[str, Any]:
    count = command["iterations"]
    if "elements" in command:
        told.update(command)
    compute = told["elements"] * 1e-9 / len(told["cores"])
    if command["do"] in ("create", "verify"):
        return {"helpers": 1, "verified": count}
    if command["do"] == "alone":
        return {"compute": compute * count}
    progress = "MOCK_PROGRESS" in os.environ
    times = {"init": 0.0, "compute": 0.0, "wait": (20 + 20 * rank) * 1e-6}
    if command["do"] == "overlap":
        times = {"init": 10e-6, "compute": compute * (1.25 if progress else 1.0),
                 "wait": 1e-6 if progress else (10 + 20 * rank) * 1e-6}  # fmt: skip
    overall = sum(times.values())
    times |= {"overall": overall, "processor": overall * (1.5 if progress else 1.0), "charged": overall}
    return {name: value * count for name, value in times.items()} | {"histogram": [[100 + rank, count]]}


def report(command: dict[str, Any], rank: int) -> dict[str, Any]:
    if command["op"] == "allgather":
        return {"report": collective(command, rank)}
    if command["do"] in ("create", "verify", "exchange"):
        return {"report": halo(command, rank)}
    if command["do"] in ("grid", "compute", "overlap"):
        return {"report": product(command, rank)}
    thread = {"iterations": 10, "seconds": 20e-6 * command["size"], "sent": 10}
    if command["do"] == "flow":  # 2 us a message
        thread = {"iterations": command["iterations"], "seconds": 2e-6 * command["iterations"],
                  "sent": command["iterations"], "failed_claims": 3 * command["iterations"]}  # fmt: skip
    answer: dict[str, Any] = {"threads": [thread] * command["threads"]}
    if command["do"] == "pingpong":
        answer |= {"histogram": [[100, 10]], "min_ns": 90, "max_ns": 110}
    return {"report": answer}


def misbehave(rank: int, connection: socket.socket) -> None:
    if options.mode == "hang":
        options.mark.touch()
        time.sleep(60)
    elif options.mode == "crash" and rank == 1:
        print("about to fall over", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    elif options.mode == "corrupt" and rank == 1:
        connection.sendall(b'{"corrupt": "thread 0, exchange 3: byte 8 of 64 differs"}\n')
        os._exit(3)
    elif options.mode == "babble":
        connection.sendall(b"this is not JSON\n")


def serve(rank: int) -> None:
    if options.mode == "mute":
        time.sleep(60)
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(options.control)
    hello = {
        "rank": rank,
        "pid": os.getpid(),
        "version": "1",
        "transport": "lies",
        "endpoints": 1,
        "details": {},
    }
    connection.sendall((json.dumps({"hello": hello}) + "\n").encode())
    turns = 0
    for line in connection.makefile():
        command = json.loads(line)
        if command["do"] == "exit":
            return
        if command["do"] == "rest":
            continue
        if options.fail_at in (0, command["size"]) and options.fail_op in ("", command["op"]):
            turns += 1
            if turns >= options.nth:
                misbehave(rank, connection)
        connection.sendall((json.dumps(report(command, rank)) + "\n").encode())


signal.alarm(60)
children = []
for rank in range(1, options.ranks):
    children.append(os.fork())
    if children[-1] == 0:
        serve(rank)
        os._exit(0)
serve(0)
for child in children:
    os.waitpid(child, 0)
