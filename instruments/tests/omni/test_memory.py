# SPDX-License-Identifier: BSD-3-Clause
"""What one more rank costs: the kernel's figures of a process, the arithmetic, real jobs in which all have talked."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE

import jsonschema
import pytest
from omnipgas_tools.commands import memory as memory_command
from omnipgas_tools.libraries import catalog
from omnipgas_tools.measure import memory, process
from omnipgas_tools.measure.memory import Job

from .common import MOCK, SCHEMA, built, children, mock, omni

PAGES = 4 << 20  # bytes

# Says its process's id at each step, and waits for a line before the next.
SHARER = """
import gc, mmap, os, sys, tempfile
gc.disable()
def step():
    print(os.getpid(), flush=True)
    sys.stdin.readline()
def touch(memory):
    for place in range(0, len(memory), mmap.PAGESIZE):
        memory[place] = 1
step()
size = int(sys.argv[1])
with tempfile.TemporaryFile(dir="/var/tmp") as file:  # on no file system in memory
    file.truncate(size)
    with mmap.mmap(file.fileno(), 0) as of_a_file:
        touch(of_a_file)
        step()
with mmap.mmap(-1, size) as shared:
    touch(shared)
    step()
    child = os.fork()
    step() if child == 0 else None
    touch(shared)
    step() if child == 0 else os.waitpid(child, 0)
"""


def test_memory_is_what_is_no_files_and_a_share_of_what_is_shared() -> None:
    found = []
    with subprocess.Popen([sys.executable, "-c", SHARER, str(PAGES)], stdin=PIPE, stdout=PIPE, text=True) as sharer:
        assert sharer.stdin and sharer.stdout
        for _ in range(5):
            found.append(process.own_memory(int(sharer.stdout.readline())))
            print(file=sharer.stdin, flush=True)
    untouched, read, touched, child, both = found
    assert read - untouched < 0.1 * PAGES
    assert 0.9 * PAGES < touched - read < 1.1 * PAGES
    assert 0.4 * PAGES < both - child < 0.6 * PAGES


def test_descriptors_are_counted() -> None:
    before = process.descriptors(os.getpid())
    with MOCK.open("rb"):
        assert process.descriptors(os.getpid()) == before + 1


def test_a_process_that_is_gone_has_no_memory() -> None:
    assert process.own_memory(2**22 + 1) == process.private_memory(2**22 + 1) == 0


def test_each_rank_beyond_the_first_jobs_is_charged_alike() -> None:
    cost = memory.between(Job(10 << 20, 10, "", ""), Job(13 << 20, 16, "", ""), 3)
    assert (cost.memory, cost.descriptors) == (1024.0, 2.0)


def test_threads_are_charged_beyond_the_fewest() -> None:
    rows = [{"library": "a", "ranks": 4, "threads": t, "memory_per_peer_KiB": k} for t, k in ((1, 10.0), (3, 16.0))]
    assert memory_command.per_thread(rows, rows[1]) == 3.0
    assert memory_command.per_thread(rows, rows[0]) is None


def test_jobs_of_any_size_talk() -> None:
    rows = memory.rows(replace(mock("good"), ranks=2), "put", 1, [2], repeat=2, limit=10)
    assert [(row["status"], row["ranks"], row["memory_per_peer_KiB"]) for row in rows] == [("ok", 2, None)]
    assert rows[0]["memory_MiB"] > 1  # a Python


@pytest.mark.parametrize(("mode", "status"), [("hang", "hung"), ("crash", "crashed"), ("corrupt", "corrupt")])
def test_a_job_that_fails_ends_the_row(mode: str, status: str) -> None:
    rows = memory.rows(mock(mode), "put", 1, [2, 4], repeat=1, limit=1 if mode == "hang" else 30)
    assert [row["status"] for row in rows] == [status]
    assert not children()


def test_only_libraries_with_a_program_can_tell() -> None:
    table = catalog.read_table(Path(__file__).parents[2] / "bench" / "peers.toml")
    can = {name for name, library in table.items() if memory.can_tell(library)}
    some = {"ompl", "mpich", "oshmem-debian", "ucx-workers", "libfabric", "gasnet-smp", "verbs", "gaspi", "lci"}
    assert some | {"armci-debian", "ompl-mpich"} <= can
    assert not can & {"raw", "ofi", "ucx", "mpi-delegate"}
    folder = Path(__file__).parents[2] / "bench" / memory.KIND
    assert {path.stem for path in folder.glob("*.cpp")} == set(memory.ADAPTERS)


@pytest.mark.parametrize("library", ["ompl", "ucx-workers"])
def test_every_rank_talks_with_every_other_one(library: str) -> None:
    here = built(library, memory.KIND)
    few, many = (memory.measure(job, 2) for job in memory.alike(here, 2, (2, 3)))
    assert few.version and 0 < few.memory < 1 << 30
    assert many.descriptors > 0
    assert not children()


def test_the_command(tmp_path: Path) -> None:
    built("ompl", memory.KIND)
    path = tmp_path / "m.json"
    done = omni("memory", "--libs", "ompl", "--over", "tcp", "--threads", "1,2", "--ranks", "2,3", "--repeat", "1",
                "--json", str(path), check=True)  # fmt: skip
    content = json.loads(path.read_text())
    jsonschema.validate(content, SCHEMA)
    found = [(row["library"], row["threads"], row["ranks"]) for row in content["results"]]
    assert found == [("ompl tcp", threads, ranks) for threads in (1, 2) for ranks in (2, 3)]
    costs = [row["descriptors_per_peer"] for row in content["results"] if row["ranks"] == 3]
    assert 1 <= costs[0] < costs[1]  # a socket for each endpoint
    assert "per peer" in done.stdout


def test_one_size_of_job_is_refused() -> None:
    done = omni("memory", "--libs", "ompl", "--ranks", "2")
    assert done.returncode == 2 and "two sizes" in done.stderr


def test_jobs_differ_in_nothing_but_their_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "cores", lambda: 2)
    crowded = catalog.Setting("YIELD", "1", "crowded", "", "")
    per_rank = catalog.Setting("RANKS", "{ranks}", "always", "", "")
    found = mock("good")
    found = replace(found, library=replace(found.library, settings=[crowded, per_rank]))
    jobs = memory.alike(found, 1, [2, 4])
    assert [job.environment(1) for job in jobs] == [{"YIELD": "1", "RANKS": "2"}, {"YIELD": "1", "RANKS": "4"}]
