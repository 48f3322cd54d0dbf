#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""programs_test.py BUILD: compiles small OpenSHMEM programs with oshcc and oshc++ and runs them with oshrun."""

import re
import shutil

from inlined_program import INLINED, INLINED_CALLS, TOOL, TOOL_USER
from jobs import Jobs, main
from programs import (
    BAD_ADDRESS,
    BAD_PE,
    COMPUTES,
    DEBUG,
    DOUBLE_FREE,
    EXIT,
    FORK,
    GLOBAL_EXIT,
    HEAP,
    HELLO,
    LOOPS,
    MANY,
    PROFILE,
    RESULTS,
    STATIC,
    THREADS,
)
from team_programs import ALONE, ARRIVES, LIBRARY, LIBRARY_USER, SETS_BY_THREADS, SPLITS_BY_THREADS


class Programs(Jobs):
    def test_program_in_c_at_random_and_at_fixed_addresses(self) -> None:
        for option in ("-pie", "-no-pie"):
            with self.subTest(option):
                said = self.succeeds(self.compile(HELLO, "-O2", option), pes=3)
                self.assertEqual(sorted(said.splitlines()), [f"PE {pe} of 3: {(pe + 2) % 3}, 6" for pe in range(3)])

    def test_headers_compile_alone_without_warnings(self) -> None:
        strict = ("-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", "-fsyntax-only")
        compilers = [pair for pair in (("gcc", "g++"), ("clang", "clang++")) if all(map(shutil.which, pair))]
        for c, cxx in compilers:
            for standard in ("c99", "c11", "c17", "c++11", "c++20"):
                with self.subTest(compiler=c, standard=standard):
                    tool, suffix = ("oshc++", ".cpp") if "+" in standard else ("oshcc", ".c")
                    headers = ("shmem.h", "pshmem.h", "shmemx.h", "mpp/shmem.h")
                    sources = [self.folder / f"{header.replace('/', '_')}{suffix}" for header in headers]
                    for header, source in zip(headers, sources, strict=True):
                        source.write_text(f"#include <{header}>\n")
                    done = self.run_tool(tool, f"-std={standard}", *strict, *sources, OSHCC_CC=c, OSHCXX_CXX=cxx)
                    self.assertEqual(done.returncode, 0, done.stdout)

    def test_objects_are_compiled_and_linked_apart(self) -> None:
        (self.folder / "a.c").write_text(HELLO)
        self.assertEqual(self.run_tool("oshcc", "-c", "a.c").returncode, 0)
        done = self.run_tool("oshcc", "a.o", "-o", "a")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("PE 1 of 2", self.succeeds(self.folder / "a"))
        shown = self.run_tool("oshcc", "--showme", "a b.c", OSHCC_CC="some-cc").stdout
        self.assertRegex(shown, r"^some-cc .*-I\S+ a b\.c .*-lomnipgas-shmem")
        self.assertEqual(self.run_tool("oshcc").returncode, 2)

    def test_launchers(self) -> None:
        program = self.compile(HELLO)
        root = {"PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPL_CONDUITS": "self,shm"}
        prterun = self.build / "peers/openmpi/bin/prterun"
        for launcher, *options in (("mpiexec.hydra",), (str(prterun), "--map-by", ":OVERSUBSCRIBE")):
            if shutil.which(launcher) is None:
                continue
            with self.subTest(launcher):
                done = self.run_tool("oshrun", "--launcher", launcher, *options, "-np", "3", program, **root)
                self.assertEqual(done.returncode, 0, done.stdout)
                self.assertIn("PE 2 of 3: 1, 6", done.stdout)
                done = self.run_tool("oshrun", *options, "-n", "2", program, **root, OSHRUN_LAUNCHER=launcher)
                self.assertIn("PE 1 of 2", done.stdout)
        done = self.run_tool("oshrun", "--launcher=nobody", "-n", "2", program)
        self.assertEqual(done.returncode, 127)
        self.assertIn("there is no launcher nobody", done.stdout)

    def test_static_data_of_c_and_of_cxx(self) -> None:
        for option in ("-pie", "-no-pie"):
            self.succeeds(self.compile(STATIC, option, suffix=".cpp"))

    def test_a_tool_stands_before_the_functions(self) -> None:
        self.assertIn("2 puts seen", self.succeeds(self.compile(PROFILE)))

    def test_heap(self) -> None:
        program = self.compile(HEAP)
        self.succeeds(program, "large", SHMEM_SYMMETRIC_SIZE="8g")
        self.succeeds(program, "full", SHMEM_SYMMETRIC_SIZE="1M")
        self.succeeds(program, "full", SMA_SYMMETRIC_SIZE="0.9m")
        code, said = self.job(program, "full", SHMEM_SYMMETRIC_SIZE="12q")
        self.assertNotEqual(code, 0)
        self.assertIn('SHMEM_SYMMETRIC_SIZE is "12q"', said)

    def test_threads_share_contexts_and_locks(self) -> None:
        program = self.compile(THREADS)
        self.succeeds(program, pes=3)
        for conduits in self.conduits():
            self.succeeds(program, OMPL_CONDUITS=conduits)

    def test_results_of_atomics_come_by_a_quiet(self) -> None:
        program = self.compile(RESULTS)
        for conduits in self.conduits():
            self.succeeds(program, OMPL_CONDUITS=conduits)

    def test_loops_make_progress(self) -> None:
        program = self.compile(LOOPS)
        for conduits in self.conduits():
            self.succeeds(program, OMPL_CONDUITS=conduits)

    def test_a_pe_that_computes_is_served(self) -> None:
        program = self.compile(COMPUTES)
        for number, conduits in enumerate(self.conduits()):
            self.succeeds(program, str(self.folder / f"told{number}"), OMPL_CONDUITS=conduits)

    def test_many_contexts_and_teams(self) -> None:
        program = self.compile(MANY)
        for conduits in self.conduits():
            self.succeeds(program, "500", OMPL_CONDUITS=conduits)
        self.assertIn("raise OMPL_COLL_MEMORY", self.succeeds(program, "4", OMPL_COLL_MEMORY="1M"))

    def test_threads_make_teams_at_once(self) -> None:
        program = self.compile(SPLITS_BY_THREADS)
        for conduits in self.conduits():
            self.succeeds(program, pes=3, OMPL_CONDUITS=conduits)

    def test_threads_use_new_active_sets_at_once(self) -> None:
        program = self.compile(SETS_BY_THREADS)
        for conduits in self.conduits():
            self.succeeds(program, pes=5, OMPL_CONDUITS=conduits)

    def test_a_shared_context_is_completed_alone(self) -> None:
        if len(self.conduits()) < 2:
            self.skipTest("this build has no network")
        self.succeeds(self.compile(ALONE), pes=3, OMPL_CONDUITS="self,ofi")

    def test_puts_arrive_without_a_quiet(self) -> None:
        program = self.compile(ARRIVES)
        for conduits in self.conduits():
            for arguments in ((), ("shared",), ("serialized", "context")):
                self.succeeds(program, *arguments, OMPL_CONDUITS=conduits)

    def test_static_data_of_a_library(self) -> None:
        (self.folder / "library.c").write_text(LIBRARY)
        done = self.run_tool("oshcc", "-shared", "-fPIC", "library.c", "-o", "libuser.so")
        self.assertEqual(done.returncode, 0, done.stdout)
        for option in ("-pie", "-no-pie"):
            where = (f"-L{self.folder}", f"-Wl,-rpath,{self.folder}")
            self.succeeds(self.compile(LIBRARY_USER, option, "-Wl,--no-as-needed", *where, "-luser"))

    def test_ends_of_the_job(self) -> None:
        exits = self.compile(EXIT)
        for how, code in (("return", 0), ("exit", 3), ("after", 0)):
            with self.subTest(how):
                self.assertEqual(self.job(exits, how)[0], code)
        exits = self.compile(GLOBAL_EXIT)
        for status in (0, 7):
            with self.subTest(status):
                code, said = self.job(exits, str(status), pes=3)
                self.assertEqual(code, status)
                self.assertIn("text without an end", said)

    def test_a_child_of_fork_has_memory_of_its_own(self) -> None:
        self.succeeds(self.compile(FORK))

    def test_errors_name_the_function_and_the_reason(self) -> None:
        for text, pattern in (
            (BAD_PE, r"shmem_long_put: .*\b99\b"),
            (BAD_ADDRESS, r"shmem_int_p: 0x[0-9a-f]+ is no symmetric address"),
            (DOUBLE_FREE, r"shmem_free: 0x[0-9a-f]+ is no block"),
        ):
            with self.subTest(pattern):
                code, said = self.job(self.compile(text))
                self.assertNotEqual(code, 0)
                self.assertIsNotNone(re.search(pattern, said), said)

    def test_debug_finds_that_pes_allocate_different_sizes(self) -> None:
        code, said = self.job(self.compile(DEBUG), SHMEM_DEBUG="1")
        self.assertNotEqual(code, 0)
        self.assertIn("shmem_malloc: PEs call different functions", said)

    def test_variables_that_print(self) -> None:
        program = self.compile(HELLO)
        self.assertIn("OpenSHMEM 1.6", self.succeeds(program, SHMEM_VERSION="1"))
        self.assertIn("SHMEM_SYMMETRIC_SIZE", self.succeeds(program, SHMEM_INFO="1"))

    def test_small_operations_are_compiled_into_the_program(self) -> None:
        wrapped = [f"-Wl,--wrap=shmem_{name}" for name in INLINED_CALLS]
        for options, debug, inlined in (
            (("-pie",), False, True),
            (("-no-pie",), False, True),
            (("-std=gnu11", "-O0"), False, True),
            ((), True, False),
            (("-DSHMEM_NO_INLINE",), False, False),
        ):
            with self.subTest(options=options, debug=debug):
                program = self.compile(INLINED, "-O2", *options, *wrapped)
                said = self.succeeds(program, SHMEM_DEBUG="1") if debug else self.succeeds(program)
                calls = dict(re.findall(r"(\w+): (\d+) calls", said))
                self.assertEqual(set(calls), set(INLINED_CALLS), said)
                for name, count in calls.items():  # of 100 and more; the first one opens the window
                    self.assertTrue(int(count) <= 1 if inlined else int(count) >= 100, f"{name}: {count}")

    def test_a_preloaded_tool_sees_calls_that_are_compiled_into_the_program(self) -> None:
        (self.folder / "tool.c").write_text(TOOL)
        made = self.run_tool("oshcc", "-shared", "-fPIC", "tool.c", "-o", "libtool.so")
        self.assertEqual(made.returncode, 0, made.stdout)
        program = self.compile(TOOL_USER, "-O2")
        self.assertNotIn("calls seen", self.succeeds(program))
        self.assertIn("100 calls seen", self.succeeds(program, LD_PRELOAD=str(self.folder / "libtool.so")))


if __name__ == "__main__":
    main()
