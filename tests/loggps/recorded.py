# SPDX-License-Identifier: BSD-3-Clause
"""Writes traces as docs/trace-format.md says, of programs as ops_tool.cpp knows them, without any MPI."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

MASK = 2**64 - 1
FACTORS = (
    0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9,
    0xD6E8FEB86659FD93, 0xA0761D6478BD642F, 0xE7037ED1A0B428DB,
)  # fmt: skip
HEADER_BYTES, BLOCK_BYTES, BLOCK_HEADER_BYTES, RECORD_BYTES = 65536, 262144, 64, 48
PER_BLOCK = (BLOCK_BYTES - BLOCK_HEADER_BYTES) // RECORD_BYTES
KINDS = {
    "Init": 1, "Finalize": 2, "send": 10, "ssend": 12, "recv": 14, "Sendrecv": 16, "isend": 30, "issend": 32,
    "irecv": 34, "SendInit": 40, "RecvInit": 44, "Start": 45, "Wait": 60, "Waitall": 63, "Barrier": 100,
    "Allreduce": 112, "Put": 210, "Opaque": 300, "Match": 0x8001, "Ids": 0x8002, "Communicator": 0x9001,
}  # fmt: skip
WORLD, ANOTHER = 1, 3
NO_PEER, SEVERAL, ASKED_ANY_SOURCE, ASKED_ANY_TAG = -3, 8, 1, 2


def sum_of(data: bytes) -> int:
    total = 0
    for at in range(0, len(data), RECORD_BYTES):
        words = struct.unpack("<6Q", data[at : at + RECORD_BYTES].ljust(RECORD_BYTES, b"\0"))
        mixed = sum(word * factor for word, factor in zip(words, FACTORS, strict=True)) & MASK
        total = (((total << 1) | (total >> 63)) + (mixed ^ (mixed >> 29))) & MASK
    return total


def record(
    kind: str, begin: int, end: int, size: int = 0, peer: int = NO_PEER, tag: int = 0, comm: int = 0,
    request: int = 0, flags: int = 0,
) -> bytes:  # fmt: skip
    return struct.pack("<QQQiiIIIHH", begin, end, size, peer, tag, comm, request, 0, KINDS[kind], flags)


def ids(numbers: list[int]) -> list[bytes]:
    pieces = [numbers[at : at + 11] for at in range(0, len(numbers), 11)]
    return [struct.pack("<11IHH", *piece, *[0] * (11 - len(piece)), KINDS["Ids"], len(piece)) for piece in pieces]


def communicator(number: int, identity: int, rank: int, ranks: int, members: list[int]) -> list[bytes]:
    named = ids(members)
    words = (identity, number, ranks, rank, 0, 0, 0, 0, 0, len(named), KINDS["Communicator"], 0)
    return [struct.pack("<Q9IHH", *words), *named]


def block(stream: int, sequence: int, records: list[bytes]) -> bytes:
    data = b"".join(records)
    head = struct.pack("<4sIII6Q", b"OBLK", stream, sequence, 0, 1, 1, 0, 0, len(records), sum_of(data))
    return (head + data).ljust(BLOCK_BYTES, b"\0")


def rank_file(rank: int, ranks: int, definitions: list[bytes], calls: list[bytes]) -> bytes:
    blocks = [block(0, 0, definitions)]
    blocks += [block(1, i, calls[at : at + PER_BLOCK]) for i, at in enumerate(range(0, len(calls), PER_BLOCK))]
    numbers = (1, 0x01020304, HEADER_BYTES, BLOCK_BYTES, RECORD_BYTES, rank, ranks, 0, 1, 1)
    head = struct.pack("<8sIIIIIIIIQQ", b"OMPLTRC\0", *numbers)
    head += struct.pack("<16s64s64s256s1024s", b"tsc", b"host", b"boot", b"library", b"program")
    head += struct.pack("<QQ", sum_of(head), len(blocks))
    head += struct.pack("<8Q", 1, 1, 0, 1, 0, 0, 0, 0) + struct.pack("<IiQ", 1, 0, 0)
    return head.ljust(HEADER_BYTES, b"\0") + b"".join(blocks)


def write(folder: Path, calls: list[list[bytes]]) -> None:
    """A trace of these calls; communicator 3 has all ranks in turned order."""
    ranks = len(calls)
    for rank, records in enumerate(calls):
        definitions = communicator(WORLD, 11, rank, ranks, [])
        definitions += communicator(ANOTHER, 33, ranks - 1 - rank, ranks, list(reversed(range(ranks))))
        path = folder / f"rank.{rank:06}.omplt"
        path.write_bytes(rank_file(rank, ranks, definitions, records))


class Recorder:
    """Turns a program into what a tracer would have recorded of it. Calls take times that mean nothing."""

    def __init__(self, program: list[Any], ranks: int, matches: dict[int, tuple[int, int]]) -> None:
        """`matches`: for receives from any, by their number in the program, the source and tag that came."""
        self.now, self.ranks = 1000, ranks
        self.calls = [record("Init", 10, self.now)]
        self.requests: list[tuple[int, int, int, int]] = []  # id, source, tag, flags
        for number, (kind, *rest) in enumerate(program):
            if kind == "compute":
                self.now += rest[0]
            elif kind == "wait":
                self.wait(rest[0])
            else:
                self.message(kind, rest, matches.get(number))
        self.calls.append(record("Finalize", self.now, self.now + 77))

    def call(self, kind: str, **fields: int) -> None:
        begin, self.now = self.now, self.now + 123
        self.calls.append(record(kind, begin, self.now, **fields))

    def message(self, kind: str, rest: list[Any], match: tuple[int, int] | None) -> None:
        peer, tag, group, *more = rest
        flags = (ASKED_ANY_SOURCE if peer < 0 else 0) | (ASKED_ANY_TAG if tag < 0 else 0)
        if more and more[1]:
            kind = {"send": "ssend", "isend": "issend"}[kind]
        if match and kind == "recv":
            peer, tag = match
        comm = ANOTHER if group else WORLD
        request = len(self.requests) + 1 if kind.startswith("i") else 0
        place = {"peer": self.local(peer, comm), "tag": tag, "comm": comm}
        self.call(kind, size=more[0] if more else 0, request=request, flags=flags, **place)
        if request:
            source, its_tag = match or (peer, tag)
            self.requests.append((request, self.local(source, comm) if kind == "irecv" else NO_PEER, its_tag, flags))

    def local(self, rank: int, comm: int) -> int:
        return self.ranks - 1 - rank if comm == ANOTHER and rank >= 0 else rank

    def wait(self, numbers: list[int]) -> None:
        chosen = [self.requests[number] for number in numbers]
        if len(chosen) == 1:
            request, source, tag, _ = chosen[0]
            self.call("Wait", request=request, peer=source, tag=tag if source != NO_PEER else 0)
            return
        self.call("Waitall", size=len(chosen), flags=SEVERAL)
        exact = [request for request, _, _, flags in chosen if not flags]
        self.calls += ids(exact)
        for request, source, tag, flags in chosen:
            if flags:
                self.calls.append(record("Match", self.now, self.now, peer=source, tag=tag, request=request))
