# SPDX-License-Identifier: BSD-3-Clause
"""A replayer that is slow and, one hopes, obviously right: the equations of the LogGPS paper as small processes
that take their time one after the other, all looked at again at every instant. It shares no code with the model.

A process is a generator that yields what it waits for: Delay, Share or Until. Times are in nanoseconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

ANY = -1


class Delay:
    def __init__(self, time: float) -> None:
        self.time = time
        self.end = math.nan  # once it is waited for


class Share:
    """Work on the bandwidth of a receiver; p at once go on at 1/p of the speed."""

    def __init__(self, receiver: int, work: float) -> None:
        self.receiver, self.left = receiver, work


class Until:
    def __init__(self, condition: Callable[[], bool]) -> None:
        self.condition = condition


class InTurn:
    """What happens to several messages at one instant happens in the order of senders, and of each one's sends; then
    threads call, in the order of their numbers."""

    def __init__(self, m: Message | None, thread: int = 0) -> None:
        self.key = (0, m.source, m.order) if m else (1, thread, 0)


Wish = Delay | Share | Until | InTurn
Process = Generator[Wish, None, None]


@dataclass
class Message:
    source: int
    target: int
    tag: int
    communicator: int
    bytes: int
    rendezvous: bool
    sent: float
    order: int
    limited: bool
    posted: float = math.nan
    request: float = math.nan  # arrival of the request
    handshake: float = math.nan  # its end
    arrival: float = math.nan
    sent_over: float = math.nan
    received: float = math.nan


@dataclass
class Receive:
    source: int
    tag: int
    communicator: int
    posted: float
    number: int  # of the operation in the program
    message: Message | None = None


@dataclass
class Wait:
    begin: float
    end: float
    is_send: bool


@dataclass
class Rank:
    """Or one of its further threads, or a branch: those have no queues of their own."""

    number: int = 0  # of the thread
    is_branch: bool = False
    has_several: bool = False  # threads
    posted: list[Receive] = field(default_factory=list)
    unexpected: list[Message] = field(default_factory=list)
    receives: list[Receive] = field(default_factory=list)
    requests: list[Message | Receive | Rank] = field(default_factory=list)  # a rank: a branch
    sends: int = 0
    end: float = math.nan
    waits: list[Wait] = field(default_factory=list)
    network_free: float = 0.0  # LogGOPS, as a sender
    queue_free: float = 0.0  # LogGOPS, as a receiver
    compute: float = 0.0
    overhead: float = 0.0
    send_wait: float = 0.0
    recv_wait: float = 0.0


class Deadlock(Exception):  # noqa: N818
    pass


class LogGps:
    """Costs by the paper's table 3; p holds the parameters by the paper's names, o for o'."""

    def __init__(self, p: dict[str, float]) -> None:
        self.p = p

    def is_rendezvous(self, k: int) -> bool:
        return k > self.p["S"]

    def fixed(self, _k: int) -> float:
        return self.p["o"]

    def send_slope(self, k: int, rendezvous: bool) -> float:
        return k * (self.p["Osl"] if rendezvous else self.p["Oss"])

    def recv_slope(self, k: int, rendezvous: bool) -> float:
        return k * (self.p["Orl"] if rendezvous else self.p["Ors"])

    def gap(self, k: int) -> float:
        s = self.p["s"]
        return k * self.p["Gs"] if k <= s else s * self.p["Gs"] + (k - s) * self.p["Gl"]

    def carrier(self, k: int, rendezvous: bool) -> str:
        slopes = {
            "send": self.p["Osl"] if rendezvous else self.p["Oss"],
            "recv": self.p["Orl"] if rendezvous else self.p["Ors"],
            "gap": self.p["Gs"] if k <= self.p["s"] else self.p["Gl"],
        }
        return max(slopes, key=lambda part: slopes[part])


class LogGp2(LogGps):
    def fixed(self, k: int) -> float:
        return self.p["o_short"] if k <= self.p["s"] else self.p["o_long"]

    def send_slope(self, _k: int, _rendezvous: bool) -> float:
        return 0.0

    def recv_slope(self, _k: int, _rendezvous: bool) -> float:
        return 0.0

    def gap(self, k: int) -> float:
        return k * (self.p["G_short"] if k <= self.p["s"] else self.p["G_long"])

    def carrier(self, _k: int, _rendezvous: bool) -> str:
        return "gap"


class World:
    """One replay. `programs`: for each rank a list of operations as in ops_tool.cpp. `threads`: further ones, each
    with its rank."""

    def __init__(
        self,
        programs: list[list[Any]],
        model: str,
        p: dict[str, float],
        sharing: bool = True,
        buffer: int = 0,
        threads: list[tuple[int, list[Any]]] | None = None,
    ) -> None:
        self.costs = {"loggps": LogGps, "loggp-2": LogGp2, "loggops": LogGps}[model](p)
        self.loggops = p if model == "loggops" else None
        self.sharing, self.buffer = sharing, buffer
        self.now = 0.0
        self.ranks = [Rank(number) for number in range(len(programs))]
        self.threads = [*self.ranks]
        self.handed: dict[tuple[int, int], Message | Receive | Rank | None] = {}  # by rank and number
        self.in_buffer: dict[tuple[int, int], int] = {}
        self.running: list[tuple[Process, Wish]] = []
        all_threads = [*enumerate(programs), *(threads or [])]
        owners = [rank for rank, _ in all_threads]
        for number, (rank, program) in enumerate(all_threads):
            if number >= len(self.ranks):
                self.threads.append(Rank(number))
            self.threads[number].has_several = owners.count(rank) > 1
            self.start(self.run_thread(rank, program, self.threads[number]))
        self.go()

    # The engine.

    def start(self, process: Process) -> None:
        self.resume(process)

    def resume(self, process: Process) -> None:
        for wish in process:
            if isinstance(wish, Delay):
                wish.end = self.now + wish.time
            self.running.append((process, wish))
            return

    def ready(self, wish: Wish) -> bool:
        if isinstance(wish, Until):
            return wish.condition()
        if isinstance(wish, Delay):
            return wish.end <= self.now
        return isinstance(wish, Share) and wish.left <= 0

    def go(self) -> None:
        while self.running:
            ready = [one for one in self.running if self.ready(one[1])]
            if not ready:
                turns = [(wish.key, one) for one in self.running if isinstance(wish := one[1], InTurn)]
                ready = [one for _, one in sorted(turns, key=lambda turn: turn[0])]
            if ready:
                self.running.remove(ready[0])
                self.resume(ready[0][0])
                continue
            wishes = [wish for _, wish in self.running]
            shares = [wish for wish in wishes if isinstance(wish, Share)]
            p = [sum(wish.receiver == r for wish in shares) for r in range(len(self.ranks))]
            ends = [wish.end for wish in wishes if isinstance(wish, Delay)]
            ends += [self.now + wish.left * p[wish.receiver] for wish in shares]
            if not ends:
                raise Deadlock
            step = min(ends) - self.now
            for wish in shares:
                is_over = self.now + wish.left * p[wish.receiver] <= min(ends) * (1 + 1e-15)
                wish.left = 0.0 if is_over else wish.left - step / p[wish.receiver]
            self.now = min(ends)

    # Messages: table 3.

    def use(self, part: str, m: Message, work: float) -> Process:
        if self.sharing and work > 0 and self.costs.carrier(m.bytes, m.rendezvous) == part:
            yield Share(m.target, work)
        else:
            yield Delay(work)

    def transfer(self, m: Message) -> Process:
        """T1, T2, T3 of an eager message; for others T4 and T5 come first."""
        if self.loggops:
            yield from self.loggops_transfer(m)
            return
        costs, latency = self.costs, self.costs.p["L"]
        if m.rendezvous:
            yield Delay(costs.fixed(0) + latency)
            m.request = self.now
            yield Until(lambda: not math.isnan(m.posted))
            yield Delay(costs.fixed(0))  # sees the request
            yield Delay(costs.fixed(0) + latency)  # the grant
            yield Delay(costs.fixed(0))
            m.handshake = self.now
        yield Delay(costs.fixed(m.bytes))
        yield from self.use("send", m, costs.send_slope(m.bytes, m.rendezvous))
        m.sent_over = self.now
        yield from self.use("gap", m, costs.gap(m.bytes))
        yield Delay(latency)
        m.arrival = self.now
        yield Until(lambda: not math.isnan(m.posted))
        yield Delay(costs.fixed(m.bytes))
        yield from self.use("recv", m, costs.recv_slope(m.bytes, m.rendezvous))
        self.receive_over(m)

    def loggops_transfer(self, m: Message) -> Process:
        assert self.loggops
        p, more = self.loggops, max(m.bytes - 1, 0)
        busy = p["o"] + more * p["O"]
        if m.rendezvous:
            yield Delay(p["o"] + p["L"])
            m.request = self.now
            yield Until(lambda: not math.isnan(m.posted))
            m.handshake = self.now
            self.start(self.loggops_sender_over(m, max(0.0, m.sent + busy - self.now)))
        else:
            self.start(self.loggops_sender_over(m, busy))
            yield Delay(p["o"] + p["L"])
        yield InTurn(m)
        start = self.now
        if self.sharing:
            start = max(start, self.ranks[m.target].queue_free)
            self.ranks[m.target].queue_free = start + p["g"] + more * p["G"]
        yield Delay(start - self.now + more * p["G"])
        m.arrival = self.now
        yield Until(lambda: not math.isnan(m.posted))
        yield Delay(busy)
        self.receive_over(m)

    def loggops_sender_over(self, m: Message, time: float) -> Process:
        yield Delay(time)
        m.sent_over = self.now

    def receive_over(self, m: Message) -> None:
        m.received = self.now
        if m.limited:
            self.in_buffer[m.source, m.target] -= m.bytes

    # Matching: lists, in the order of arrival and of posting.

    def envelope(self, m: Message) -> Process:
        yield Delay(self.costs.fixed(0) + self.costs.p["L"])
        yield InTurn(m)
        rank = self.ranks[m.target]
        for receive in rank.posted:
            if self.fits(receive, m):
                rank.posted.remove(receive)
                self.match(receive, m)
                return
        rank.unexpected.append(m)

    @staticmethod
    def fits(receive: Receive, m: Message) -> bool:
        return (
            receive.source in (ANY, m.source) and receive.tag in (ANY, m.tag) and receive.communicator == m.communicator
        )

    @staticmethod
    def match(receive: Receive, m: Message) -> None:
        receive.message, m.posted = m, receive.posted

    def post(self, rank: int, number: int, source: int, tag: int, communicator: int) -> Receive:
        receive = Receive(source, tag, communicator, self.now, number)
        self.ranks[rank].receives.append(receive)
        for m in self.ranks[rank].unexpected:
            if self.fits(receive, m):
                self.ranks[rank].unexpected.remove(m)
                self.match(receive, m)
                return receive
        self.ranks[rank].posted.append(receive)
        return receive

    def matched(self, rank: int) -> dict[int, tuple[int, int]]:
        """Source and tag of what each receive got, by the number of the operation in the program."""
        pairs = [(receive.number, receive.message) for receive in self.ranks[rank].receives]
        return {number: (m.source, m.tag) for number, m in pairs if m}

    def with_matches(self, programs: list[list[Any]]) -> list[list[Any]]:
        """The programs with receives that name what they got."""
        out = []
        for rank, program in enumerate(programs):
            found = self.matched(rank)
            out.append([[op[0], *found[i], op[3]] if i in found else op for i, op in enumerate(program)])
        return out

    # Threads of ranks: equations (4) to (11).

    def run_thread(self, rank: int, program: list[Any], me: Rank) -> Process:
        for number, (kind, *rest) in enumerate(program):
            if me.has_several and kind in ("send", "isend", "recv", "irecv"):
                yield InTurn(None, me.number)
            called = self.now
            if kind == "compute":
                yield Delay(rest[0])
                me.compute += rest[0]
            elif kind in ("send", "isend"):
                yield from self.send(rank, me, kind, *rest)
            elif kind == "recv":
                receive = self.post(rank, number if not me.is_branch else -1, *rest)
                yield Until(lambda receive=receive: over(receive))  # type: ignore[misc]
                self.account(me, [receive], called)
            elif kind == "irecv":
                me.requests.append(self.post(rank, number if not me.is_branch else -1, *rest))
                if not self.loggops:
                    yield Delay(self.costs.fixed(0))
                me.overhead += self.now - called
            elif kind == "branch":
                branch = Rank(is_branch=True)
                me.requests.append(branch)
                self.start(self.run_thread(rank, rest[0], branch))
                if not self.loggops:
                    yield Delay(self.costs.fixed(0))
                me.overhead += self.now - called
            elif kind == "hand":
                request, name = rest
                self.handed[rank, name] = me.requests[request] if request >= 0 else None
            else:
                parts = [me.requests[i] for i in rest[0]]
                for name in rest[1] if len(rest) > 1 else []:
                    yield Until(lambda key=(rank, name): key in self.handed)  # type: ignore[misc]
                    parts += [part for part in [self.handed[rank, name]] if part]
                me.compute += self.now - called
                called = self.now
                if not parts:
                    continue
                if not self.loggops:
                    yield Delay(self.costs.fixed(0))
                yield Until(lambda parts=parts: all(over(part) for part in parts))  # type: ignore[misc]
                self.account(me, parts, called)
        me.end = self.now

    def send(
        self, rank: int, me: Rank, kind: str, peer: int, tag: int, communicator: int, size: int, synchronous: bool
    ) -> Process:
        rendezvous = synchronous or self.costs.is_rendezvous(size)
        pair = rank, peer
        limited = not rendezvous and not me.is_branch  # by the buffer
        if limited:
            before = self.now
            self.in_buffer.setdefault(pair, 0)
            if self.buffer:
                yield Until(lambda: self.in_buffer[pair] == 0 or self.in_buffer[pair] + size <= self.buffer)
            self.in_buffer[pair] += size
            me.send_wait += self.now - before
        if self.loggops and self.sharing:
            network = me if me.is_branch else self.ranks[rank]  # one of all its threads
            start = max(self.now, network.network_free)
            network.network_free = start + self.loggops["g"] + max(size - 1, 0) * self.loggops["G"]
            me.overhead += start - self.now
            yield Delay(start - self.now)
        called = self.now
        m = Message(rank, peer, tag, communicator, size, rendezvous, called, self.ranks[rank].sends, limited)
        self.ranks[rank].sends += 1
        self.start(self.transfer(m))
        self.start(self.envelope(m))
        if kind == "send":
            yield Until(lambda: over(m))
            self.account(me, [m], called)
            return
        me.requests.append(m)
        yield Delay(self.loggops["o"] + max(size - 1, 0) * self.loggops["O"] if self.loggops else self.costs.fixed(0))
        me.overhead += self.now - called

    def account(self, me: Rank, parts: list[Message | Receive | Rank], called: float) -> None:
        """What the part that ended last was waited for."""
        waits = [Wait(max(wait.begin, called), wait.end, wait.is_send) for wait in waits_of(max(parts, key=end))]
        waits = [wait for wait in waits if wait.begin < wait.end]
        me.waits += waits
        me.send_wait += sum(wait.end - wait.begin for wait in waits if wait.is_send)
        me.recv_wait += sum(wait.end - wait.begin for wait in waits if not wait.is_send)
        me.overhead += self.now - called - sum(wait.end - wait.begin for wait in waits)


def over(part: Message | Receive | Rank) -> bool:
    return not (isinstance(part, Receive) and part.message is None) and not math.isnan(end(part))


def end(part: Message | Receive | Rank) -> float:
    if isinstance(part, Rank):
        return part.end
    if isinstance(part, Message):
        return part.sent_over
    assert part.message
    return part.message.received


def waits_of(part: Message | Receive | Rank) -> list[Wait]:
    if isinstance(part, Rank):
        return part.waits
    if isinstance(part, Message):
        return [Wait(part.request, part.posted, True)] if part.rendezvous else []
    m = part.message
    assert m
    if m.rendezvous:
        return [Wait(m.posted, m.request, False), Wait(m.handshake, m.arrival, False)]
    return [Wait(m.posted, m.arrival, False)]
