# SPDX-License-Identifier: BSD-3-Clause
"""What the study of halo exchange compares: the series of "Performance evaluation of RDMA communication with double
buffering in the conjugate gradient method", table 2."""

from dataclasses import dataclass

BASE = "mpi"  # on the same partition
STRATEGIES = {"rdma": "single", "dbf": "double-buffer"}
PARTITIONS = {"fix": "row", "metis": "kway"}
# Each with its strategy and partition.
SERIES = {f"{way}-{cut}": (strategy, kind) for cut, kind in PARTITIONS.items() for way, strategy in STRATEGIES.items()}
WORKS = ("spmv", "spmv+dot", "cg")
MOST_RANKS = 16  # that exchange or solve for real


@dataclass(frozen=True)
class Plan:
    """What is measured and modelled."""

    matrix: str  # --generate=... or --matrix=...
    parts: list[int]  # of the model; those up to MOST_RANKS also exchange for real
    ranks: list[int]  # that solve for real
    neighbors: list[int]  # of rings
    rates: list[int]  # Mbit/s of links between two hosts
    mpi: str
    iterations: int  # of a solve for real
    rounds: int
    seconds: float  # of a block of exchanges
    noise: float  # of modelled computation
    reset_ns: float  # of a mark, in the model
    timeout: float
    seed: int

    @property
    def exchanging(self) -> list[int]:
        """Parts whose exchanges are timed, by more ranks than cores."""
        return [parts for parts in self.parts if parts <= MOST_RANKS]
