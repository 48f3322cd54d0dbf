#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""release.py check                    whether the tree is ready for a release of its version; a line for each fault
release.py version X.Y.Z            states another version: in ompl.h, and in the recipes that need it as a literal
release.py build OUT [--dry-run]    what a release publishes, in OUT, with SHA256SUMS; then says how to tag it

--dry-run leaves out what takes long, the packages and the site, and says so; all else is made. docs/how-to/releasing.md
leads through a release.
"""

import hashlib
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import contract
from contract import ROOT

LIMIT_S = 7200  # the wheel and the Debian packages compile the whole
HEADER = "include/omnipgas/ompl.h"
VERSION = r"(\d+\.\d+\.\d+)"
# Files that need the version as a literal, with the pattern around it. All else reads it from HEADER.
STATED = {
    "CITATION.cff": rf"^version: {VERSION}$",
    "packaging/conda/recipe.yaml": rf'^  version: "{VERSION}"$',
    "packaging/easybuild/OmniPGAS.eb": rf"^version = '{VERSION}'$",
    "packaging/nix/package.nix": rf'^  version = "{VERSION}";$',
    "packaging/rpm/omnipgas.spec": rf"^Version: +{VERSION}$",
    "packaging/spack/package.py": rf'^    version\("{VERSION}"\)$',
}
# Texts of a release: what they say of the version first is that of this release.
TEXTS = {
    "CHANGELOG.md": rf"^## {VERSION} \(\d{{4}}-\d\d-\d\d\)$",
    "docs/reference/releases.md": rf"^## {VERSION}$",
    "packaging/debian/changelog": rf"^omnipgas \({VERSION}-",
    "packaging/rpm/omnipgas.spec": rf"^\* .* - {VERSION}-1$",
}
# What takes long, and what of it is published.
PACKAGES = {
    "make deb": ("build/deb/*.deb",),
    "make wheel": ("build/wheel/*.whl",),
    "make docs": (),
}


def first(name: str, pattern: str) -> str:
    """The version that a file says first; "" if it says none."""
    found = re.search(pattern, (ROOT / name).read_text(), re.MULTILINE)
    return found[1] if found else ""


def git(*arguments: str) -> str:
    """What git prints."""
    command = ["git", "-c", "safe.directory=*", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=600).stdout.strip()


def faults() -> list[str]:
    """Why the tree is not ready for a release of its version."""
    version = contract.version()
    numbers = re.findall(r"define OMPL_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", (ROOT / HEADER).read_text())
    found = [] if ".".join(numbers) == version else [f"{HEADER}: the numbers {numbers} are not {version}"]
    for name, pattern in [*STATED.items(), *TEXTS.items()]:
        said = first(name, pattern)
        if said != version:
            found.append(f"{name}: says {said or 'no version'}, ompl.h says {version}")
    if "## Unreleased" in (ROOT / "CHANGELOG.md").read_text():
        found.append("CHANGELOG.md: a section is unreleased; give its entries to this version")
    described = (ROOT / "packaging/abi/libomnipgas.abi").read_text()
    missing = sorted(name for name in contract.promised() if f"'{name}'" not in described)
    if missing:
        found.append(f"packaging/abi/libomnipgas.abi: lacks {missing[0]} and {len(missing) - 1} more: write it anew")
    tag = f"v{version}"
    if tag in git("tag", "--list").split() and git("rev-parse", f"{tag}^{{commit}}") != git("rev-parse", "HEAD"):
        found.append(f"the tag {tag} is another commit's: state the next version")
    return found


def check() -> int:
    found = faults()
    print(*found, f"{len(found)} faults; {contract.version()}", sep="\n")
    return 1 if found else 0


def state(version: str) -> int:
    """Writes the version to each file that states it; texts are written by people."""
    if not re.fullmatch(VERSION, version):
        sys.exit(f"release: {version!r} is no version such as 0.2.0")
    header = ROOT / HEADER
    text = header.read_text().replace(f'"{contract.version()}"', f'"{version}"')
    for name, number in zip(("MAJOR", "MINOR", "PATCH"), version.split("."), strict=True):
        text = re.sub(rf"(OMPL_VERSION_{name}) \d+", rf"\1 {number}", text)
    header.write_text(text)
    for name, pattern in STATED.items():
        path = ROOT / name
        text = path.read_text()
        if found := re.search(pattern, text, re.MULTILINE):
            path.write_text(text[: found.start(1)] + version + text[found.end(1) :])
    left = [fault for fault in faults() if "says" in fault]
    print(f"{HEADER} and {len(STATED)} recipes say {version}", *left, sep="\n")
    return 0


def section(name: str, version: str) -> str:
    """What a page says below the heading of the version."""
    pattern = rf"^## {re.escape(version)}\b.*?\n(.*?)(?=^## |\Z)"
    found = re.search(pattern, (ROOT / name).read_text(), re.DOTALL | re.MULTILINE)
    return found[1].strip() if found else ""


def notes(version: str) -> str:
    """The text of the release: its notes, and the changes. Links of pages lead into the source archive."""
    text = f"# OmniPGAS {version}\n\n{section('docs/reference/releases.md', version)}\n\n# Changes\n\n"
    return re.sub(r"\]\(\.\./\.\./", "](", text) + section("CHANGELOG.md", version) + "\n"


def packages(out: Path) -> None:
    """What takes long: Debian packages, wheels, the site."""
    for command, patterns in PACKAGES.items():
        print(f"release: {command}", flush=True)
        subprocess.run(command.split(), cwd=ROOT, check=True, timeout=LIMIT_S)
        for pattern in patterns:
            for path in sorted(ROOT.glob(pattern)):
                shutil.copy(path, out)
    shutil.make_archive(str(out / f"omnipgas-{contract.version()}-site"), "gztar", ROOT / "build/docs", "html")


def write_sums(out: Path) -> None:
    """SHA256SUMS of all that is published, as `sha256sum -c` reads it."""
    names = sorted(path.name for path in out.iterdir() if path.is_file() and path.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256((out / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    (out / "SHA256SUMS").write_text("".join(lines))


def build(out: Path, dry: bool) -> int:
    """Makes what a release publishes."""
    found = faults()
    if git("status", "--porcelain"):
        found.append("the tree has changes that are not committed: a release is made of a commit")
    if found:
        print(*found, sep="\n", file=sys.stderr)
        return 1
    version = contract.version()
    out.mkdir(parents=True, exist_ok=True)
    for path in out.iterdir():
        sys.exit(f"release: {path} is in the way: give a folder that is empty or not there")
    name = f"omnipgas-{version}"
    git("archive", f"--prefix={name}/", f"--output={out / name}.tar.gz", "HEAD")
    shutil.copy(ROOT / "packaging/abi/libomnipgas.abi", out / f"{name}.abi")
    (out / f"{name}-notes.md").write_text(notes(version))
    if dry:
        print(*(f"release: not run: {command}" for command in PACKAGES), sep="\n")
    else:
        packages(out)
    write_sums(out)
    print(*(f"{path.stat().st_size:>10}  {path.name}" for path in sorted(out.iterdir())), sep="\n")
    tag = f"git tag -a -F {shlex.quote(str(out / f'{name}-notes.md'))} --cleanup=verbatim v{version}"
    print(f"To publish: {tag}; git push origin v{version}; then attach these files to the tag.")
    return 0


def main(arguments: list[str]) -> int:
    """The exit status."""
    match arguments:
        case ["check"]:
            return check()
        case ["version", version]:
            return state(version)
        case ["build", out]:
            return build(Path(out).resolve(), dry=False)
        case ["build", out, "--dry-run"] | ["build", "--dry-run", out]:
            return build(Path(out).resolve(), dry=True)
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
