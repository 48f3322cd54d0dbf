#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ends, failures and errors of coarray programs, over shared memory and, where it is built, over libfabric:
ends_test.py BUILD_DIR. Each case is a program that caf compiles, with the options of OMPL_TEST_FFLAGS, and cafrun
starts."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LIMIT_S = 200
FLAGS = os.environ.get("OMPL_TEST_FFLAGS", "").split()
BUILD = Path()
SCRATCH = Path()

FAULTS = """
use iso_fortran_env
implicit none
integer :: x(4)[*], me, stat, total
integer, allocatable :: more(:)[:]
type(lock_type) :: guard[*]
type(event_type) :: event[*]
character(100) :: text
me = this_image()
x = 10 * me
sync all
if (me == 2) lock (guard[1])
sync all
if (me == 2) then
  HOW
end if
do
  call expect(image_status(1) == 0, 'image_status of image 1')
  if (image_status(2) == stat_failed_image) exit
end do
sync all (stat=stat, errmsg=text)
call expect(stat == stat_failed_image, 'sync all')
call expect(index(text, 'image 2 has failed') > 0, 'errmsg: ' // text)
call expect(size(failed_images()) == 1 .and. all(failed_images() == [2]), 'failed_images')
sync images ([2], stat=stat)
call expect(stat == stat_failed_image, 'sync images')
if (me == 1) sync images ([3], stat=stat)
if (me == 3) sync images ([1], stat=stat)
call expect(stat == 0 .or. me == 4, 'sync images of two that are left')
total = x(1)[2, stat=stat]
call expect(stat == stat_failed_image, 'a reference')
event post (event[2], stat=stat)
call expect(stat == stat_failed_image, 'event post')
if (me == 1) event post (event[3])
if (me == 3) event wait (event)
total = 1
call co_sum(total, stat=stat)
call expect(stat == stat_failed_image, 'co_sum')
call co_broadcast(total, 1, stat=stat)
call expect(stat == stat_failed_image, 'co_broadcast')
allocate (more(1000)[*], stat=stat)
call expect(stat == stat_failed_image .and. allocated(more), 'allocate')
LAST
contains
  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (.not. holds) then
      print *, this_image(), ' failed: ', trim(what), stat
      error stop 99
    end if
  end subroutine
end
"""
TAKE_OVER = """if (me == 1) then
  lock (guard[1], stat=stat)
  call expect(stat == 6002, 'a lock of a failed image')
  unlock (guard[1], stat=stat)
  call expect(stat == 0, 'unlock')
  print *, 'all was well'
end if
"""


def conduits() -> dict[str, dict[str, str]]:
    """What the cases run over."""
    listed = subprocess.run(
        [str(BUILD / "bin/ompl-info")], text=True, capture_output=True, timeout=LIMIT_S, check=True
    ).stdout
    cases = {"shm": {"OMPL_CONDUITS": "self,shm"}}
    if re.search(r"^ *ofi\b", listed, re.MULTILINE):
        cases["ofi"] = {"OMPL_CONDUITS": "self,ofi"}
    return cases


class Ends(unittest.TestCase):
    def build(self, source: str) -> Path:
        """Compiles a program."""
        path = SCRATCH / f"{self.id().rsplit('.', 1)[-1]}.f90"
        path.write_text(source)
        program = path.with_suffix("")
        done = subprocess.run(
            [str(BUILD / "bin/caf"), "-w", *FLAGS, str(path), "-o", str(program)],
            text=True, capture_output=True, timeout=LIMIT_S, check=False, cwd=SCRATCH,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        return program

    def job(
        self, program: Path, images: int, conduit: str = "shm", *options: str
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program on a number of images, over a network each of them as on a node of its own."""
        nodes = ["--node-of", ",".join(str(i) for i in range(images))] if conduit != "shm" else []
        return subprocess.run(
            [str(BUILD / "bin/cafrun"), "-np", str(images), "--timeout", "180", *nodes, *options, str(program)],
            env=os.environ | conduits()[conduit], text=True, capture_output=True, timeout=LIMIT_S, check=False,
        )  # fmt: skip

    def each(self, source: str, images: int) -> list[subprocess.CompletedProcess[str]]:
        """Over every conduit."""
        program = self.build(source)
        return [self.job(program, images, conduit) for conduit in conduits()]

    def test_the_end_of_the_program_says_nothing(self) -> None:
        for done in self.each("integer :: x[*]\nx = 1\nsync all\ncall co_sum(x)\nprint *, x\nend\n", 3):
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(done.stdout.split(), ["3", "3", "3"])

    def test_stop_with_a_code(self) -> None:
        for done in self.each("if (this_image() == 2) stop 3\nprint *, 'goes on'\nend\n", 3):
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertEqual(done.stdout.count("goes on"), 2)
            self.assertIn("STOP 3", done.stderr)

    def test_stop_with_a_text(self) -> None:
        for done in self.each("stop 'that is all'\nend\n", 2):
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr.count("STOP that is all"), 2)

    def test_error_stop_ends_all_images_with_its_code(self) -> None:
        source = """use iso_fortran_env
        type(event_type) :: never[*]
        if (this_image() == 2) error stop 7
        event wait (never)
        end
        """
        for done in self.each(source, 3):
            self.assertEqual(done.returncode, 7, done.stderr)
            self.assertIn("ERROR STOP 7", done.stderr)

    def test_error_stop_with_a_text(self) -> None:
        for done in self.each("sync all\nif (this_image() == 1) error stop 'a reason'\nsync all\nend\n", 2):
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("ERROR STOP a reason", done.stderr)

    def test_an_error_of_the_runtime_library_ends_all_images(self) -> None:
        source = """integer, allocatable :: a(:)
        sync all
        if (this_image() == 2) deallocate (a)
        sync all
        end
        """
        for done in self.each(source, 3):
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("Attempt to DEALLOCATE unallocated", done.stderr)

    def test_a_stopped_image(self) -> None:
        source = """use iso_fortran_env
        integer :: stat, x[*]
        x = this_image()
        sync all
        if (this_image() == 2) stop
        sync all (stat=stat)
        if (stat /= stat_stopped_image) error stop 1
        if (all(stopped_images() /= 2)) error stop 2
        if (image_status(2) /= stat_stopped_image) error stop 3
        if (x[2] /= 2) error stop 4
        sync images ([2], stat=stat)
        if (stat /= stat_stopped_image) error stop 5
        call co_sum(x, stat=stat)
        if (stat /= stat_stopped_image) error stop 6
        end
        """
        for done in self.each(source, 3):
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_stopped_image_ends_a_statement_without_stat(self) -> None:
        for done in self.each("if (this_image() == 2) stop\nsync all\nprint *, 'not reached'\nend\n", 3):
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("sync all: image 2 has stopped", done.stderr)
            self.assertNotIn("not reached", done.stdout)

    def test_fail_image(self) -> None:
        for done in self.each(FAULTS.replace("HOW", "fail image").replace("LAST", TAKE_OVER), 4):
            self.assertIn("all was well", done.stdout, done.stdout + done.stderr)

    def test_a_killed_image(self) -> None:
        kill = "write (text, '(a,i0)') 'kill -9 ', getpid(); call execute_command_line(text)"
        for done in self.each(FAULTS.replace("HOW", kill).replace("LAST", TAKE_OVER), 4):
            self.assertIn("all was well", done.stdout, done.stdout + done.stderr)
            self.assertEqual(done.returncode, 137)

    def test_a_failed_image_ends_a_statement_without_stat(self) -> None:
        for done in self.each("sync all\nif (this_image() == 3) fail image\nsync all\nend\n", 3):
            self.assertIn("sync all: image 3 has failed", done.stderr)

    def test_a_failed_image_ends_the_job_where_that_is_asked_for(self) -> None:
        source = """use iso_fortran_env
        type(event_type) :: never[*]
        sync all
        if (this_image() == 2) fail image
        event wait (never)
        end
        """
        done = self.job(self.build(source), 3, "shm", "--end-on-failure")
        self.assertEqual(done.returncode, 1, done.stderr)

    def test_a_team_of_the_images_that_are_left(self) -> None:
        source = """use iso_fortran_env
        type(team_type) :: left
        integer :: stat, total
        integer, allocatable :: inside[:]
        sync all
        if (this_image() == 2) fail image
        sync all (stat=stat)
        form team (1, left)
        change team (left)
          total = 1
          call co_sum(total)
          if (total /= 3 .or. num_images() /= 3) error stop 1
          call within
        end team
        if (this_image() == 1) print *, 'all was well'
        contains
          subroutine within
            integer, allocatable :: inside[:]
            allocate (inside[*])
            inside = this_image()
            sync all
            if (inside[3] /= 3) error stop 2
            sync all
          end subroutine
        end
        """
        for done in self.each(source, 4):
            self.assertIn("all was well", done.stdout, done.stdout + done.stderr)

    def test_a_coindex_out_of_bounds_is_named(self) -> None:
        source = """integer :: x[*]
        x = 1
        sync all
        if (this_image() == 2) x = x[num_images() + 3]
        sync all
        end
        """
        for done in self.each(source, 2):
            self.assertEqual(done.returncode, 1)
            self.assertIn("image 2: reference to a coindexed object: image 5", done.stderr)
            self.assertIn("2 images of the current team", done.stderr)

    def test_allocations_that_differ(self) -> None:
        source = "integer, allocatable :: x(:)[:]\nallocate (x(10 * this_image())[*])\nend\n"
        for done in self.each(source, 3):
            self.assertEqual(done.returncode, 1)
            self.assertIn("other images allocate other sizes", done.stderr)

    def test_a_million_events(self) -> None:
        source = """use iso_fortran_env
        type(event_type) :: many[*]
        integer :: i, count
        if (this_image() == 1) then
          do i = 1, 1000000
            event post (many[2])
          end do
        else
          event wait (many, until_count=999999)
          event wait (many)
          call event_query(many, count)
          if (count /= 0) error stop 1
        end if
        end
        """
        done = self.job(self.build(source), 2)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_images_with_threads(self) -> None:
        source = """use omp_lib
        integer :: x(400)[*], i, next
        next = merge(1, this_image() + 1, this_image() == num_images())
        x = 0
        sync all
        !$omp parallel do num_threads(4)
        do i = 1, 400
          x(i)[next] = i * this_image()
        end do
        sync all
        if (any(x /= [(i, i = 1, 400)] * merge(num_images(), this_image() - 1, this_image() == 1))) error stop 1
        end
        """
        path = SCRATCH / "threads.f90"
        path.write_text(source)
        program = path.with_suffix("")
        subprocess.run(
            [str(BUILD / "bin/caf"), "-w", "-fopenmp", *FLAGS, str(path), "-o", str(program)],
            check=True, timeout=LIMIT_S,
        )  # fmt: skip
        for conduit in conduits():
            done = self.job(program, 3, conduit)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_wrapper_shows_its_command(self) -> None:
        shown = subprocess.run(
            [str(BUILD / "bin/caf"), "--showme", "-O2", "a.f90"],
            text=True, capture_output=True, timeout=LIMIT_S, check=True,
        ).stdout  # fmt: skip
        self.assertIn("-fcoarray=lib -O2 a.f90", shown)
        self.assertIn("-lomnipgas-coarray", shown)


if __name__ == "__main__":
    BUILD = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        SCRATCH = Path(folder)
        unittest.main(argv=[sys.argv[0], "-v", *sys.argv[2:]])
