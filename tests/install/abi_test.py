#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""abi_test.py: packaging/abi/abi.py lets additions pass and catches what would break programs. On libraries of a few
lines, made for the occasion. Skips without abidiff."""

import contextlib
import io
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "packaging/abi"))
import abi

SKIPPED = 77
HEADER = """
enum { OMPL_OK = 0, OMPL_ERR_ARG = -6 };
#define OMPL_LIMIT 8
typedef struct ompl_statistics { unsigned long size; long puts; } ompl_statistics;
typedef struct ompl_signal { long flag; int op; } ompl_signal;
int ompl_put(int rank, const ompl_signal* signal);
int ompl_get(int rank, ompl_statistics* out);
"""
SOURCE = """
#include <omnipgas/ompl.h>
int ompl_put(int rank, const ompl_signal* signal) { return rank + signal->op; }
int ompl_get(int rank, ompl_statistics* out) { return rank + (int)out->puts; }
"""


class Abi(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.old, include = self.build("old", HEADER, SOURCE)
        self.old = abi.describe(self.old, include, self.folder / "old.abi")
        self.constants = abi.constants(include)

    def build(self, name: str, header: str, source: str, soname: str = "libomnipgas.so.0") -> tuple[Path, Path]:
        include = self.folder / name / "include"
        (include / "omnipgas").mkdir(parents=True)
        (include / "omnipgas/ompl.h").write_text(header)
        (self.folder / name / "a.c").write_text(source)
        library = self.folder / name / "libomnipgas.so"
        subprocess.run(
            ["cc", "-g", "-shared", "-fPIC", f"-Wl,-soname,{soname}", f"-I{include}", "-o", library, "a.c"],
            cwd=self.folder / name, check=True, timeout=240,
        )  # fmt: skip
        return library, include

    def verdict(self, header: str, source: str, soname: str = "libomnipgas.so.0") -> tuple[int, str]:
        library, include = self.build("new", header, source, soname)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = abi.check(self.old, self.constants, library, include)
        return code, said.getvalue()

    def refused(self, text: str, header: str, source: str) -> None:
        code, said = self.verdict(header, source)
        self.assertEqual(code, 1, said)
        self.assertIn(text, said)

    def test_the_same(self) -> None:
        self.assertEqual(self.verdict(HEADER, SOURCE)[0], 0)

    def test_additions(self) -> None:
        header = HEADER.replace("= -6", "= -6, OMPL_ERR_NEW = -7") + "int ompl_new(void);\n"
        code, said = self.verdict(header, SOURCE + "int ompl_new(void) { return 0; }\n")
        self.assertEqual(code, 0, said)

    def test_a_removed_function(self) -> None:
        self.refused("ompl_get", HEADER, SOURCE.rsplit("int ompl_get", 1)[0])

    def test_a_changed_parameter(self) -> None:
        source = SOURCE.replace("ompl_put(int", "ompl_put(long").replace("rank + sig", "(int)rank + sig")
        self.refused("'int' to 'long int'", HEADER.replace("ompl_put(int", "ompl_put(long"), source)

    def test_a_struct_that_became_longer(self) -> None:
        self.refused("ompl_signal", HEADER.replace("int op;", "int op; long more[4];"), SOURCE)

    def test_a_struct_that_knows_its_size_may_grow(self) -> None:
        code, said = self.verdict(HEADER.replace("long puts;", "long puts; long gets;"), SOURCE)
        self.assertEqual(code, 0, said)

    def test_a_member_in_its_middle(self) -> None:
        self.refused("ompl_statistics", HEADER.replace("long puts;", "long gets; long puts;"), SOURCE)

    def test_changed_and_removed_constants(self) -> None:
        self.refused("OMPL_ERR_ARG was -6, is -5", HEADER.replace("-6", "-5"), SOURCE)
        shutil.rmtree(self.folder / "new")
        self.refused("OMPL_LIMIT was 8, is gone", HEADER.replace("#define OMPL_LIMIT 8", ""), SOURCE)

    def test_a_raised_soname_allows_it(self) -> None:
        code, said = self.verdict(HEADER.replace("-6", "-5"), SOURCE, "libomnipgas.so.1")
        self.assertEqual(code, 0)
        self.assertIn("soname was raised", said)


if __name__ == "__main__":
    if not shutil.which("abidiff"):
        print("abidiff is not installed (Debian: abigail-tools)")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
