# SPDX-License-Identifier: BSD-3-Clause
"""What each model says of the round trip of figure 3 of the LogGPS paper, as linear forms of its parameters.

Of every model here, with a computation of w at rank 0 after its send:

    round trip = max(base(k), w + hidden(k))

base: nothing is hidden, the ranks wait for each other; hidden: the wire is hidden behind the computation. Equations
(12)-(14) are of this form: (12) is max{2 (T1 + T2 + T3), w + T1 + T3}. Times are nanoseconds, lengths bytes.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Row = NDArray[np.float64]
NEVER = 10**18  # S of a library that never waits for the receiver: the longest length that the replayer takes


@dataclass(frozen=True)
class Rows:
    """The forms of one length."""

    base: Row
    hidden: Row
    send: Row  # T1; of a message above S this is not the time of a send


Equations = Callable[[int, int, int], Rows]  # of k, s, S


@dataclass(frozen=True)
class Model:
    """The names of a model's parameters, with their units, and its forms."""

    name: str
    units: dict[str, str]
    rows: Equations

    @property
    def names(self) -> list[str]:
        """Those of the parameters that are fitted, in the order of a row."""
        return list(self.units)

    def predict(self, values: Row, k: int, s: int, S: int, work: float) -> float:
        """The round trip."""
        rows = self.rows(k, s, S)
        return max(float(rows.base @ values), work + float(rows.hidden @ values))


def _combine(t1: Row, t2: Row, t3: Row, small: Row, wire: Row, rendezvous: bool) -> Rows:
    """Equations (12) and (13), or (14), from the times of table 3."""
    if not rendezvous:
        return Rows(2 * (t1 + t2 + t3), t1 + t3, t1)
    request = small + wire
    handshake = 2 * (request + small)  # T4 + T5, the receiver being there
    hidden = 2 * t1 + t2 + t3 + 2 * handshake - request
    return Rows(2 * (handshake + t1 + t2 + t3), hidden, t1)


def _loggps(k: int, s: int, S: int) -> Rows:
    wire, small, oss, ors, gs, osl, orl, gl = np.eye(8)
    send, receive = (osl, orl) if k > S else (oss, ors)
    gap = k * gs if k <= s else s * gs + (k - s) * gl
    return _combine(small + k * send, gap + wire, small + k * receive, small, wire, k > S)


def _loggp2(k: int, s: int, S: int) -> Rows:
    """Section 4.5: o and G are constants that change at s."""
    wire, short, long, gap_short, gap_long = np.eye(5)
    overhead, gap = (short, gap_short) if k <= s else (long, gap_long)
    return _combine(overhead, k * gap + wire, overhead, short, wire, k > S)


def _loggops(k: int, s: int, S: int) -> Rows:
    """Hoefler, Schneider, Lumsdaine: a sender's overhead per byte overlaps the wire; the handshake costs nothing."""
    wire, small, overhead, gap = np.eye(4)
    more = max(0, k - 1)
    one_way = 2 * small + wire + more * (overhead + gap)
    ends = 2 * (small + more * overhead)
    return Rows(2 * one_way, ends + more * gap if k > S else ends, small + more * overhead)


_SLOPES = dict.fromkeys(("Oss", "Ors", "Gs", "Osl", "Orl", "Gl"), "ns/byte")
LOGGPS = Model("loggps", {"L": "ns", "o": "ns", **_SLOPES}, _loggps)
LOGGP2 = Model(
    "loggp-2",
    {"L": "ns", "o_short": "ns", "o_long": "ns", "G_short": "ns/byte", "G_long": "ns/byte"},
    _loggp2,
)
LOGGOPS = Model("loggops", {"L": "ns", "o": "ns", "O": "ns/byte", "G": "ns/byte"}, _loggops)
