#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""release_test.py: scripts/release.py makes a release of a copy of this tree without its packages, whose checksums hold
and whose notes are those of the version; and finds each place that states another version."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import contract  # noqa: E402
import release  # noqa: E402

SKIPPED = 77
LIMIT_S = 600
AUTHOR = {f"GIT_{who}_{what}": "test@example.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def run(tree: Path, *command: str, status: int = 0) -> str:
    """What a command prints in the copy; another exit status than `status` ends the test."""
    done = subprocess.run(
        command, cwd=tree, env=os.environ | AUTHOR, timeout=LIMIT_S, check=False, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode != status:
        sys.exit(f"FAILED: {' '.join(command)}: exit status {done.returncode}, not {status}\n{done.stdout}")
    return done.stdout


def expect(holds: bool, what: str) -> None:
    print(f"{'ok' if holds else 'FAILED'}: {what}", flush=True)
    if not holds:
        sys.exit(1)


def copied(tree: Path) -> None:
    """The tree as it stands, as one commit."""
    git = ["git", "-c", "safe.directory=*"]
    names = subprocess.run(
        [*git, "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, text=True, capture_output=True
    ).stdout.split("\n")
    for name in names:
        if name and (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tree / name)
    run(tree, "git", "init", "-q")
    commit(tree)


def commit(tree: Path) -> None:
    run(tree, "git", "add", "-A")
    run(tree, "git", "-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "release: a copy of the tree")


def made_ready(tree: Path) -> None:
    """What people do before a release: changes get its heading, and the binary interface is described anew."""
    changes = tree / "CHANGELOG.md"
    changes.write_text(changes.read_text().replace("## Unreleased", f"## {contract.version()} (2027-01-31)"))
    described = tree / "packaging/abi/libomnipgas.abi"
    described.write_text(described.read_text() + "".join(f"<!-- '{name}' -->\n" for name in contract.promised()))
    commit(tree)


def unready(tree: Path) -> None:
    """Changes without a version, and functions that are not described, are named."""
    for name, old, new, said in (
        ("CHANGELOG.md", "### Added", "## Unreleased\n\n### Added", "CHANGELOG.md: a section is unreleased"),
        ("packaging/abi/libomnipgas.abi", "'ompl_put'", "'ompl_x'", "libomnipgas.abi: lacks ompl_put and 0 more"),
    ):
        path = tree / name
        text = path.read_text()
        path.write_text(text.replace(old, new))
        expect(said in run(tree, "scripts/release.py", "check", status=1), f"{said} is said")
        path.write_text(text)


def dry_run(tree: Path, out: Path) -> None:
    """What is published without the packages."""
    version = contract.version()
    name = f"omnipgas-{version}"
    said = run(tree, "scripts/release.py", "build", str(out), "--dry-run")
    expect("not run: make wheel" in said and f"git push origin v{version}" in said, "it says what is left, and the tag")
    run(out, "sha256sum", "-c", "--strict", "SHA256SUMS")
    listed = {line.split()[1] for line in (out / "SHA256SUMS").read_text().splitlines()}
    expect(listed == {f"{name}.tar.gz", f"{name}.abi", f"{name}-notes.md"}, f"checksums of {sorted(listed)}")
    with tarfile.open(out / f"{name}.tar.gz") as archive:
        names = archive.getnames()
    expect(f"{name}/CMakeLists.txt" in names and f"{name}/LICENSE" in names, f"the source has {len(names)} files")
    notes = (out / f"{name}-notes.md").read_text()
    for part in (f"# OmniPGAS {version}", "### Upgrade from", "### Added", "### Fixed"):
        expect(part in notes, f"the notes have {part!r}")
    older = re.findall(r"^## (\d+\.\d+\.\d+) \(", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1:]
    expect(not any(f"## {other}" in notes for other in older), f"and nothing of {older}")
    again = run(tree, "scripts/release.py", "build", str(out), "--dry-run", status=1)
    expect("is in the way" in again, "it does not write over a release")


def stated(tree: Path) -> None:
    """Each place that differs is named; stating another version writes all recipes, and leaves the texts to people."""
    for name in [*release.STATED, *release.TEXTS]:
        path = tree / name
        text = path.read_text()
        path.write_text(text.replace(contract.version(), "9.8.7"))
        expect(f"{name}: says 9.8.7" in run(tree, "scripts/release.py", "check", status=1), f"{name} is held")
        path.write_text(text)
    (tree / "README.md").write_text("x\n")
    said = run(tree, "scripts/release.py", "build", str(tree.parent / "none"), "--dry-run", status=1)
    expect("not committed" in said, "a tree with changes is refused")
    run(tree, "git", "checkout", "-q", "README.md")
    run(tree, "scripts/release.py", "version", "9.8.7")
    said = run(tree, "scripts/release.py", "check", status=1)
    named = {line.split(":")[0] for line in said.splitlines() if "says" in line}
    expect(named == set(release.TEXTS), f"after `version` the texts are left: {sorted(named)}")
    header = (tree / release.HEADER).read_text()
    expect('OMPL_VERSION_TEXT "9.8.7"' in header and "VERSION_MINOR 8\n" in header, "ompl.h states it")
    expect("is no version" in run(tree, "scripts/release.py", "version", "1.x", status=1), "what is none is refused")


def main() -> int:
    if not shutil.which("git"):
        print("git is not installed")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        tree.mkdir()
        copied(tree)
        made_ready(tree)
        expect(run(tree, "scripts/release.py", "check").startswith("0 faults"), "the tree is ready for a release")
        unready(tree)
        dry_run(tree, Path(folder, "out"))
        stated(tree)
    return 0


if __name__ == "__main__":
    sys.exit(main())
