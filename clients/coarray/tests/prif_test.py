#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""prif_test.py BUILD [CAFFEINE ASSERT [JULIENNE]]: compiles Caffeine with flang 22 and runs, on several images,
programs that call PRIF, as flang's do (locks, critical constructs, a failed image in each statement), and Caffeine's
own tests where Julienne, their harness, is given.

The sources are checkouts of https://github.com/BerkeleyLab. Exit status 77 without them, without flang or without
libomnipgas-prif.so."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "prif"))
import build_caffeine
import prepare
from build_caffeine import compile_all

LIMIT_S = 500
PROGRAMS = Path(__file__).resolve().parent / "prif"
FLANG = os.environ.get("OMPL_FLANG", "flang-22")
PROGRAM = """program native
  use, intrinsic :: iso_fortran_env, only: team_type
  implicit none
  type(team_type) :: reversed
  integer :: me, n, total, least, most
  real(8) :: values(3)
  me = this_image()
  n = num_images()
  sync all
  total = me
  call co_sum(total)
  if (total /= n * (n + 1) / 2) error stop 1
  least = -me
  call co_min(least, result_image=1)
  if (me == 1 .and. least /= -n) error stop 2
  most = me
  call co_max(most)
  if (most /= n) error stop 3
  values = me
  call co_broadcast(values, source_image=n)
  if (any(abs(values - n) > 0)) error stop 4
  sync memory
  if (n > 1) then
    if (me == 1) sync images (2)
    if (me == 2) sync images (1)
  end if
  form team (5, reversed, new_index=n + 1 - me)
  change team (reversed)
    if (this_image() /= n + 1 - me .or. num_images() /= n .or. team_number() /= 5) error stop 5
    total = this_image()
    call co_broadcast(total, source_image=1)
    if (total /= 1) error stop 6
    sync all
  end team
  sync team (reversed)
  sync all
  if (me == n) print '(a,i0)', 'all was well on images: ', n
end program
"""


class Prif(unittest.TestCase):
    build = Path()
    caffeine = Path()
    asserts = Path()
    julienne = Path()
    folder = Path()
    library = Path()

    def link(self, name: str, *objects: str | Path) -> Path:
        """A program of Caffeine and of what it needs, by the wrapper."""
        program = self.folder / name
        os.environ |= {"CAF_FC": FLANG, "CAF_PRIF": str(self.folder)}
        build_caffeine.run([self.build / "bin/caf", *objects, "-o", program], self.folder)
        return program

    def test_the_wrapper_names_what_is_missing(self) -> None:
        with self.assertRaisesRegex(build_caffeine.BuildError, "set CAF_PRIF to the folder"):
            os.environ |= {"CAF_FC": FLANG, "CAF_PRIF": str(self.folder / "nowhere")}
            build_caffeine.run([self.build / "bin/caf", "program.f90"], self.folder)

    def job(self, program: Path, images: int, **environment: str) -> subprocess.CompletedProcess[str]:
        """Its images, in memory unless it is said otherwise; over a network each as on a node of its own."""
        over = environment.get("OMPL_CONDUITS", "self,shm")
        apart = [] if "shm" in over else ["--node-of", ",".join(map(str, range(images)))]
        return subprocess.run(
            [str(self.build / "bin/cafrun"), "-np", str(images), "--timeout", "450", *apart, str(program)], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_S, check=False,
            env=os.environ | {"OMPL_CONDUITS": "self,shm"} | environment,
        )  # fmt: skip

    def test_a_program_of_flang(self) -> None:
        source = self.folder / "native.f90"
        source.write_text(PROGRAM)
        program = self.link("native", source)
        for images in (1, 2, 4):
            done = self.job(program, images)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn(f"all was well on images: {images}", done.stdout)

    def test_error_stop_and_stop(self) -> None:
        source = self.folder / "ends.f90"
        for statement, code in (("error stop 7", 7), ("stop 3", 3), ("stop", 0)):
            who = "if (this_image() == 1) " if statement.startswith("error") else ""
            source.write_text(f"{who}{statement}\nsync all\nend\n")
            done = self.job(self.link("ends", source), 2)
            self.assertEqual(done.returncode, code, f"{statement}: {done.stdout}")

    def conduits(self) -> list[str]:
        """Through memory, and over the layer's own TCP."""
        return ["self,shm", "self,tcp"]

    def own(self, name: str) -> Path:
        """A program of the folder prif."""
        sources = (PROGRAMS / "support.F90", PROGRAMS / f"{name}.F90")
        objects = compile_all(sources, self.folder, FLANG, [self.caffeine / "include"], ("-O1",))
        return self.link(name, *objects)

    def test_locks_and_critical_constructs(self) -> None:
        program = self.own("locks")
        for over in self.conduits():
            for images in (1, 2, 4):
                with self.subTest(conduits=over, images=images):
                    done = self.job(program, images, OMPL_CONDUITS=over)
                    self.assertEqual(done.returncode, 0, done.stdout)
                    self.assertIn("all was well", done.stdout)

    def test_a_failed_image(self) -> None:
        program = self.own("failures")
        for over in self.conduits():
            with self.subTest(conduits=over):
                done = self.job(program, 4, OMPL_CONDUITS=over)
                self.assertIn("all was well", done.stdout)

    def test_a_failed_image_ends_a_statement_without_stat(self) -> None:
        source = self.folder / "without.f90"
        # The statement FAIL IMAGE of flang 22 does not call PRIF.
        fails = "if (this_image() == 3) call prif_fail_image()"
        source.write_text(f"use prif, only: prif_fail_image\nsync all\n{fails}\nsync all\nend\n")
        done = self.job(self.link("without", source), 3)
        self.assertIn("sync: image 3 has failed", done.stdout)
        self.assertEqual(done.returncode, 1, done.stdout)

    def test_another_caffeine_is_refused(self) -> None:
        with self.assertRaisesRegex(prepare.SourceError, "give a checkout of Caffeine 0.8.1"):
            other = self.folder / "other/src"
            other.mkdir(parents=True)
            (other / "teams_s.F90").write_text("submodule(prif:prif_private_s) teams_s\nend submodule\n")
            list(prepare.prepared(other.parent, self.folder / "edited"))

    def driver(self) -> Path:
        """What the tests of ends call in place of fpm: driver run --example NAME."""
        for source in (self.caffeine / "example/support-test").glob("*.F90"):
            self.link(source.stem, source)
        driver = self.folder / "driver.sh"
        job = f'"{self.build}/bin/cafrun" -np 1 --timeout 200 "{self.folder}/$3"'
        driver.write_text(f"#!/bin/sh\nunset $(env | sed -n 's/^\\(PMI[^=]*\\)=.*/\\1/p')\nexec {job}\n")
        driver.chmod(0o755)
        return driver

    def test_caffeines_own_tests(self) -> None:
        if not (self.julienne / "src/julienne_m.F90").is_file():
            self.skipTest("no Julienne: give a checkout of it")
        includes = [place / "include" for place in (self.caffeine, self.asserts, self.julienne)]
        harness = sorted((self.julienne / "src").rglob("*.[fF]90"))
        tests = [path for path in (self.caffeine / "test").glob("*.F90") if not path.stem.startswith("test-")]
        objects = compile_all([*harness, *tests], self.folder, FLANG, [*includes, self.caffeine / "test"])
        support = self.folder / "support.o"
        header = Path("/usr/lib/llvm-22/include/flang")
        source = self.caffeine / "test/prif_support_test.c"
        build_caffeine.run(["cc", "-c", f"-I{header}", source, "-o", support], self.folder)
        program = self.link("tests", *objects, support)
        driver = self.driver()
        for images in (1, 2, 4):
            done = self.job(program, images, FPM_DRIVER=str(driver))
            counts = re.findall(r"(\d+) of (\d+) tests passed. (\d+) tests were skipped", done.stdout)
            self.assertTrue(counts, done.stdout[-3000:])
            print(f"{images} images: {' of '.join(counts[-1][:2])} passed, {counts[-1][2]} skipped")
            self.assertEqual(counts[-1][0], counts[-1][1], done.stdout[-9000:])


def main() -> int:
    given = (Path(word).resolve() for word in sys.argv[1:])
    build, caffeine, asserts, julienne = [*given, Path(), Path(), Path()][:4]
    if not (caffeine / "src/prif.F90").is_file() or not (asserts / "src").is_dir():
        print("skipped: set OMPL_CAFFEINE_SUITE and OMPL_ASSERT_SUITE to checkouts of Caffeine and Assert")
        return 77
    if not shutil.which(FLANG) or not (build / "lib/libomnipgas-prif.so").exists():
        print(f"skipped: there is no {FLANG}, or the build has no libomnipgas-prif.so")
        return 77
    Prif.build, Prif.caffeine, Prif.asserts, Prif.julienne = build, caffeine, asserts, julienne
    with tempfile.TemporaryDirectory() as folder:
        Prif.folder = Path(folder)
        Prif.library = build_caffeine.build(Prif.folder, caffeine, asserts, FLANG)
        return 0 if unittest.main(argv=[sys.argv[0], "-v"], exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
