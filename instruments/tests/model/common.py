# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the replayer share: its program for tests, machines, random programs."""

import json
import random
from pathlib import Path
from typing import Any

from commands import BUILD, run

HERE = Path(__file__).parent
UNITS = {"s": "bytes", "S": "bytes", "L": "ns", "o": "ns", "g": "ns", "o_short": "ns", "o_long": "ns"}

TABLE5 = json.loads((HERE / "loggps_tables.json").read_text())["table5"]


def machine(name: str) -> dict[str, float]:
    """A row of table 5 by the paper's names, o for o'. Of the Cenju-4 the paper gives Orl + Gl alone; any split does
    for equations that hold the sum, and docs/explanation/model.md says which is taken."""
    row = {key.replace("o_prime", "o"): value for key, value in TABLE5[name].items()}
    total = row.pop("Orl_plus_Gl", None)
    if total is not None:
        row["Gl"] = row["Gs"]
        row["Orl"] = total - row["Gl"]
    return row


def parameter_file(model: str, p: dict[str, float]) -> dict[str, Any]:
    quantities = {name: {"value": value, "unit": UNITS.get(name, "ns/byte")} for name, value in p.items()}
    return {"machine": "test", "models": {model: quantities}}


def replay(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    text = "".join(json.dumps(case) + "\n" for case in cases)
    done = run(BUILD / "bin/tests/loggps_ops", input=text, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def random_loggps(draw: random.Random) -> dict[str, float]:
    p = {name: draw.uniform(0, 5) for name in ("Oss", "Ors", "Gs", "Osl", "Orl", "Gl")}
    p[draw.choice(list(p))] = draw.choice([0, 20])
    short = draw.randint(0, 2000)
    p |= {"L": draw.uniform(0, 2000), "o": draw.uniform(100, 5000)}
    return p | {"s": short, "S": draw.choice([0, short, 3000])}


def random_loggp2(draw: random.Random) -> dict[str, float]:
    return {
        "L": draw.uniform(0, 2000), "o_short": draw.uniform(100, 3000), "o_long": draw.uniform(3000, 9000),
        "G_short": draw.uniform(0, 20), "G_long": draw.uniform(0, 9), "s": draw.randint(0, 2000), "S": 3000,
    }  # fmt: skip


def random_loggops(draw: random.Random) -> dict[str, float]:
    return {
        "L": draw.uniform(0, 2000), "o": draw.uniform(100, 3000), "g": draw.uniform(0, 3000),
        "G": draw.uniform(0, 9), "O": draw.uniform(0, 3), "S": 2000,
    }  # fmt: skip


class ProgramMaker:
    """Random programs. Calls follow one order of the messages on all ranks, so without receives from any source none
    stands still for ever."""

    def __init__(self, draw: random.Random, any_source: bool, branches: float = 0) -> None:
        """`branches`: the part of them among what a program does."""
        self.draw = draw
        self.branched = 0
        self.ranks = draw.randint(2, 6)
        self.wild = draw.randrange(self.ranks) if any_source else -1
        self.programs: list[list[Any]] = [[] for _ in range(self.ranks)]
        self.open: list[list[int]] = [[] for _ in range(self.ranks)]
        self.posted = [0] * self.ranks
        for _ in range(draw.randint(1, 40)):
            self.branches() if draw.random() < branches else self.message()
        for rank in range(self.ranks):
            self.wait(rank, len(self.open[rank]))

    def message(self) -> None:
        draw = self.draw
        source, target = draw.randrange(self.ranks), draw.randrange(self.ranks)
        if draw.random() < 0.4:
            target = 0  # a busy receiver
        if source == target:
            return
        tag, communicator = draw.randint(0, 2), draw.choice([0, 0, 1])
        size = draw.choice([0, 1, 7, 500, draw.randint(0, 5000), draw.randint(0, 5000)])
        self.pause(source)
        sends = "isend" if draw.random() < 0.6 else "send"
        self.add(source, [sends, target, tag, communicator, size, draw.random() < 0.1])
        self.pause(target)
        seen_tag = -1 if target == self.wild and draw.random() < 0.3 else tag
        seen_source = -1 if target == self.wild and draw.random() < 0.5 else source
        self.add(target, ["irecv" if draw.random() < 0.6 else "recv", seen_source, seen_tag, communicator])

    def branches(self) -> None:
        """Two ranks go through the same exchanges in the background, with tags of their own."""
        draw = self.draw
        pair = draw.sample(range(self.ranks), 2)
        parts: list[list[Any]] = [[], []]
        self.branched += 1
        for exchange in range(draw.randint(0, 3)):
            place = [10 * self.branched + exchange, 2]
            sizes = [draw.choice([0, 100, draw.randint(0, 5000)]) for _ in pair]
            if draw.random() < 0.6:  # both at once
                for me in range(2):
                    other = pair[1 - me]
                    first = 2 * sum(op[0] == "wait" for op in parts[me])
                    parts[me] += [["irecv", other, *place], ["isend", other, *place, sizes[me], False]]
                    parts[me].append(["wait", [first, first + 1]])
            else:
                parts[0].append(["send", pair[1], *place, sizes[0], draw.random() < 0.1])
                parts[1].append(["recv", pair[0], *place])
        for me, rank in enumerate(pair):
            self.pause(rank)
            self.add(rank, ["branch", parts[me]])

    def add(self, rank: int, op: list[Any]) -> None:
        self.programs[rank].append(op)
        if op[0] in ("isend", "irecv", "branch"):
            self.open[rank].append(self.posted[rank])
            self.posted[rank] += 1

    def pause(self, rank: int) -> None:
        if self.draw.random() < 0.5:
            most = self.draw.choice([0, 10, 1000, 30000, 3000000])
            self.programs[rank].append(["compute", most * self.draw.random()])
        if self.draw.random() < 0.4:
            self.wait(rank, self.draw.randint(1, 4))

    def wait(self, rank: int, most: int) -> None:
        chosen = self.draw.sample(self.open[rank], min(most, len(self.open[rank])))
        if chosen:
            self.programs[rank].append(["wait", chosen])
            self.open[rank] = [request for request in self.open[rank] if request not in chosen]


class ThreadsMaker(ProgramMaker):
    """The same of threads: most ranks have several. What they send has tags of its own for each pair of threads, but
    what has tag 0 is for whichever thread receives first. Some wait for what another of their rank posted."""

    def __init__(self, draw: random.Random, any_source: bool, branches: float = 0) -> None:
        self.handed = 0
        self.owners: list[int] = []
        super().__init__(draw, any_source, branches)
        programs = [[self.of_ranks(op, me) for op in program] for me, program in enumerate(self.programs)]
        begins = [[["compute", draw.uniform(1, 1000)], *program] for program in programs]
        of_threads = list(zip(self.owners, begins, strict=True))
        count = max(self.owners) + 1
        self.first = [program for _, program in of_threads[:count]]
        self.further = of_threads[count:]

    def wait(self, thread: int, most: int) -> None:
        if not self.owners:
            count = self.draw.randint(1, max(1, self.ranks - 1))
            self.owners = [*range(count), *(self.draw.randrange(count) for _ in range(self.ranks - count))]
        others = [one for one in range(self.ranks) if self.owners[one] == self.owners[thread] and self.open[one]]
        numbers = []
        for other in others:
            if other != thread and self.draw.random() < 0.3:
                request = self.open[other].pop(self.draw.randrange(len(self.open[other])))
                numbers.append(self.handed)
                self.programs[other].append(["hand", request, self.handed])
                self.handed += 1
        if self.draw.random() < 0.1:  # a moment
            other = self.draw.choice([one for one in range(self.ranks) if self.owners[one] == self.owners[thread]])
            if other != thread:
                numbers.append(self.handed)
                self.programs[other].append(["hand", -1, self.handed])
                self.handed += 1
        before = len(self.programs[thread])
        super().wait(thread, most)
        if len(self.programs[thread]) > before:
            self.programs[thread][-1].append(numbers)
        elif numbers:
            self.programs[thread].append(["wait", [], numbers])

    def of_ranks(self, op: list[Any], me: int) -> list[Any]:
        """Partners and tags were those of threads."""
        kind, *rest = op
        if kind == "branch":
            return [kind, [self.of_ranks(inner, me) for inner in rest[0]]]
        if kind in ("compute", "wait", "hand"):
            return op
        peer, tag, *more = rest
        if peer < 0:
            return op
        sender, receiver = (me, peer) if kind.endswith("send") else (peer, me)
        own = tag if tag <= 0 else 100 * tag + 10 * sender + receiver
        return [kind, self.owners[peer], own, *more]
