#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The commands of the pages run as they are printed.

docs_commands.py run BUILD PREFIX PAGE   runs the commands of a page, with what is installed below PREFIX
docs_commands.py count PAGE              prints how many commands of the page are run
docs_commands.py marked                  every listing of commands of these pages is run, or says why it is not
docs_commands.py --self-test             seeds faults of every kind in small pages: each must be found

A page's commands stand in blocks `console` (a command behind `$ `, then what it prints) and `sh` (commands alone). One
shell runs all of them, in a folder that has nothing but the tree's `include` and `build`. Listings whose first line is
a comment that names a file, such as `/* ring.c: ... */`, are files of that folder. A command that ends with another
status than 0 is an error, unless the next command is `echo $?`. Each line that a page prints must be among those that
the command prints; `...` stands for anything. Comments before a block:

    <!-- not run: REASON -->     the block is not run
    <!-- numbers differ -->      numbers of the printed lines stand for any number
    <!-- output differs: REASON -->   the printed lines are not compared
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ("CHANGELOG.md", "docs/status/")  # pages of other people's words, and of what was once run
SKIP = 77
LIMIT_S = 1500
MARK = "=== docs_commands"
BLOCK = re.compile(
    r"(?:^ *<!-- (?P<note>[^>]*) -->\n)?^ *```(?P<language>\w*)\n(?P<text>.*?)^ *```$", re.DOTALL | re.MULTILINE
)
FILE = re.compile(r"^(?:/\*|//|!|#) ([\w.-]+\.(?:c|cpp|f90|py|sh|toml|txt))\b")
NUMBER = re.compile(r"(?:\d[\d,]*)(?:\.\d+)?(?:e[+-]?\d+)?")
INDENTED = re.compile(r"(?:\A|\n\n|^#.*\n) {4,}\S", re.MULTILINE)
# Commands that a build or a machine may lack; a page that needs one is then skipped.
OPTIONAL = ("mpicc", "mpiexec", "oshcc", "oshrun", "caf", "cafrun", "omni", "git", "ompl-bench-verbs")
LANGUAGES = ("console", "sh", "text", "c", "cpp", "fortran", "python", "cmake", "json", "toml", "yaml", "ini")


@dataclass
class Command:
    line: int
    text: str
    printed: list[str] = field(default_factory=list)
    note: str = ""


def blocks(page: str) -> list[re.Match[str]]:
    return list(BLOCK.finditer(page))


def console(text: str, line: int, note: str) -> list[Command]:
    """The commands of a block `console`; a command goes on in the next line behind a backslash."""
    found: list[Command] = []
    goes_on = False
    for number, said in enumerate(text.splitlines(), line):
        if said.startswith("$ ") or goes_on:
            if goes_on:
                found[-1].text += "\n" + said
            else:
                found.append(Command(number, said[2:], note=note))
            goes_on = said.endswith("\\")
        elif found:
            found[-1].printed.append(said)
    return found


def commands(page: str) -> list[Command]:
    """What is to be run of a page, in its order."""
    found = []
    for block in blocks(page):
        note, line = block["note"] or "", page.count("\n", 0, block.start("text")) + 1
        if note.startswith("not run:"):
            continue
        if block["language"] == "console":
            found += console(textwrap.dedent(block["text"]), line, note)
        elif block["language"] == "sh":
            found.append(Command(line, textwrap.dedent(block["text"]).rstrip("\n")))
    return found


def files(page: str) -> dict[str, str]:
    """The listings of a page that are files, by their names."""
    found = {}
    for block in blocks(page):
        if name := FILE.match(block["text"]):
            found[name[1]] = block["text"]
    return found


def script(todo: list[Command]) -> str:
    """The commands as one shell script that tells where each begins, and ends at the first that fails."""
    out = ["status=0"]
    for i, command in enumerate(todo):
        looked_at = i + 1 < len(todo) and todo[i + 1].text == "echo $?"
        out += [f"printf '\\n{MARK} {i}\\n'", "(exit $status)", command.text, "status=$?"]
        if not looked_at:
            out.append(f'if [ $status -ne 0 ]; then printf "\\n{MARK} failed %d\\n" $status; exit 1; fi')
    return "\n".join(out) + "\n"


def pattern(line: str, numbers_differ: bool) -> str:
    """A printed line as a regular expression."""
    parts = []
    for part in line.rstrip().split("..."):
        piece = re.escape(NUMBER.sub("\0", part) if numbers_differ else part)
        piece = piece.replace(re.escape("\0"), NUMBER.pattern).replace("\0", NUMBER.pattern)
        parts.append(re.sub(r"(?:\\ )+", " +", piece) if numbers_differ else piece)
    return ".*".join(parts)


def missing(command: Command, said: str) -> list[str]:
    """The printed lines that are not among those that the command printed."""
    left = [line.rstrip() for line in said.splitlines()]
    found: list[str] = []
    for line in [] if command.note.startswith("output differs:") else command.printed:
        if not line.strip() or line.strip() == "...":
            continue
        wanted = re.compile(pattern(line, command.note == "numbers differ"))
        match = next((i for i, other in enumerate(left) if wanted.fullmatch(other)), None)
        if match is None:
            found.append(line)
        else:
            del left[match]
    return found


def environment(build: Path, prefix: Path, home: Path) -> dict[str, str]:
    """That of a user who has installed below `prefix`; `omni` is the build's."""
    libraries = [str(path.parent) for path in prefix.rglob("libomnipgas.so")]
    found = {name: value for name, value in os.environ.items() if not name.startswith(("OMPL_", "OMNI_"))}
    return found | {
        "PATH": f"{prefix}/bin:{build}/bin:{os.environ['PATH']}",
        "PKG_CONFIG_PATH": ":".join(f"{library}/pkgconfig" for library in libraries),
        "LD_LIBRARY_PATH": ":".join(libraries),
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
    }


def shell(text: str, folder: Path, variables: dict[str, str]) -> str:
    """What the script prints; its processes are ended with it."""
    (folder / ".commands").write_text(text)
    with subprocess.Popen(
        ["bash", ".commands"], cwd=folder, env=variables, stdin=subprocess.DEVNULL, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
    ) as started:  # fmt: skip
        try:
            said, _ = started.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            said = started.communicate()[0] + f"\n{MARK} failed 124\n"
    return said


def faults(todo: list[Command], said: str) -> list[str]:
    """What is wrong with what the commands printed."""
    found = []
    parts = re.split(rf"^{MARK} (\d+)$", said, flags=re.MULTILINE)
    for number, text in zip(parts[1::2], parts[2::2], strict=True):
        command = todo[int(number)]
        text, _, status = text.partition(f"{MARK} failed ")
        shown = f"{command.line}: {command.text}"
        if status:
            found.append(f"{shown}\n  exit status {status.strip()}:\n{text}")
        elif lines := missing(command, text):
            found.append(f"{shown}\n  did not print\n    " + "\n    ".join(lines) + f"\n  but\n{text}")
    if not found and len(parts) != 2 * len(todo) + 1:
        found.append(f"0: the shell ended after {len(parts) // 2} of {len(todo)} commands: {said[-2000:]}")
    return found


def lacking(todo: list[Command], variables: dict[str, str]) -> str:
    """The first program of the commands that is not here; "" if all are."""
    words = {word for command in todo for word in re.findall(r"[\w-]+", command.text)}
    for program in OPTIONAL:
        if program in words and not shutil.which(program, path=variables["PATH"]):
            return program
    packages: list[str] = re.findall(r"omnipgas-\w+", " ".join(c.text for c in todo if "pkg-config" in c.text))
    for package in packages:
        if subprocess.run(["pkg-config", "--exists", package], env=variables, timeout=60, check=False).returncode:
            return package
    return ""


def run(build: Path, prefix: Path, page: Path) -> int:
    text = page.read_text()
    todo = commands(text)
    with tempfile.TemporaryDirectory() as name:
        folder, home = Path(name).resolve() / "work", Path(name).resolve() / "home"
        folder.mkdir()
        home.mkdir()
        (folder / "include").symlink_to(ROOT / "include")  # for commands of a built tree
        (folder / "build").symlink_to(build)
        variables = environment(build, prefix, home)
        if program := lacking(todo, variables):
            print(f"skipped: {page.name}: no {program} here")
            return SKIP
        for file, content in files(text).items():
            (folder / file).write_text(content)
        found = faults(todo, shell(script(todo), folder, variables))
    for fault in found:
        print(f"FAILED: {page.name}:{fault}")
    print(f"{len(todo)} commands of {page.name}, {len(found)} failed")
    return 1 if found or not todo else 0


def unmarked(name: str, page: str) -> list[str]:
    """Listings that are neither run nor say why; notes without a reason."""
    found = []
    for block in blocks(page):
        line, note = page.count("\n", 0, block.start()) + 1, block["note"] or ""
        if block["language"] not in LANGUAGES:
            found.append(f'{name}:{line}: a listing of the language "{block["language"]}": one of {LANGUAGES}')
        if note and not re.fullmatch(r"(?:not run|output differs): .{10,}|numbers differ", note, re.DOTALL):
            found.append(f'{name}:{line}: "{note}" is no note: not run: REASON, output differs: REASON, numbers differ')
        if block["language"] == "console" and not block["text"].lstrip().startswith("$ "):
            found.append(f"{name}:{line}: a block `console` begins with a command behind `$ `")
    plain = BLOCK.sub(lambda match: re.sub(r"[^\n]", "", match[0]), page)
    for match in INDENTED.finditer(plain):
        line = plain.count("\n", 0, match.end()) + 1
        found.append(f"{name}:{line}: a listing without a fence: `sh` and `console` are run, `text` is not")
    return found


def marked() -> int:
    every = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    names = sorted(path.relative_to(ROOT).as_posix() for path in every)
    names = [name for name in names if not name.startswith(RECORDS)]
    found = [fault for name in names for fault in unmarked(name, (ROOT / name).read_text())]
    print(*found, f"{len(found)} faults in {len(names)} pages", sep="\n")
    return 1 if found else 0


def outcome(page: str) -> list[str]:
    """The faults of a page that needs nothing but a shell."""
    todo = commands(page)
    with tempfile.TemporaryDirectory() as name:
        for file, content in files(page).items():
            (Path(name) / file).write_text(content)
        return faults(todo, shell(script(todo), Path(name), dict(os.environ)))


def self_test() -> int:
    right = (
        "```sh\n# a.txt of the page\n```\n```console\n$ cat a.txt\n# a.txt of the page\n$ false\n$ echo $?\n1\n```\n"
        "<!-- numbers differ -->\n```console\n$ echo took 3.5 us\ntook 17 us\n```\n"
        "<!-- output differs: it is made up -->\n```console\n$ echo 1\n2\n```\n"
        "```console\n$ printf 'b\\na and more\\n'\na ...\nb\n```\n"
        "<!-- not run: needs a second host -->\n```sh\nfalse\n```\n"
    )
    wrong = {
        "```console\n$ echo 2\n3\n```\n": "did not print",
        "```console\n$ false\n```\n": "exit status 1",
        "```sh\nexit 0\n```\n```sh\ntrue\n```\n": "the shell ended after 1 of 2",
        "```console\n$ echo a\na\na\n```\n": "did not print",
    }
    bad = {
        "a\n\n    omplrun\n": "without a fence", "# A\n    omplrun\n": "without a fence",
        "```\nx\n```\n": 'language ""', "```console\nx\n```\n": "begins with",
        "<!-- not run: no -->\n```sh\nx\n```\n": "is no note",
    }  # fmt: skip
    failed = [f"right: {fault}" for fault in outcome(right) + unmarked("right", right)]
    for page, said in wrong.items():
        found = outcome(page)
        failed += [] if len(found) == 1 and said in found[0] else [f"{page!r}: {found}, not {said}"]
    for page, said in bad.items():
        found = unmarked("page", page)
        failed += [] if len(found) == 1 and said in found[0] else [f"{page!r}: {found}, not {said}"]
    print(*failed, f"{len(failed)} failed", sep="\n")
    return 1 if failed else 0


def main(arguments: list[str]) -> int:
    if arguments == ["--self-test"]:
        return self_test()
    if arguments == ["marked"]:
        return marked()
    if arguments[0] == "count":
        print(len(commands(Path(arguments[1]).read_text())))
        return 0
    return run(*(Path(name).resolve() for name in arguments[1:4]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
