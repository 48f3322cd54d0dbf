# SPDX-License-Identifier: BSD-3-Clause
"""Writes traces as docs/reference/trace-format.md says, of programs as ops_tool.cpp knows them, without any MPI."""

import struct
from collections.abc import Callable, Sequence
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
    "Init": 1, "Finalize": 2, "Pcontrol": 4, "send": 10, "ssend": 12, "recv": 14, "Sendrecv": 16, "Iprobe": 19,
    "isend": 30, "issend": 32, "irecv": 34, "SendInit": 40, "SsendInit": 42, "RecvInit": 44, "Start": 45, "Wait": 60,
    "Waitall": 63, "Test": 64, "Testall": 67, "Barrier": 100, "Bcast": 101, "Gatherv": 103, "Scatterv": 105,
    "Allgather": 106, "Allgatherv": 107, "Alltoall": 108, "Alltoallv": 109, "Reduce": 111, "Allreduce": 112,
    "ReduceScatter": 113, "Scan": 115, "Exscan": 116, "Ibarrier": 140, "Iallgather": 146, "Ialltoall": 148,
    "Ialltoallv": 149,
    "Iallreduce": 152, "NeighborAllgather": 117, "NeighborAlltoallv": 120, "IneighborAlltoall": 159,
    "CommDup": 180, "CartCreate": 188, "DistGraphCreateAdjacent": 192, "Put": 210, "Get": 211, "Accumulate": 212,
    "FetchAndOp": 214, "Rput": 216, "Rget": 217, "WinCreate": 220, "WinFence": 225, "WinPost": 226, "WinStart": 227,
    "WinComplete": 228, "WinWait": 229, "WinTest": 230, "WinLock": 231, "WinUnlock": 232, "WinUnlockAll": 234,
    "WinFlush": 235, "WinFlushLocal": 237, "OmplBarrier": 400, "OmplPut": 403, "OmplGet": 404, "OmplPutWord": 405,
    "OmplPutSignal": 406, "OmplWait": 407, "OmplPoll": 408, "OmplFlush": 409, "OmplSignal": 411,
    "OmplPutNb": 413, "OmplHandleWait": 416, "OmplWaitUntil": 420, "OmplAtomic": 424, "OmplCallNb": 436,
    "OmplFlagThen": 432, "OmplFunction": 437, "OmplReply": 438, "OmplHaloCreate": 440, "OmplTaskBegin": 450,
    "OmplTaskEnd": 451,
    "OmplHaloStart": 442, "OmplHaloWait": 444, "OmplHaloWaitSome": 445, "Opaque": 300,
    "Match": 0x8001, "Ids": 0x8002, "Counts": 0x8003, "Word": 0x8004,
    "Communicator": 0x9001, "Window": 0x9002, "Topology": 0x9005,
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
    request: int = 0, flags: int = 0, site: int = 0,
) -> bytes:  # fmt: skip
    return struct.pack("<QQQiiIIIHH", begin, end, size, peer, tag, comm, request, site, KINDS[kind], flags)


def ids(numbers: list[int]) -> list[bytes]:
    pieces = [numbers[at : at + 11] for at in range(0, len(numbers), 11)]
    return [struct.pack("<11IHH", *piece, *[0] * (11 - len(piece)), KINDS["Ids"], len(piece)) for piece in pieces]


def counts(received: bool, numbers: list[int]) -> list[bytes]:
    pieces = [numbers[at : at + 5] for at in range(0, len(numbers), 5)]
    return [
        struct.pack("<5QIHH", *piece, *[0] * (5 - len(piece)), received, KINDS["Counts"], len(piece))
        for piece in pieces
    ]


def word(number: int, function: int, value: int, width: int = 32) -> bytes:
    return struct.pack("<2Q7IHH", value, 0, number, function, width, *[0] * 4, KINDS["Word"], 0)


def window(number: int, comm: int) -> bytes:
    return struct.pack("<Q9IHH", 0, number, comm, *[0] * 7, KINDS["Window"], KINDS["WinCreate"])


def topology(comm: int, made_by: str, first: list[int], second: list[int]) -> list[bytes]:
    words = (comm, len(first), len(second), *[0] * 8, KINDS["Topology"], KINDS[made_by])
    return [struct.pack("<11IHH", *words), *ids(first), *ids(second)]


def communicator(
    number: int, identity: int, rank: int, ranks: int, members: list[int], parent: int = 0, made_by: str = ""
) -> list[bytes]:
    named = ids(members)
    maker = KINDS[made_by] if made_by else 0
    words = (identity, number, ranks, rank, 0, parent, 0, 0, 0, len(named), KINDS["Communicator"], maker)
    return [struct.pack("<Q9IHH", *words), *named]


def block(stream: int, sequence: int, records: list[bytes]) -> bytes:
    data = b"".join(records)
    head = struct.pack("<4sIII6Q", b"OBLK", stream, sequence, 0, 1, 1, 0, 0, len(records), sum_of(data))
    return (head + data).ljust(BLOCK_BYTES, b"\0")


def rank_file(rank: int, ranks: int, definitions: list[bytes], threads: list[list[bytes]]) -> bytes:
    blocks = [block(0, 0, definitions)]
    for thread, calls in enumerate(threads, 1):
        pieces = [calls[at : at + PER_BLOCK] for at in range(0, len(calls), PER_BLOCK)]
        blocks += [block(thread, i, piece) for i, piece in enumerate(pieces)]
    numbers = (1, 0x01020304, HEADER_BYTES, BLOCK_BYTES, RECORD_BYTES, rank, ranks, 0, 1, 1)
    head = struct.pack("<8sIIIIIIIIQQ", b"OMPLTRC\0", *numbers)
    head += struct.pack("<16s64s64s256s1024s", b"tsc", b"host", b"boot", b"library", b"program")
    head += struct.pack("<QQ", sum_of(head), len(blocks))
    head += struct.pack("<8Q", 1, 1, 0, 1, 0, 0, 0, 0) + struct.pack("<IiQ", 1, 0, 0)
    return head.ljust(HEADER_BYTES, b"\0") + b"".join(blocks)


def write(
    folder: Path,
    calls: list[list[bytes]],
    more: Callable[[int], list[bytes]] = lambda _: [],
    threads: Sequence[tuple[int, list[bytes]]] = (),
) -> None:
    """A trace of these calls; communicator 3 has all ranks in turned order. `more`: definitions of a rank. `threads`:
    further ones, each with its rank."""
    ranks = len(calls)
    for rank, records in enumerate(calls):
        definitions = communicator(WORLD, 11, rank, ranks, [])
        definitions += communicator(ANOTHER, 33, ranks - 1 - rank, ranks, list(reversed(range(ranks))))
        definitions += more(rank)
        path = folder / f"rank.{rank:06}.omplt"
        further = [more_records for owner, more_records in threads if owner == rank]
        path.write_bytes(rank_file(rank, ranks, definitions, [records, *further]))


def write_threads(folder: Path, first: list[list[Any]], further: list[tuple[int, list[Any]]]) -> None:
    """A trace of these programs. Each is recorded as far as what it waits for was handed over."""
    handed: list[dict[int, Posted]] = [{} for _ in first]
    all_threads = [*enumerate(first), *further]
    recorders = [
        Recorder(program, len(first), {}, thread, handed[rank]) for thread, (rank, program) in enumerate(all_threads)
    ]
    while any(not recorder.is_over for recorder in recorders):
        for recorder in recorders:
            recorder.go_on()
    for recorder in recorders[len(first) :]:
        del recorder.calls[0], recorder.calls[-1]  # of MPI_Init and MPI_Finalize
    owners = [rank for rank, _ in further]
    calls = [recorder.calls for recorder in recorders]
    write(folder, calls[: len(first)], threads=list(zip(owners, calls[len(first) :], strict=True)))


# A request: its id, the source and tag of what it got, flags; when it was posted.
Posted = tuple[int, int, int, int, int]


class Recorder:
    """Turns a program into what a tracer would have recorded of it. Calls take times that mean nothing."""

    def __init__(
        self,
        program: list[Any],
        ranks: int,
        matches: dict[int, tuple[int, int]],
        thread: int = 0,
        handed: dict[int, Posted] | None = None,
    ) -> None:
        """`matches`: for receives from any, by their number in the program, the source and tag that came. `handed`:
        what the threads of its rank hand over, by number; then it goes as far as go_on() lets it."""
        self.now, self.ranks, self.thread = 1000, ranks, thread
        self.calls = [record("Init", 10, self.now)]
        self.requests: list[Posted] = []
        self.left = list(enumerate(program))
        self.is_over = False
        self.handed = {} if handed is None else handed
        self.matches = matches
        if handed is None:
            self.go_on()

    def go_on(self) -> None:
        while self.left:
            number, (kind, *rest) = self.left[0]
            if kind == "wait" and not set(rest[1] if len(rest) > 1 else []) <= set(self.handed):
                return
            del self.left[0]
            if kind == "compute":
                self.now += rest[0]
            elif kind == "hand":
                self.handed[rest[1]] = self.requests[rest[0]]
            elif kind == "wait":
                self.wait(*rest)
            else:
                self.message(kind, rest, self.matches.get(number))
        if not self.is_over:
            self.calls.append(record("Finalize", self.now, self.now + 77))
        self.is_over = True

    def call(self, kind: str, not_before: int = 0, **fields: int) -> None:
        begin, self.now = self.now, max(self.now + 123, not_before)
        self.calls.append(record(kind, begin, self.now, **fields))

    def message(self, kind: str, rest: list[Any], match: tuple[int, int] | None) -> None:
        peer, tag, group, *more = rest
        flags = (ASKED_ANY_SOURCE if peer < 0 else 0) | (ASKED_ANY_TAG if tag < 0 else 0)
        if more and more[1]:
            kind = {"send": "ssend", "isend": "issend"}[kind]
        if match and kind == "recv":
            peer, tag = match
        comm = ANOTHER if group else WORLD
        request = 1000 * self.thread + len(self.requests) + 1 if kind.startswith("i") else 0
        place = {"peer": self.local(peer, comm), "tag": tag, "comm": comm}
        self.call(kind, size=more[0] if more else 0, request=request, flags=flags, **place)
        if request:
            source, its_tag = match or (peer, tag)
            source = self.local(source, comm) if kind == "irecv" else NO_PEER
            self.requests.append((request, source, its_tag, flags, self.now))

    def local(self, rank: int, comm: int) -> int:
        return self.ranks - 1 - rank if comm == ANOTHER and rank >= 0 else rank

    def wait(self, numbers: list[int], handed: Sequence[int] = ()) -> None:
        chosen = [self.requests[number] for number in numbers] + [self.handed[number] for number in handed]
        posted = max(time for *_, time in chosen)
        if len(chosen) == 1:
            request, source, tag, _, _ = chosen[0]
            self.call("Wait", posted, request=request, peer=source, tag=tag if source != NO_PEER else 0)
            return
        self.call("Waitall", posted, size=len(chosen), flags=SEVERAL)
        exact = [request for request, _, _, flags, _ in chosen if not flags]
        self.calls += ids(exact)
        for request, source, tag, flags, _ in chosen:
            if flags:
                self.calls.append(record("Match", self.now, self.now, peer=source, tag=tag, request=request))
