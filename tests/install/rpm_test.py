#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rpm_test.py: rpmbuild makes the packages of packaging/rpm from the source as it stands, they hold the library, the
tools and the headers, and what they hold runs a job. rpmlint, where it is installed, finds no error. The packages that
the spec names for the build are this machine's own (--nodeps). Skips without rpmbuild."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import contract  # noqa: E402

SKIPPED = 77
LIMIT_S = 3500
# The build calls the programs of the system alone, as in a package builder's root.
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
# What rpmlint cannot know: there is no public address yet, and Debian's rpm has other names of folders.
LINT = ("invalid-url", "no-documentation", "spelling-error", "no-manual-page-for-binary", "unstripped-binary")


def run(*command: str | Path, status: int | None = 0, cwd: Path | None = None) -> str:
    """What a command prints; another exit status than `status` ends the test."""
    done = subprocess.run(
        [str(word) for word in command], timeout=LIMIT_S, check=False, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, env=os.environ | {"PATH": PATH}, cwd=cwd,
    )  # fmt: skip
    if status is not None and done.returncode != status:
        sys.exit(f"FAILED: {' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout[-4000:]}")
    return done.stdout


def expect(holds: bool, what: str) -> None:
    print(f"{'ok' if holds else 'FAILED'}: {what}", flush=True)
    if not holds:
        sys.exit(1)


def source(folder: Path) -> Path:
    """The archive of the tree as it stands, new files included."""
    name = f"omnipgas-{contract.version()}"
    archive = folder / f"{name}.tar.gz"
    names = run("git", "-c", "safe.directory=*", "ls-files", "-co", "--exclude-standard", cwd=ROOT).split("\n")
    listed = folder / "files"
    listed.write_text("".join(f"{each}\n" for each in names if each and (ROOT / each).is_file()))
    run("tar", "-czf", archive, "-T", listed, f"--transform=s,^,{name}/,", cwd=ROOT)
    return archive


def main() -> int:
    lacking = [name for name in ("rpmbuild", "rpm2cpio", "cpio") if not shutil.which(name, path=PATH)]
    if lacking:
        print(f"skipped: {', '.join(lacking)} not installed (Debian: rpm, cpio; scripts/setup.sh package brings them)")
        return SKIPPED
    spec = ROOT / "packaging/rpm/omnipgas.spec"
    with tempfile.TemporaryDirectory(prefix="rpm-") as scratch:
        folder = Path(scratch).resolve()
        (folder / "SOURCES").mkdir()
        archive = source(folder)
        shutil.move(archive, folder / "SOURCES")
        defined = ("--define", f"_topdir {folder}", "--define", f"_smp_mflags -j{os.cpu_count()}")
        run("rpmbuild", "-bb", "--nodeps", *defined, spec)
        packages = {path.name.split(f"-{contract.version()}")[0]: path for path in folder.rglob("*.rpm")}
        expect({"omnipgas", "omnipgas-devel", "omnipgas-shmem"} <= set(packages), f"rpmbuild makes {sorted(packages)}")
        root = folder / "root"
        root.mkdir()
        for package in packages.values():
            run("sh", "-c", 'rpm2cpio "$1" | cpio -idm --quiet', "sh", package, cwd=root)
        library = next(root.rglob("libomnipgas.so.0")).parent
        job = ("env", f"LD_LIBRARY_PATH={library}", root / "usr/bin/omplrun", "-n", "2", "--timeout", "240")
        said = run(*job, root / "usr/bin/ompl-info", "--why")
        expect("rank 1: shm" in said, "what the packages hold runs a job of two ranks")
        for name in ("ompl.h", "shmem.h", "omnipgas.pc", "OmniPGASConfig.cmake"):
            expect(bool(list(root.rglob(name))), f"they hold {name}")
        if shutil.which("rpmlint", path=PATH):
            said = run("rpmlint", spec, status=None)
            found = re.findall(r"^.*: E: .*$", said, re.MULTILINE)
            errors = [line for line in found if not any(name in line for name in LINT)]
            expect(not errors, f"rpmlint finds no error but {errors}")
        else:
            print("rpmlint is not installed: not asked")
    return 0


if __name__ == "__main__":
    sys.exit(main())
