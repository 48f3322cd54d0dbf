#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pages_test.py BUILD: the manual pages that the build made are complete and clean. Skips without mandoc."""

import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import contract  # noqa: E402

MAN = Path()
SKIPPED = 77


def mandoc(*arguments: str | Path) -> str:
    done = subprocess.run(
        ["mandoc", *map(str, arguments)], text=True, timeout=240, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return done.stdout


def shown(section: int, name: str) -> str:
    """The page as a reader sees it, without overstriking and line breaks."""
    path = MAN / f"man{section}/{name}.{section}"
    link = re.fullmatch(r"\.so (\S+)\n", path.read_text())
    text = re.sub(r".\x08", "", mandoc("-T", "ascii", "-O", "width=200", MAN / link[1] if link else path))
    return " ".join(text.split())


class Pages(unittest.TestCase):
    def setUp(self) -> None:
        self.headers = contract.contract()

    def test_every_function_has_its_page(self) -> None:
        names = {n for h in self.headers for s in h.sections for i in s.items for n in i.functions}
        self.assertGreater(len(names), 30)
        pages = {path.stem for path in (MAN / "man3").iterdir()}
        self.assertEqual(pages, names | {"omnipgas"})
        for name in names:
            page = shown(3, name)
            self.assertIn(f"{name}(", page.split("SYNOPSIS")[1].split("DESCRIPTION")[0])
            self.assertIn("#include <omnipgas/", page)
            self.assertIn("SEE ALSO", page)

    def test_lines_can_be_broken(self) -> None:
        """groff, which comes with man, finds none that is too long; Debian refuses pages with such lines."""
        pages = [path for path in MAN.glob("man*/*") if not path.read_text().startswith(".so ")]
        done = subprocess.run(
            ["groff", "-mandoc", "-Tutf8", "-rLL=80n", "-wbreak", "-z", *pages],
            text=True, timeout=240, check=False, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_pages_say_what_the_headers_say(self) -> None:
        """Every word of a comment stands in the page of the function under it."""
        for header in self.headers:
            for section in header.sections:
                for item in section.items:
                    for name in item.functions:
                        page = set(re.findall(r"\w+", shown(3, name)))
                        words = set(re.findall(r"\w+", item.comment)) - {"OMPL", "Errors"}
                        self.assertLessEqual(words, page, name)

    def test_functions_without_a_comment_say_what_their_namesakes_say(self) -> None:
        self.assertIn("Returns when the source may be reused", shown(3, "ompl_ctx_put"))
        self.assertIn("any other negative number, waits without limit", shown(3, "ompl_ctx_put"))
        self.assertEqual(shown(3, "ompl_fetch64"), shown(3, "ompl_fetch32"))

    def test_errors_are_listed_with_their_meaning(self) -> None:
        self.assertRegex(shown(3, "ompl_put").split("ERRORS")[1], "OMPL_ERR_RANK no such rank")
        self.assertNotIn("OMPL_ERR_TIMEOUT", shown(3, "ompl_put"))
        self.assertIn("OMPL_ERR_TIMEOUT", shown(3, "ompl_ctx_put"))
        lost = {"STATE", "PEER", "LINK"}
        checked = {"STATE", "OFFSET", "ALIGN", "LENGTH", "PEER", "LINK"}
        for name, codes in (
            ("ompl_failure_ack", {"STATE"}),
            ("ompl_flush", lost),
            ("ompl_quiet", lost),
            ("ompl_wait", checked),
            ("ompl_poll", checked),
            ("ompl_ctx_flush", lost | {"TIMEOUT"}),
        ):
            listed = shown(3, name).split(" ERRORS ")[1].split(" SEE ALSO ")[0]
            self.assertEqual(set(re.findall(r"OMPL_ERR_(\w+)", listed)), codes, name)

    def test_the_yield_hooks_contract_is_on_its_page(self) -> None:
        page = shown(3, "ompl_set_yield")
        self.assertIn("with no resource of the library held", page)
        self.assertIn("Returns nonzero if other work ran", page)

    def test_tools_and_variables(self) -> None:
        self.assertIn("--keep-going", shown(1, "omplrun"))
        info = shown(1, "ompl-info")
        self.assertIn("--why", info)
        self.assertRegex(info, "SUBCOMMANDS memory .* EXIT STATUS with --check 0 if all is fine")
        source = (ROOT / "src/util/settings.cpp").read_text()
        names = set(re.findall(r'Variable\{"(OMPL_\w+)"', source))
        self.assertGreater(len(names), 10)
        page = shown(7, "ompl-environment")
        self.assertEqual({name for name in names if name not in page}, set())
        kinds = ("size from 1 to 64T", "list of self|shm|verbs|ofi|tcp|ucx|utofu|psm2|mpi")
        for said in ("OMPL_ERR_ARG", "K, M, G or T", "a warning says so", *kinds):
            self.assertIn(said, page)
        omni = MAN / "man1/omni.1"
        if omni.exists():  # the build's Python had what omni needs
            for name in re.findall(r"omni-[a-z-]+", shown(1, "omni").split("SEE ALSO")[1]):
                self.assertIn("OPTIONS", shown(1, name))

    def test_pages_of_tools_say_what_their_help_says(self) -> None:
        """And each option with a value says what it is without it; -n must be given, --env adds to nothing."""
        for name in ("omplrun", "ompl-info"):
            said = subprocess.run(
                [MAN.parent / "bin" / name, "--help"], check=True, timeout=240, capture_output=True, text=True
            ).stdout
            page = set(re.findall(r"\w+", shown(1, name).lower()))
            self.assertLessEqual(set(re.findall(r"\w+", said.split("\nOptions:")[1].lower())), page, name)
            options = re.findall(r"^  (--?\w\S*) (\S+)  +(.*(?:\n {10}.*)*)", said, re.MULTILINE)
            self.assertGreater(len(options), 3)
            for option, _, text in options:
                if option not in ("-n", "--env"):
                    self.assertRegex(" ".join(text.split()), r"default|without it", f"{name} {option}")

    def test_mandoc_finds_nothing_to_warn_of(self) -> None:
        pages = [path for path in sorted(MAN.glob("man*/*")) if not path.read_text().startswith(".so ")]
        self.assertGreater(len(pages), 30)
        self.assertEqual(mandoc("-T", "lint", "-W", "warning", *pages), "")

    def test_references_lead_to_pages(self) -> None:
        for path in MAN.glob("man*/*"):
            for name, section in re.findall(r"^\.BR (\S+) \((\d)\)", path.read_text(), re.MULTILINE):
                self.assertTrue((MAN / f"man{section}/{name}.{section}").exists(), f"{path.name}: {name}({section})")


if __name__ == "__main__":
    MAN = Path(sys.argv.pop(1)) / "man"
    if not shutil.which("mandoc"):
        print("mandoc is not installed")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
