#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""faults_test.py BUILD: what goes wrong in OpenSHMEM programs ends them with a reason, and hangs none."""

import os
import re
import subprocess
from pathlib import Path

from fault_programs import ALLOCATOR, CONTEXT, COUNTLESS, DESTROYED, HUGE, KILLED, LONG, MAPPED, UNALIGNED
from jobs import LIMIT_S, Jobs, main
from programs import HEAP, HELLO, STATIC

OPEN_MPI = Path("/usr/lib/x86_64-linux-gnu/openmpi/include")
# A call, and the function that tells of the death.
CALLS = {
    "put": "shmem_(long_put|quiet)",
    "put_nbi": "shmem_(long_put_nbi|quiet)",
    "get": "shmem_long_get",
    "atomic": "shmem_long_atomic_fetch_add",
    "signal": "shmem_(long_put_signal|quiet)",
    "barrier": "shmem_barrier_all",
    "sync": "shmem_team_sync",
    "reduction": "a reduction",
    "broadcast": "shmem_broadcast",
    "wait": "shmem_long_wait_until",
    "signal_wait": "shmem_signal_wait_until",
    "lock": "shmem_set_lock",
    "malloc": "shmem_(malloc|free)",
    "split": "shmem_team_split_strided",
    "finalize": "shmem_finalize",
}


# Those that need nothing of the dead PE where its memory is mapped: then only the launcher ends them.
ONE_SIDED = ("put", "put_nbi", "get", "atomic", "signal")


class Faults(Jobs):
    def killed(self, program: Path, call: str, *options: str, **environment: str) -> str:
        done = self.run_tool("oshrun", *options, "--timeout", "60", "-np", "3", program, call, **environment)
        self.assertNotIn(done.returncode, (0, 124, 128 + 14), done.stdout)
        return done.stdout

    def test_the_launcher_ends_the_others_and_names_the_pe_that_was_killed(self) -> None:
        program = self.compile(KILLED)
        for call in CALLS:
            with self.subTest(call):
                said = self.killed(program, call, OMPL_CONDUITS="self,shm")
                self.assertRegex(said, r"rank 2 .*(signal 9|SIGKILL|Killed)|[Rr]ank 2 .*died|PE 2")

    def test_calls_end_by_themselves_when_a_pe_is_killed(self) -> None:
        program = self.compile(KILLED)
        for conduits in self.conduits():
            for call, function in CALLS.items():
                if call in ONE_SIDED and "shm" in conduits:
                    continue
                with self.subTest(call=call, conduits=conduits):
                    said = self.killed(program, call, "--keep-going", OMPL_CONDUITS=conduits)
                    self.assertRegex(said, rf"PE [01]: {function}: .*(rank|PE) 2\b")

    def test_memory_of_a_killed_pe_that_is_mapped_stays(self) -> None:
        """Puts, gets and atomics go on, as the page says; the next call that needs the PE ends the job."""
        program = self.compile(MAPPED)
        said = self.killed(program, "", "--keep-going", OMPL_CONDUITS="self,shm")
        for pe in (0, 1):
            self.assertIn(f"PE {pe} used the memory", said)
        self.assertRegex(said, r"PE [01]: shmem_barrier_all: .*(rank|PE) 2\b")

    def test_static_data_larger_than_the_segment(self) -> None:
        said = self.fails(self.compile(HUGE), "shmem_init: .*OMPL_SEGMENT_SIZE", OMPL_SEGMENT_SIZE="256M")
        self.assertIn("static data", said)
        self.succeeds(self.compile(HUGE))

    def test_more_elements_than_memory_has(self) -> None:
        """Refused by the library and by what the header compiles into programs."""
        for options in ((), ("-DSHMEM_NO_INLINE",)):
            program = self.compile(COUNTLESS, *options)
            for call in ("put", "put_nbi", "get", "put_signal", "iput", "broadcast", "fcollect", "alltoall"):
                with self.subTest(call=call, options=options):
                    self.assertNotIn("not refused", self.fails(program, f"shmem_(long_)?{call}: ", call))

    def test_stripped_and_static_programs(self) -> None:
        program = self.compile(STATIC, "-s", suffix=".cpp")
        self.succeeds(program)
        (self.folder / "a.c").write_text(HELLO)
        done = self.run_tool("oshcc", "-static", "a.c", "-o", "a")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("-lomnipgas-shmem", done.stdout)

    def test_an_allocator_that_is_preloaded(self) -> None:
        (self.folder / "allocator.c").write_text(ALLOCATOR)
        library = self.folder / "liballocator.so"
        source = str(self.folder / "allocator.c")
        command = ["cc", "-O1", "-fno-builtin", "-shared", "-fPIC", source, "-o", str(library)]
        subprocess.run(command, check=True, timeout=LIMIT_S)
        program = self.compile(STATIC, suffix=".cpp")
        for conduits in self.conduits():
            preload = ("--env", f"LD_PRELOAD={library}")
            done = self.run_tool("oshrun", *preload, "--timeout", "100", "-n", "2", program, OMPL_CONDUITS=conduits)
            self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_context_that_was_destroyed(self) -> None:
        program = self.compile(DESTROYED)
        for arguments in ((), ("serialized",)):
            self.fails(program, "a call with a context: the context was destroyed", *arguments)

    def test_words_that_are_not_aligned(self) -> None:
        program = self.compile(UNALIGNED, "-Wno-address-of-packed-member")
        for arguments, function in (((), "atomic_inc"), (("a",), "atomic_fetch_add_nbi"), (("a", "b"), "wait_until")):
            self.fails(program, rf"shmem_long_{function}: .*(align|multiple)", *arguments)

    def test_a_heap_that_is_full_gives_null(self) -> None:
        self.succeeds(self.compile(HEAP), "full", SHMEM_SYMMETRIC_SIZE="1M", OMPL_SEGMENT_SIZE="64M")

    def test_more_elements_than_an_int_counts(self) -> None:
        if "OMPL_TEST_LARGE" not in os.environ:
            self.skipTest("it takes minutes: set OMPL_TEST_LARGE")
        free = re.search(r"MemAvailable: *(\d+) kB", Path("/proc/meminfo").read_text())
        if free is None or int(free[1]) < 16 << 20:
            self.skipTest("it needs 16 GiB of free memory")
        self.succeeds(self.compile(LONG), SHMEM_SYMMETRIC_SIZE="6g")

    def test_objects_for_another_library(self) -> None:
        if not (OPEN_MPI / "shmem.h").exists():
            self.skipTest("the header of Open MPI's OpenSHMEM is not installed")
        (self.folder / "a.c").write_text(CONTEXT)
        compiled = subprocess.run(
            ["cc", "-c", f"-I{OPEN_MPI}", f"-I{OPEN_MPI}/openmpi", "a.c"], cwd=self.folder, check=False,
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_S,
        )  # fmt: skip
        self.assertEqual(compiled.returncode, 0, compiled.stdout)
        done = self.run_tool("oshcc", "a.o", "-o", "a")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("undefined reference to `oshmem_ctx_default'", done.stdout)


if __name__ == "__main__":
    main()
