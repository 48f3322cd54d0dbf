#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ranks started for real by mpiexec, prterun and omplrun, alone and mixed with MPI in every order.

launcher_test.py NAME OMPLRUN BOOTSTRAP_RANKS STEPS_LIBRARY [PREFIX]

NAME is that of Debian's MPI (mpich, openmpi), or any for the MPI installed below PREFIX: "openmpi..."
speaks PMIx, the others PMI-1; "..._abi" has the binary interface that MPI 5.0 standardised. bootstrap_ranks
is compiled with the MPI's mpicc; its arguments are the steps that each rank does."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from dataclasses import dataclass
from pathlib import Path

LIMIT = 240.0
SKIP = 77
MAPPED_WITHIN = 2.0  # seconds from the creation of a file to its use
RANKS = 3


@dataclass(frozen=True)
class Launcher:
    command: list[str]
    protocol: str  # as `show` names it
    may_break: bool = False  # of SIGPIPE, once a job was aborted: Intel's writes to those who have ended


@dataclass(frozen=True)
class Mpi:
    launchers: list[Launcher]  # its own
    mpicc: str
    may_come_later: bool = True  # MPI_Init after ompl_init


# All that can start ranks of this MPI.
LAUNCHERS: list[Launcher]
MAY_COME_LATER = True
OMPLRUN, PLAIN_RANKS, MPI_RANKS = "", "", ""


def find_mpi(name: str, prefix: str) -> Mpi | str:
    """The MPI of that name, or why there is none."""
    if prefix:
        mpiexec, mpicc = f"{prefix}/bin/mpiexec", f"{prefix}/bin/mpicc"
        mpicc += "_abi" if name.endswith("_abi") else ""
        os.environ["I_MPI_ROOT"] = prefix  # Intel's tools ask for it
        if name == "impi":  # its own libfabric, as its vars.sh has it
            os.environ["LD_LIBRARY_PATH"] = f"{prefix}/lib"
    else:
        mpiexec, mpicc = f"mpiexec.{name}", f"mpicc.{name}"
    commands = [[mpiexec]]
    if name.startswith("openmpi"):
        commands = [[mpiexec, "--allow-run-as-root", "--oversubscribe"]]
        if prefix:
            options = ["--allow-run-as-root", "--map-by", ":oversubscribe"]
            commands.append([f"{prefix}/bin/prterun", *options])
    for tool in (mpicc, *(command[0] for command in commands)):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    protocol = "pmix" if name.startswith("openmpi") else "pmi1"
    launchers = [Launcher(command, protocol, name == "impi") for command in commands]
    return Mpi(launchers, mpicc, name != "openmpi5")


def find_mpi_or_skip(name: str, prefix: str) -> Mpi:
    """The MPI of that name; ends the test as skipped if there is none."""
    found = find_mpi(name, prefix)
    if isinstance(found, str):
        print(f"skipped: {found}")
        sys.exit(SKIP)
    return found


def leftovers() -> set[Path]:
    """The files that MPICH's ranks and launcher use now, or left behind when their job was aborted."""
    return {*Path("/dev/shm").glob("mpich_shm_*"), *Path("/tmp").glob("hydra_hwloc_xmlfile_*")}


def remove_orphans(paths: set[Path]) -> None:
    """Removes those files that no process maps or has in its environment. They may be those of another job that has
    not mapped them yet, so only what has been there for a while is looked at."""
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            time.sleep(max(0.0, path.stat().st_ctime + MAPPED_WITHIN - time.time()))
    used = ""
    for use in (*Path("/proc").glob("[0-9]*/maps"), *Path("/proc").glob("[0-9]*/environ")):
        with contextlib.suppress(OSError):  # it has just ended, or is another user's
            used += use.read_text(errors="replace")
    for path in paths:
        if str(path) not in used:
            path.unlink(missing_ok=True)


def compile_ranks(mpicc: str, steps: Path, target: str) -> None:
    source = str(Path(__file__).parent / "programs/bootstrap_ranks.c")
    command = [mpicc, "-Wall", "-Wextra", "-DWITH_MPI", "-o", target, source, str(steps)]
    subprocess.run([*command, f"-Wl,-rpath,{steps.parent}"], timeout=LIMIT, check=True)


class Start(unittest.TestCase):
    def start(
        self, launcher: Launcher, program: str, steps: str, **variables: str
    ) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [*launcher.command, "-n", str(RANKS), program, *steps.split()],
            env=os.environ | variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        self.skip_without_pmix(done.stderr)
        return done

    def skip_without_pmix(self, errors: str) -> None:
        if "was built without" in errors:
            self.skipTest("PMIx's headers were not there when this was built")

    def job(self, launcher: Launcher, program: str, steps: str) -> str:
        """Runs a job that must succeed; its standard output."""
        done = self.start(launcher, program, steps)
        self.assertEqual(done.returncode, 0, f"{steps}\n{done.stdout}{done.stderr}")
        return done.stdout

    def assert_ranks(self, output: str, by: str, nodes: str) -> None:
        """Every rank has shown itself once, with this bootstrap and these nodes."""
        shown = re.findall(r"rank (\d+) of (\d+) by (\w+), nodes ([\d,]*)", output)
        expected = [(str(rank), str(RANKS), by, nodes) for rank in range(RANKS)]
        self.assertEqual(sorted(shown), expected)

    def test_without_mpi(self) -> None:
        for launcher in LAUNCHERS:
            with self.subTest(launcher):
                output = self.job(launcher, PLAIN_RANKS, "open exchange show finish")
                self.assert_ranks(output, launcher.protocol, "0,0,0")

    def pmix_launchers(self) -> list[Launcher]:
        if LAUNCHERS[0].protocol != "pmix":
            self.skipTest("these launchers speak PMI-1")
        return LAUNCHERS

    def test_pmix_by_the_launchers_own_library(self) -> None:
        # Another version may do, but complains on standard error.
        for launcher in self.pmix_launchers():
            with self.subTest(launcher):
                done = self.start(launcher, PLAIN_RANKS, "open exchange finish", OMPL_LOG="info")
                used = set(re.findall(r"PMIx by (\S+):", done.stderr))
                folder = Path(shutil.which(launcher.command[0]) or "").resolve().parents[1] / "lib"
                self.assertTrue(used and all(Path(file).is_relative_to(folder) for file in used), done.stderr)

    def test_a_wrong_pmix_library_is_named(self) -> None:
        wrong = ("/nowhere/libpmix.so.2", "cannot be loaded"), ("libm.so.6", "is not a library of PMIx")
        for launcher in self.pmix_launchers():
            for library, said in wrong:
                with self.subTest(launcher, library=library):
                    done = self.start(launcher, PLAIN_RANKS, "open", OMPL_PMIX_LIBRARY=library)
                    self.assertNotEqual(done.returncode, 0)
                    self.assertIn(library, done.stderr)
                    self.assertIn(said, done.stderr)

    def test_a_launcher_that_is_gone_is_named(self) -> None:
        self.pmix_launchers()
        left = {"PMIX_NAMESPACE": "gone", "PMIX_RANK": "0", "PMIX_SERVER_URI41": "gone.0;tcp4://127.0.0.1:1"}
        env = os.environ | left
        done = subprocess.run([PLAIN_RANKS, "open"], env=env, capture_output=True, text=True, timeout=LIMIT)
        self.skip_without_pmix(done.stderr)
        self.assertNotEqual(done.returncode, 0)
        ours = [line for line in done.stderr.splitlines() if line.startswith("ompl error")]
        self.assertEqual(len(ours), 1, done.stderr)
        self.assertIn("is the launcher (PMIX_NAMESPACE=gone) still there?", ours[0])

    def test_through_a_running_mpi(self) -> None:
        # MPI knows how to talk to its launcher.
        for launcher in LAUNCHERS:
            for steps in (
                "init open exchange show finish barrier finalize",
                "init open exchange show barrier finalize finish",
            ):
                with self.subTest(launcher, steps=steps):
                    self.assert_ranks(self.job(launcher, MPI_RANKS, steps), "mpi", "")

    def test_through_an_mpi_that_was_loaded_for_its_user_alone(self) -> None:
        linked = subprocess.run(["ldd", MPI_RANKS], capture_output=True, text=True, timeout=LIMIT, check=True)
        library = re.search(r"libmpi\S* => (\S+)", linked.stdout)
        assert library, linked.stdout
        for launcher in LAUNCHERS:
            with self.subTest(launcher):
                steps = f"load:{library[1]} init open exchange show finish finalize"
                self.assert_ranks(self.job(launcher, PLAIN_RANKS, steps), "mpi", "")

    def test_a_program_that_a_rank_starts_is_no_rank(self) -> None:
        for launcher in LAUNCHERS:
            with self.subTest(launcher):
                done = self.start(launcher, PLAIN_RANKS, "open exchange child finish")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("OMPL_LAUNCHER=single to run it alone", done.stderr)

    def test_the_end_of_a_fork_is_no_ranks_end(self) -> None:
        for launcher in LAUNCHERS:
            for steps in ("open exchange finish fork", "open exchange fork finish"):
                with self.subTest(launcher, steps=steps):
                    done = self.start(launcher, MPI_RANKS, steps, OMPL_LAUNCHER=launcher.protocol)
                    self.assertEqual((done.returncode, "PMI" in done.stderr), (0, False), done.stderr)

    def test_before_mpi_and_beside_it(self) -> None:
        # finish() must leave the launcher's connection usable for an MPI that comes later, and must not
        # wait for the launcher when MPI has ended the connection.
        if not MAY_COME_LATER:
            self.skipTest("MPI_Init of Open MPI 5 fails once PMIx runs")
        for launcher in LAUNCHERS:
            for steps in (
                "open exchange show finish",
                "open exchange show finish init barrier finalize",
                "open exchange show init barrier finish barrier finalize",
                "open exchange show init barrier finalize finish",
                "open init exchange barrier show finish finalize",
            ):
                with self.subTest(launcher, steps=steps):
                    output = self.job(launcher, MPI_RANKS, steps)
                    self.assert_ranks(output, launcher.protocol, "0,0,0")

    def test_an_mpi_that_cannot_come_later(self) -> None:
        if MAY_COME_LATER:
            self.skipTest("this MPI may come later")
        for launcher in LAUNCHERS:
            with self.subTest(launcher):
                done = self.start(launcher, MPI_RANKS, "open")
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("call MPI_Init before ompl_init", done.stderr)
                # For a program that never calls MPI_Init.
                done = self.start(launcher, MPI_RANKS, "open exchange finish", OMPL_LAUNCHER="pmix")
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_value_that_nobody_published(self) -> None:
        for launcher in LAUNCHERS:
            with self.subTest(launcher):
                self.job(launcher, PLAIN_RANKS, "open exchange miss finish")

    def test_abort_ends_the_job(self) -> None:
        self.addCleanup(lambda before: remove_orphans(leftovers() - before), leftovers())
        cases = [(LAUNCHERS[0], MPI_RANKS, "init open exchange abort:9")]
        if LAUNCHERS[0].protocol == "pmix":  # Hydra may not end a job for a rank that fails after MPI_Finalize
            cases.append((LAUNCHERS[0], MPI_RANKS, "init open exchange finalize abort:9"))
        cases += [(launcher, PLAIN_RANKS, "open exchange abort:9") for launcher in LAUNCHERS]
        for launcher, program, steps in cases:
            with self.subTest(launcher, steps=steps):
                done = self.start(launcher, program, steps)
                self.assertIn(done.returncode, [9, -signal.SIGPIPE] if launcher.may_break else [9], done.stderr)
                if launcher.command[0] == OMPLRUN:  # Hydra 5 may lose a rank's last line
                    self.assertIn("the test wants it", done.stderr)

    def test_a_rank_that_dies_ends_the_job(self) -> None:
        for launcher in LAUNCHERS:
            with self.subTest(launcher):
                done = self.start(launcher, PLAIN_RANKS, "open exchange die:1:9")
                self.assertNotEqual(done.returncode, 0, done.stdout)


def main(name: str, omplrun: str, ranks: str, steps: str, prefix: str = "") -> None:
    global LAUNCHERS, MAY_COME_LATER, OMPLRUN, PLAIN_RANKS, MPI_RANKS
    found = find_mpi_or_skip(name, prefix)
    signal.alarm(int(2 * LIMIT))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = folder  # launchers leave things there when a job is aborted
        OMPLRUN, PLAIN_RANKS, MPI_RANKS = omplrun, ranks, f"{folder}/mpi_ranks"
        LAUNCHERS, MAY_COME_LATER = found.launchers, found.may_come_later
        if LAUNCHERS[0].protocol == "pmi1":  # omplrun starts no ranks for Open MPI
            LAUNCHERS.append(Launcher([omplrun], "pmi1"))
        compile_ranks(found.mpicc, Path(steps), MPI_RANKS)
        program = unittest.main(argv=sys.argv[:1], verbosity=2, exit=False)
    sys.exit(not program.result.wasSuccessful())


if __name__ == "__main__":
    main(*sys.argv[1:])
