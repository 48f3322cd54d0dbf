# SPDX-License-Identifier: BSD-3-Clause
"""The topics of docs/performance.md: which groups of figures each has, and the sentence that answers "how fast"."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Topic:
    """A page below docs/performance/. In `answer`, {name of a figure} stands for its value and interval."""

    name: str
    title: str
    groups: tuple[str, ...]
    answer: str


# What the README says on its first screen, between its marks; values are filled in as in an answer.
FIRST_SCREEN = (
    "8 bytes and their flag in shared memory, one thread: {instructions of 8 B ompl_put + ompl_put_word} instructions,"
    " {put+flag, shm, 1 thread, 8 B, of the baseline} of the time that a program written by hand takes.",
    "The same by eight pairs of threads: {put+flag, shm, 8 threads, 8 B, of the best MPI sendrecv} of the best MPI's"
    " send and receive, {put+flag, shm, 8 threads, 8 B, of the best MPI put} of the best MPI's put.",
    "A thread asleep outside the library delays no other: seven threads keep"
    " {8 threads, 1 slot, TCP between namespaces, one asleep for 10 s: rate of the others} of their rate on one"
    " endpoint over TCP.",
)
TOPICS = (
    Topic(
        "memory", "One thread within a node", ("instructions", "one-thread", "rate", "operations"),
        "8 bytes and their flag take {instructions of 8 B ompl_put + ompl_put_word} instructions and"
        " {put+flag, shm, 1 thread, 8 B, of the baseline} of the time of a program written by hand.",
    ),
    Topic(
        "threads", "Many threads within a node", ("many-threads",),
        "8 bytes and their flag, by eight pairs of threads, take"
        " {put+flag, shm, 8 threads, 8 B, of the best MPI sendrecv} of the time of the best MPI's send and receive and"
        " {put+flag, shm, 8 threads, 8 B, of the best MPI put} of its put.",
    ),
    Topic(
        "hosts", "Between hosts over TCP", ("tcp", "ofi", "ucx", "sleeper", "cores16"),
        "8 bytes and their flag over the layer's own sockets, of the time of bare sockets:"
        " {put+flag, TCP between namespaces, 1 thread, 8 B, of the baseline}. A connected peer takes"
        " {memory of a rank for each of 1000 connected peers} of a rank's memory. Seven threads keep"
        " {8 threads, 1 slot, TCP between namespaces, one asleep for 10 s: rate of the others} of their rate on an"
        " endpoint that they share with a thread asleep.",
    ),
    Topic(
        "libraries", "Beside all libraries within a node", ("comparison", "ranking"),
        "With one thread another library is first at {1 thread: sizes up to 4 KiB at which another is first} sizes up"
        " to 4 KiB; from 64 KiB on the layer has {1 thread: bandwidth from 64 KiB, of the first's} of the first's"
        " bandwidth where it is furthest behind.",
    ),
    Topic(
        "clients", "Language runtimes and bindings",
        ("runtimes", "openshmem", "coarray", "tasks", "cholesky", "bindings"),
        "A remote call with its reply takes {remote call of 8 B with its reply, TCP} of a round trip of puts over TCP"
        " and {remote call of 8 B with its reply, shm} of one in memory; an OpenSHMEM put of 8 bytes in memory takes"
        " {OpenSHMEM put of 8 B, shm, of the layer's} of the layer's own; a coarray put of 8 bytes in memory takes"
        " {coarrays: put of 8 B, shm, of the better OpenCoarrays} of OpenCoarrays'.",
    ),
    Topic(
        "rdma", "RDMA conduits, over stand-ins", ("verbs", "utofu"),
        "A put with its flag takes {verbs, 8 B put+flag, instructions of ours} instructions of the layer's and"
        " {verbs, 8 B put+flag, doorbells} doorbell over a stand-in for Verbs. No figure here is from hardware.",
    ),
    Topic(
        "footprint", "Memory, start-up and the sources", ("footprint", "start-up", "aarch64", "checkout", "coverage"),
        "A rank of a job of two has {private memory (USS) of a rank} of private memory; a job of 64 ranks with a"
        " barrier takes {omplrun -n 64 hello with a barrier} from its start to its end.",
    ),
    Topic(
        "solver", "Halo exchange and conjugate gradients", ("halo", "halo-overlap", "cg"),
        "A halo exchange of 80 kB takes {double-buffered halo exchange, shm, 2 ranks, 80 kB each way, of mpi (mpich)}"
        " of MPICH's; an iteration of CG takes {CG per iteration, 27-point 100^3, 2 ranks, SELL, of PETSc} of PETSc's.",
    ),
    Topic(
        "collectives", "Collectives, overlap and progress", ("overlap", "progress", "tuner"),
        "A nonblocking allgather of 1 byte by two ranks takes {nonblocking allgather, 2 ranks, 1 B, of the best MPI} of"
        " the best MPI's; a get from a rank that computes takes {get of 8 B, ofi, at a rank that computes for 5 s} with"
        " a progress thread, and 5 s without.",
    ),
    Topic(
        "model", "Predictions and tracing", ("equations", "replay", "fit", "predictions", "elimination", "tracing"),
        "The example programs of MPI are predicted with a median error of"
        " {example programs, 2 ranks, mpich, median error} (MPICH); a recorded call costs {tracing mpich, a call}.",
    ),
)  # fmt: skip
