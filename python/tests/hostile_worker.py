# SPDX-License-Identifier: BSD-3-Clause
"""A mock of a worker, hostile on purpose: speaks the driver's protocol, and misbehaves as told.

hostile_worker.py MODE [--fail-at SIZE] ... MODE: good, hang, crash, corrupt, babble, mute.
It fails when asked for a message of SIZE bytes (default: any).
"""

import argparse
import json
import os
import signal
import socket
import sys
import time
from typing import Any

parser = argparse.ArgumentParser()
parser.add_argument("mode")
parser.add_argument("--fail-at", type=int, default=0)
parser.add_argument("--control", required=True)
parser.add_argument("--threads", type=int, required=True)
parser.add_argument("--bytes", type=int, required=True)
options = parser.parse_args()


def report(command: dict[str, Any]) -> dict[str, Any]:
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
    for line in connection.makefile():
        command = json.loads(line)
        if command["do"] == "exit":
            return
        if options.fail_at in (0, command["size"]):
            misbehave(rank, connection)
        connection.sendall((json.dumps(report(command)) + "\n").encode())


signal.alarm(60)
child = os.fork()
serve(1 if child == 0 else 0)
if child:
    os.waitpid(child, 0)
