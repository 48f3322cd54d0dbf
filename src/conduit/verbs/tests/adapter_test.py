#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The adapter of bare Verbs in the comparison, and its program of `omni memory`, in a virtual machine with a Soft-RoCE
device: the harness verifies what they move.  adapter_test.py BUILD_DIR

Its times mean nothing there. The worker is driven without `omni`, whose imports take a minute in a guest."""

import os
import sys
from dataclasses import replace
from pathlib import Path

from omnipgas_tools.libraries import catalog
from omnipgas_tools.measure.worker import Worker

SKIP = 77
LIMIT = 60.0  # seconds of a measurement,
SHORT = 0.2  # after which no more is sent
SIZES = (4, 220, 221, 8192, 8193, 65536)  # in the request, copied, read where they are
MESSAGES = 4096  # to a sleeping target: the requests under way are used up many times


def expect(holds: bool, what: object) -> None:
    if not holds:
        sys.exit(f"adapter_test: not so: {what}")


def check(found: catalog.Found, threads: int, endpoints: int) -> None:
    os.environ["OMNI_ENDPOINTS"] = str(endpoints)
    with Worker(found, threads, max(SIZES)) as worker:
        hello = worker.hello[0]
        expect(hello["transport"] == "rxe0, port 1, RoCE" and "libibverbs" in hello["version"], hello)
        expect(hello["endpoints"] == endpoints and int(hello["details"]["bytes in a request"]) >= 220, hello)
        for size in SIZES:
            expect(worker.pingpong("put", size, MESSAGES, SHORT, LIMIT).count >= threads, size)
        for op, size in ("put", SIZES[0]), ("put", SIZES[2]), ("putonly", SIZES[0]), ("putonly", SIZES[2]):
            expect(worker.rate(op, size, MESSAGES, SHORT, LIMIT).count >= threads, (op, size))
    print(f"adapter_test: {threads} threads, {endpoints} queue pairs: {hello}", flush=True)


def main(folder: str) -> int:
    build = Path(folder).resolve()
    if not (build / "bin" / "ompl_bench_verbs").exists():
        print("skipped: the worker is not built, for want of libibverbs' header")
        return SKIP
    library = catalog.table(build)["verbs"]
    found = catalog.find(library, build)
    for threads, endpoints in (1, 1), (2, 2), (2, 1):
        check(found, threads, endpoints)
    for ranks in (2, 3):
        with Worker(replace(catalog.find(library, build, "connected"), ranks=ranks), 2, SIZES[-1]) as worker:
            worker.talk(LIMIT)  # fails if a rank has no word from another one
            expect(len(worker.hello) == ranks, worker.hello)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
