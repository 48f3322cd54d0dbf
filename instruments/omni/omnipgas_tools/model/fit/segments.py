# SPDX-License-Identifier: BSD-3-Clause
"""The model `curve`: o of the sender, o of the receiver and the wire as lines over the length, each segment of lengths
with its own.

Within a node no MPI is one bend and one jump: caches, cells, copies by the kernel and several protocols make more. How
many segments there are, and where, is told by the information criterion over the measured one-way times; S, at which
sends begin to wait, always begins one, at its byte.
"""

from dataclasses import dataclass, field

import numpy as np

from omnipgas_tools.model.fit.curves import INTERVAL, Array, Curves, Estimate, Lengths

LEAST_POINTS = 3  # of a segment: two make a line of any two values
MOST_SEGMENTS = 12
PARAMETERS = 3  # of a segment: where it begins, and its line
LEAST_ERROR = 1e-3  # relative; a clock and a machine that repeat better than this do not make segments
RESAMPLES = 40  # of the places of segments, each of which is a search
PARTS = ("o_send", "o_recv", "wire")


@dataclass(frozen=True)
class Segment:
    """Of lengths: both ends are measured ones."""

    first: int
    last: int
    one_way: tuple[Estimate, Estimate]  # half of a round trip at either end
    begins: tuple[float, float]  # interval of `first`


@dataclass
class Curve:
    """All segments, and the three parts at their ends, in nanoseconds."""

    latency: float  # of the shortest message, which `wire` does not contain
    segments: list[Segment]
    knots: list[dict[str, float]] = field(default_factory=list)  # bytes, and each of PARTS

    def one_way(self, k: float, S: int) -> float:
        """What the replay makes of a message alone."""
        at = [row["bytes"] for row in self.knots]
        parts = {name: line(k, at, [row[name] for row in self.knots]) for name in PARTS}
        return sum(parts.values()) + self.latency + (self.handshake() if k > S else 0)

    def handshake(self) -> float:
        """A request and its grant, both of which cost what the shortest message costs."""
        return 2 * (self.knots[0]["o_send"] + self.latency + self.knots[0]["o_recv"])


def line(k: float, at: list[float], values: list[float]) -> float:
    """Between two knots, or from the two last ones on."""
    if len(at) < 2 or k <= at[0]:
        return values[0]
    i = min(int(np.searchsorted(at, k)), len(at) - 1)
    low, high = at[i - 1], at[i]
    return max(0.0, values[i - 1] + (k - low) / (high - low) * (values[i] - values[i - 1]))


def find(curves: Curves, lengths: Lengths, picks: list[Curves]) -> Curve:
    """The segments of a library's one-way times, with intervals from the resampled rounds `picks`."""
    k, whole = curves.k, curves.base / 2
    if len(k) == 1:
        return _of_one(curves)
    starts = places(k, whole, lengths.S)
    several = [one.base / 2 for one in picks]
    moved = [k[places(k, one, lengths.S)] for one in several[:RESAMPLES]]
    segments = []
    for first, end in zip(starts, [*starts[1:], len(k)], strict=True):
        part = slice(first, end)
        ends = _line(k[part], whole[part])
        sampled = np.array([_line(k[part], one[part]) for one in several] or [ends])
        low, high = np.percentile(sampled, INTERVAL, axis=0)
        estimates = [Estimate(float(value), float(min(a, value)), float(max(b, value)), "ns")
                     for value, a, b in zip(ends, low, high, strict=True)]  # fmt: skip
        segments.append(
            Segment(int(k[first]), int(k[end - 1]), (estimates[0], estimates[1]), _nearest(float(k[first]), moved))
        )
    return _with_parts(curves, lengths, segments)


def places(k: Array, times: Array, S: int | None) -> list[int]:
    """The indices at which segments begin, the first of them 0."""
    cut = len(k) if S is None else int((k <= S).sum())
    best: list[tuple[float, list[int]]] = []
    for first, end in ((0, cut), (cut, len(k))):
        if end > first:
            best.append(_best(k[first:end], times[first:end], first, len(k)))
    return [place for _, found in best for place in found]


def _best(k: Array, times: Array, offset: int, total: int) -> tuple[float, list[int]]:
    """Of one protocol: by dynamic programming over all places, and the criterion over their number."""
    count = len(k)
    errors = _errors(k, times)
    least = np.full((MOST_SEGMENTS + 1, count + 1), np.inf)
    come = np.zeros((MOST_SEGMENTS + 1, count + 1), dtype=int)
    least[0, 0] = 0
    for pieces in range(1, MOST_SEGMENTS + 1):
        for end in range(1, count + 1):
            options = least[pieces - 1, :end] + errors[:end, end]
            come[pieces, end] = int(options.argmin())
            least[pieces, end] = options[come[pieces, end]]
    noise = LEAST_ERROR**2 * count
    scores = [count * np.log((least[p, count] + noise) / count) + PARAMETERS * p * np.log(total)
              for p in range(1, MOST_SEGMENTS + 1)]  # fmt: skip
    pieces, end, starts = 1 + int(np.argmin(scores)), count, []
    score = float(scores[pieces - 1])
    for left in range(pieces, 0, -1):
        end = int(come[left, end])
        starts.append(offset + end)
    return score, starts[::-1]


def _errors(k: Array, times: Array) -> Array:
    """Of one line over the lengths [i, j), for all i and j: the sum of squared relative errors."""
    count = len(k)
    weights = 1 / times**2
    sums = [np.concatenate([[0.0], np.cumsum(weights * one)]) for one in
            (np.ones(count), k, k * k, times, k * times, times * times)]  # fmt: skip
    w, wk, wkk, wy, wky, wyy = (one[None, :] - one[:, None] for one in sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.maximum(0, np.where(np.abs(w * wkk - wk**2) > 0, (w * wky - wk * wy) / (w * wkk - wk**2), 0))
        base = (wy - slope * wk) / w
        errors = wyy - 2 * base * wy - 2 * slope * wky + base**2 * w + 2 * base * slope * wk + slope**2 * wkk
    lengths = np.arange(count + 1)[None, :] - np.arange(count + 1)[:, None]
    allowed = (lengths >= LEAST_POINTS) | ((lengths >= 1) & (lengths == count))
    return np.where(allowed, np.maximum(errors, 0), np.inf)


def _line(k: Array, y: Array) -> tuple[float, float]:
    """The values at both ends of the line with the least relative errors that does not fall."""
    w = 1 / y**2
    mean_k, mean_y = float((w * k).sum() / w.sum()), float((w * y).sum() / w.sum())
    spread = float((w * (k - mean_k) ** 2).sum())
    slope = max(0.0, float((w * (k - mean_k) * (y - mean_y)).sum()) / spread) if spread else 0.0
    return tuple(max(0.1, mean_y + slope * (float(at) - mean_k)) for at in (k[0], k[-1]))  # type: ignore[return-value]


def _nearest(place: float, moved: list[Array]) -> tuple[float, float]:
    near = [float(starts[np.abs(np.log((starts + 1) / (place + 1))).argmin()]) for starts in moved]
    low, high = np.percentile([*near, place], INTERVAL)
    return float(min(low, place)), float(max(high, place))


def _with_parts(curves: Curves, lengths: Lengths, segments: list[Segment]) -> Curve:
    """One-way times parted into o of both sides and the wire, at both ends of each segment. Behind a computation a send
    takes o of the sender. With a handshake the sender's part comes from the round trip that hides the wire; the
    receiver's is that of the shortest message, since nothing tells it from the wire's."""
    shortest = segments[0].one_way[0].value
    send = min(float(curves.send[0]), shortest)
    receive = min(float(curves.receive[0]), shortest - send)
    out = Curve(max(0.0, shortest - send - receive), segments)
    out.knots.append({"bytes": 0, "o_send": send, "o_recv": receive, "wire": 0.0})
    handshake, request = out.handshake(), send + out.latency
    for segment in segments:
        inside = (curves.k >= segment.first) & (curves.k <= segment.last)
        waits = lengths.S is not None and segment.first > lengths.S
        sends, receives = curves.send, curves.receive
        if waits:
            sends = np.maximum(0.1, curves.hidden - curves.base / 2 - handshake + request)
            receives = np.full(len(curves.k), receive)
        ends = zip((segment.first, segment.last), segment.one_way, _line(curves.k[inside], sends[inside]),
                   _line(curves.k[inside], receives[inside]), strict=True)  # fmt: skip
        for at, whole, own_send, own_receive in ends:
            room = max(0.0, whole.value - out.latency - (handshake if waits else 0))
            own_send = min(own_send, room)
            own_receive = min(own_receive, room - own_send)
            knot = {"bytes": at, "o_send": own_send, "o_recv": own_receive, "wire": room - own_send - own_receive}
            if at > out.knots[-1]["bytes"]:
                out.knots.append(knot)
    if len(out.knots) == 1:
        out.knots.append(out.knots[0] | {"bytes": 1})
    out.knots[0] |= {name: out.knots[1][name] for name in PARTS} if segments[0].first <= 1 else {}
    return out


def _of_one(curves: Curves) -> Curve:
    """Of an operation with one length, a word."""
    whole = float(curves.base[0] / 2)
    estimate = Estimate(whole, whole, whole, "ns")
    at = int(curves.k[0])
    return _with_parts(curves, Lengths(None, None), [Segment(at, at, (estimate, estimate), (at, at))])
