# SPDX-License-Identifier: BSD-3-Clause
"""One running worker (the ranks of one library) and the conversation with it.

The protocol is described in bench/harness/control.hpp. Whatever a worker does, a call here ends
within its time limit, and a failure carries the evidence.
"""

import contextlib
import json
import os
import select
import selectors
import signal
import socket
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from omnipgas_tools import interrupts
from omnipgas_tools.libraries.catalog import RANKS, Found
from omnipgas_tools.measure.process import private_memory, threads_of

START_LIMIT = 30.0  # seconds until all ranks have said hello, and one more for each
END_LIMIT = 10.0  # until a worker that was told to end is killed
GRACE = 2.0  # until a worker whose rank died, or that got SIGTERM, is killed
STDERR_TAIL = 1200  # characters of evidence
FIRST_FLOW = 16  # messages per thread, until their speed is known

Message = dict[str, Any]


class WorkerError(Exception):
    """A worker hung, crashed or delivered wrong data."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status  # hung, crashed or corrupt
        self.reason = reason


@dataclass
class Round:
    """What one block of measurement found; latencies are one way, in microseconds."""

    mean_us: float = 0.0
    fastest_us: float = 0.0  # mean of the fastest thread of either rank
    slowest_us: float = 0.0  # of the slowest: the papers' latency
    min_us: float = 0.0
    max_us: float = 0.0
    count: int = 0
    bandwidth: float = 0.0  # MB/s, sum over threads
    rate: float = 0.0  # million messages per second, sum over threads
    histogram: Counter[int] = field(default_factory=Counter)  # of round trips
    failed_claims: float | None = None  # per message, if the library counts them
    cpu_us: float | None = None  # processor time of both ranks per message, waiting and warm-up included
    thread_rates: list[float] = field(default_factory=list)  # round trips per second, of each pair


class Worker:
    """All ranks of a library, started and ready; a context manager that ends them."""

    def __init__(self, found: Found, threads: int, size: int, job: int = 0) -> None:
        self.found = found
        self.threads = threads
        self.size = size
        self.hello: dict[int, Message] = {}
        self._sequence = 0
        self._last = "start"
        self._attends = found.library.attends or found.hosts is not None or bool(found.transport)
        self._counts: dict[tuple[str, int], int] = {}  # messages of a flow, by operation and size
        self._buffers: dict[int, bytes] = {}
        self._sockets: dict[int, socket.socket] = {}
        self._pidfds: dict[int, int] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="omni-")
        control = Path(self._folder.name) / "control"
        arguments = ["--control", str(control), "--threads", str(threads), "--bytes", str(size)]
        self.command_line = found.command(arguments)
        self.environment = found.environment(threads)
        if found.jobs > 1:
            self.environment["OMNI_JOB"] = f"{job}/{found.jobs}"
        begin = time.monotonic()
        with socket.socket(socket.AF_UNIX) as listener, interrupts.Held() as held:
            listener.bind(str(control))
            listener.listen(found.ranks)
            with self._output("stdout").open("wb") as out, self._output("stderr").open("wb") as err:
                self._process = subprocess.Popen(
                    self.command_line,
                    env={**os.environ, **self.environment},
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,
                )
            try:
                held.release()
                self._accept(listener, time.monotonic() + START_LIMIT + found.ranks)
            except BaseException:
                self.kill()
                raise
        self.startup = time.monotonic() - begin  # seconds until all ranks were ready
        self.memory = max(map(private_memory, self.pids))  # bytes of a rank then

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- measurements

    def pingpong(self, op: str, size: int, iterations: int, seconds: float, limit: float, asleep: float = 0.0) -> Round:
        """One block of ping-pong on all threads; thread 0 of rank 0 may sleep first, so many seconds."""
        reports = self._both("pingpong", op, size, iterations, limit, seconds, asleep=asleep)
        means = [[t["seconds"] / t["iterations"] / 2 * 1e6 for t in reports[rank]["threads"]] for rank in range(RANKS)]
        one_way = [max(pair) for pair in zip(*means, strict=True)]
        leader = reports[0]
        count = sum(t["iterations"] for t in leader["threads"])
        return Round(
            mean_us=sum(t["seconds"] for t in leader["threads"]) / count / 2 * 1e6,
            fastest_us=min(map(min, means)),
            slowest_us=max(map(max, means)),
            min_us=leader["min_ns"] / 2e3,
            max_us=leader["max_ns"] / 2e3,
            count=count,
            bandwidth=sum(size / us for us in one_way),
            histogram=Counter(dict(leader["histogram"])),
            failed_claims=failed_claims(reports),
            cpu_us=cpu_per_message(reports, 2),
            thread_rates=[t["iterations"] / t["seconds"] for t in leader["threads"]],
        )

    def flow(self, op: str, size: int, iterations: int, seconds: float, limit: float) -> Round:
        """One block of messages that their target takes as they come: as many as take about so many seconds."""
        count, took = self._counts.get((op, size), FIRST_FLOW), 0.0
        while took < seconds / 2:
            if took:
                count = min(iterations, int(count * min(8.0, seconds / took)) + 1)
            reports = self._both("flow", op, size, count, limit, seconds)
            threads = reports[0]["threads"]
            took = max(t["seconds"] for t in threads)
            if count >= iterations:
                break
        self._counts[op, size] = max(FIRST_FLOW, int(count * min(1.0, seconds / took)))
        rate = sum(t["iterations"] / t["seconds"] for t in threads)
        return Round(
            count=sum(t["iterations"] for t in threads),
            rate=rate / 1e6,
            bandwidth=rate * size / 1e6,
            failed_claims=failed_claims(reports),
            cpu_us=cpu_per_message(reports, 1),
        )

    def rate(self, op: str, size: int, iterations: int, seconds: float, limit: float) -> Round:
        """One block of messages to a target that sleeps; the data are verified afterwards."""
        command = self._measure("rate", op, size, iterations, seconds)
        reports = self._ask({0: command}, limit)
        threads = reports[0]["threads"]
        drain = {**command, "do": "drain", "counts": [t["sent"] for t in threads]}
        self._ask({1: drain}, limit)
        return Round(
            count=sum(t["iterations"] for t in threads),
            rate=sum(t["iterations"] / t["seconds"] for t in threads) / 1e6,
            cpu_us=cpu_per_message(reports, 1),
        )

    def roundtrip(
        self, op: str, size: int, iterations: int, work: float, limit: float, **more: bool
    ) -> dict[int, Message]:
        """What both ranks report of a block of round trips with `work` seconds of computation (bench/roundtrip);
        `timed`, `polls`: see bench/harness/control.hpp."""
        return self._both("roundtrip", op, size, iterations, limit, work=work, **more)

    def burst(self, op: str, size: int, iterations: int, messages: int, limit: float) -> dict[int, Message]:
        """The same of so many messages sent one after the other, for g."""
        return self._both("burst", op, size, iterations, limit, messages=messages)

    def _both(
        self, what: str, op: str, size: int, iterations: int, limit: float, seconds: float = 0, **more: Any
    ) -> dict[int, Message]:
        command = self._measure(what, op, size, iterations, seconds) | more
        return self._ask(dict.fromkeys(range(RANKS), command), limit)

    def talk(self, limit: float) -> None:
        """Lets every thread of every rank put into every other rank, and looks whether all came (bench/connected)."""
        for what in ("talk", "check"):
            command = self._measure(what, "put", self.size, 1, 0) | {"attend": what == "talk"}
            self._ask(dict.fromkeys(range(self.found.ranks), command), limit)

    def all_ranks(
        self, what: str, op: str, limit: float, iterations: int = 1, more: Sequence[Message] = (), size: int = 0
    ) -> list[Message]:
        """What each rank reports of a command of bench/halo, bench/product or bench/overlap; `more`: what else each is
        told, `size`: bytes, if not those of the worker."""
        command = self._measure(what, op, size or self.size, iterations, 0)
        reports = self._ask({rank: command | own for rank, own in enumerate(more or [{}] * self.found.ranks)}, limit)
        return [reports[rank] for rank in range(self.found.ranks)]

    def _measure(self, what: str, op: str, size: int, iterations: int, seconds: float) -> Message:
        self._sequence += 1
        aim = " to a sleeping target" if what == "rate" else ""
        self._last = f"{what} {op}{aim}, threads {self.threads}, {size} B"
        return {
            "do": what,
            "attend": self._attends,
            "op": op,
            "threads": self.threads,
            "size": size,
            "iterations": iterations,
            "seconds": seconds,
            "sequence": self._sequence,
        }

    # ---- the conversation

    def _accept(self, listener: socket.socket, deadline: float) -> None:
        listener.settimeout(0.05)
        while len(self.hello) < self.found.ranks:
            if time.monotonic() > deadline:
                raise self._failure("hung", f"not started after {START_LIMIT + self.found.ranks:g} s")
            if self._process.poll() is not None:
                raise self._failure("crashed", "ended while starting")
            with contextlib.suppress(TimeoutError):
                connection, _ = listener.accept()
                self._greet(connection, deadline)

    def _greet(self, connection: socket.socket, deadline: float) -> None:
        connection.settimeout(max(0.1, deadline - time.monotonic()))
        try:
            hello = json.loads(connection.makefile().readline())["hello"]
        except (OSError, ValueError, KeyError) as error:
            connection.close()
            raise self._failure("crashed", "ended while starting") from error
        rank = int(hello["rank"])
        connection.setblocking(False)
        self.hello[rank], self._sockets[rank], self._buffers[rank] = hello, connection, b""
        self._pidfds[rank] = os.pidfd_open(int(hello["pid"]))

    def _ask(self, commands: dict[int, Message], limit: float) -> dict[int, Message]:
        for rank, command in commands.items():
            # The worker's own alarm is the second line of defence, should this process vanish.
            line = json.dumps({**command, "limit": int(limit) + 5}) + "\n"
            try:
                self._sockets[rank].sendall(line.encode())
            except OSError as error:
                raise self._crash(rank) from error
        deadline = time.monotonic() + limit
        reports: dict[int, Message] = {}
        with selectors.DefaultSelector() as selector:
            for rank, connection in self._sockets.items():
                selector.register(connection, selectors.EVENT_READ, rank)
            while len(reports) < len(commands):
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                if not ready or time.monotonic() > deadline:
                    raise self._hang(limit, reports)
                for key, _ in ready:
                    for report in self._receive(key.data):
                        reports[key.data] = report
        if all(command["attend"] for command in commands.values()) and len(commands) == self.found.ranks:
            # each made progress for the others until all were done
            for connection in self._sockets.values():
                with contextlib.suppress(OSError):  # the next command tells
                    connection.sendall(b'{"do": "rest"}\n')
        return reports

    def _receive(self, rank: int) -> list[Message]:
        try:
            data = self._sockets[rank].recv(1 << 16)
        except OSError:
            data = b""
        if not data:
            self._check_others(rank)
            raise self._crash(rank)
        *lines, self._buffers[rank] = (self._buffers[rank] + data).split(b"\n")
        try:
            messages = [json.loads(line) for line in lines]
            for message in messages:
                if "corrupt" in message:
                    raise self._failure("corrupt", f"rank {rank}: {message['corrupt']}")
            return [message["report"] for message in messages]
        except (ValueError, KeyError, TypeError) as error:
            raise self._failure("crashed", f"rank {rank} answered {lines!r}") from error

    def _check_others(self, ended: int) -> None:
        """A rank that finds wrong data ends, and the launcher its sister: look for the cause."""
        for rank, connection in self._sockets.items():
            if rank != ended and select.select([connection], [], [], 0)[0]:
                with contextlib.suppress(OSError):
                    if b'"corrupt"' in connection.recv(1 << 16, socket.MSG_PEEK):
                        self._receive(rank)

    # ---- failure

    def _hang(self, limit: float, reports: dict[int, Message]) -> WorkerError:
        state = [
            f"rank {rank} " + ("answered" if rank in reports else threads_of(int(hello["pid"])))
            for rank, hello in sorted(self.hello.items())
        ]
        if name := self.found.library.hang_signal:
            self._signal_ranks(signal.Signals[name])
            time.sleep(0.5)
        return self._failure("hung", f"no answer within {limit:g} s; " + "; ".join(state))

    def _crash(self, rank: int) -> WorkerError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE)
        return self._failure("crashed", f"rank {rank} ended")

    def _failure(self, status: str, what: str) -> WorkerError:
        """Ends the worker and tells all that is known."""
        code = self._process.poll()
        if code is not None:
            what += f"; launcher: {exit_text(code)}"
        tail = self._output("stderr").read_text(errors="replace")[-STDERR_TAIL:].strip()
        self.kill()
        return WorkerError(status, f"{self._last}: {what}" + (f"; stderr: {tail}" if tail else ""))

    # ---- while another one is measured

    @property
    def workers(self) -> list[Self]:
        """As of Jobs, which are several."""
        return [self]

    @property
    def pids(self) -> list[int]:
        """Its processes."""
        return [int(hello["pid"]) for hello in self.hello.values()]

    def stop(self) -> None:
        """Stops every process of the library, with all its threads."""
        self._signal_ranks(signal.SIGSTOP)

    def go_on(self) -> None:
        """Lets them go on."""
        self._signal_ranks(signal.SIGCONT)

    # ---- the end

    def ask_to_end(self) -> None:
        """Tells both ranks to leave; close() waits for it."""
        for connection in self._sockets.values():
            with contextlib.suppress(OSError):
                connection.sendall(b'{"do": "exit"}\n')

    def close(self, limit: float = END_LIMIT) -> None:
        """Lets the worker end properly, within a time limit."""
        try:
            self.ask_to_end()
            self._process.wait(limit)
        except subprocess.TimeoutExpired:
            pass  # kill() sees to it
        finally:
            self.kill()

    def kill(self) -> None:
        """Ends every process of the worker at once; once is enough."""
        self._signal_ranks(signal.SIGKILL)
        while self._pidfds:
            _, pidfd = self._pidfds.popitem()
            select.select([pidfd], [], [], GRACE)  # readable once the process is dead
            os.close(pidfd)
        while self._sockets:
            self._sockets.popitem()[1].close()
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self._process.poll() is None:
                os.killpg(self._process.pid, number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(GRACE)
        self._folder.cleanup()

    def _signal_ranks(self, number: signal.Signals) -> None:
        for pidfd in self._pidfds.values():
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(pidfd, number)

    def _output(self, name: str) -> Path:
        return Path(self._folder.name) / name


def failed_claims(reports: dict[int, Message]) -> float | None:
    """Looks at endpoints in use, per message that either rank sent."""
    threads = [thread for report in reports.values() for thread in report["threads"]]
    if any("failed_claims" not in thread for thread in threads):
        return None
    return float(sum(t["failed_claims"] for t in threads) / sum(t["sent"] for t in threads))


def cpu_per_message(reports: dict[int, Message], each: int) -> float | None:
    """Processor time of the ranks that took part, in microseconds per message; an iteration has `each`."""
    if any("cpu_seconds" not in report for report in reports.values()):
        return None
    sent = max(sum(t["iterations"] for t in report["threads"]) for report in reports.values())
    return float(sum(report["cpu_seconds"] for report in reports.values()) * 1e6 / (each * sent)) if sent else None


def exit_text(code: int) -> str:
    """An exit status in words."""
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
