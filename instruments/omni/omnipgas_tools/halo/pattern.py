# SPDX-License-Identifier: BSD-3-Clause
"""Who exchanges how much with whom in a halo exchange: rings of any number of neighbours, and patterns from a file."""

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from omnipgas_tools import files

DIGITS = 18  # of a number in a file, at most


class PatternError(Exception):
    """There is no such pattern; the text says why and what to do."""


@dataclass(frozen=True)
class Pattern:
    """The messages of one exchange."""

    ranks: int
    messages: dict[tuple[int, int], int]  # bytes, by sender and receiver

    @cached_property
    def neighbors(self) -> list[list[tuple[int, int, int]]]:
        """Of each rank its neighbours: their rank, the bytes that go there and those that come."""
        others: dict[int, set[int]] = defaultdict(set)
        for one, other in self.messages:
            others[one].add(other)
            others[other].add(one)
        size = self.messages.get
        return [
            [(other, size((rank, other), 0), size((other, rank), 0)) for other in sorted(others[rank])]
            for rank in range(self.ranks)
        ]

    @property
    def most_neighbors(self) -> int:
        """Of any rank."""
        return max(map(len, self.neighbors))

    @property
    def most_sent(self) -> int:
        """Bytes, by any rank in an exchange."""
        return max(sum(sent for _, sent, _ in mine) for mine in self.neighbors)

    @property
    def sizes(self) -> tuple[int, int]:
        """The smallest and the largest message, bytes."""
        return min(self.messages.values()), max(self.messages.values())


def ring(ranks: int, neighbors: int, smallest: int, largest: int) -> Pattern:
    """Each rank with so many nearest ranks on a ring, half of them on either side; of an odd number one is the rank
    opposite. The nearest have the largest messages, and sizes fall geometrically with the distance; raises
    PatternError."""
    if not 1 <= neighbors < ranks:
        raise PatternError(f"of {ranks} ranks each has 1 to {ranks - 1} neighbours, not {neighbors}: change --ranks")
    if neighbors % 2 and ranks % 2:
        raise PatternError(f"{ranks} ranks cannot have {neighbors} neighbours each: one of the numbers must be even")
    distances = [*range(1, neighbors // 2 + 1), *([ranks // 2] if neighbors % 2 else [])]
    if smallest != largest and len(distances) == 1:
        raise PatternError(f"{neighbors} neighbours are all as near: give one size, or --neighbors 3 or more")
    messages = {}
    for i, distance in enumerate(distances):
        bytes_ = round(largest * (smallest / largest) ** (i / max(1, len(distances) - 1)))
        for rank in range(ranks):
            for other in (rank + distance, rank - distance):
                messages[rank, other % ranks] = bytes_
    return Pattern(ranks, messages)


def read(path: Path, ranks: int | None = None) -> Pattern:
    """From lines "sender receiver bytes"; # begins a comment. The ranks are those named, if not given. Raises
    PatternError."""
    messages: dict[tuple[int, int], int] = {}
    try:
        lines = files.read(path).splitlines()
    except (OSError, ValueError) as error:
        raise PatternError(f"{path} cannot be read: {getattr(error, 'strerror', None) or 'it is no text'}") from error
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) != 3 or not all(word.isascii() and word.isdecimal() and len(word) <= DIGITS for word in words):
            raise PatternError(f'{path}:{number}: {line.strip()[:60]!a} is not "sender receiver bytes"')
        one, other, size = map(int, words)
        if size == 0:
            raise PatternError(f"{path}:{number}: a message has at least one byte")
        if (one, other) in messages:
            raise PatternError(f"{path}:{number}: rank {one} sends to {other} twice: add the messages")
        if ranks is not None and max(one, other) >= ranks:
            raise PatternError(f"{path}:{number}: there is no rank {max(one, other)} of {ranks}: change --ranks")
        messages[one, other] = size
    if not messages:
        raise PatternError(f"{path} names no message")
    return Pattern(ranks or max(map(max, messages)) + 1, messages)
