#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""docs_debian.py SUITE PREFIX FOLDER PAGE...: the commands of pages in a fresh Debian, as a user without root.

Makes the Debian by debootstrap in FOLDER/SUITE, or takes the one that is there, with the compilers and MPI that the
pages name; and runs docs_commands.py there for each page. If SUITE is this machine's own Debian, what is installed
below PREFIX becomes its /usr/local; in another one the tree is compiled and installed, with that Debian's compiler.
Mounts belong to a mount namespace and end with it. Skips without root, debootstrap, namespaces or the package registry.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SKIP = 77
LIMIT_S = 1700
PACKAGES = (
    "gcc", "g++", "gfortran", "libc6-dev", "pkg-config", "binutils", "openmpi-bin", "libopenmpi-dev", "libucx-dev",
    "libboost-context-dev", "libhwloc15", "libfabric1", "python3-minimal", "libpython3-stdlib", "procps", "util-linux",
)  # fmt: skip
RUNS = ("libfmt9",)  # what was compiled on Debian 12
BUILDS = ("cmake", "ninja-build", "libfmt-dev", "libhwloc-dev", "libcli11-dev", "nlohmann-json3-dev", "libfabric-dev")
READER = 1000  # user and group
NAMESPACE = ("unshare", "--mount", "--pid", "--fork", "--kill-child")
# Within the namespace: the packages, by apt with the settings of this machine.
INSTALL = """set -e
root=$1
shift
mount -t proc proc "$root/proc"
cp /etc/resolv.conf "$root/etc/"
cp /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/"
export DEBIAN_FRONTEND=noninteractive
chroot "$root" apt-get update -q
chroot "$root" apt-get install -y -q --no-install-recommends "$@"
"""
# Within the namespace: compiles and installs the tree, which lies in /root/tree.
COMPILE = """set -e
mount -t proc proc "$1/proc"
mount -t tmpfs -o mode=755 tmpfs "$1/dev"
for name in null zero urandom; do touch "$1/dev/$name"; mount --bind "/dev/$name" "$1/dev/$name"; done
in="chroot $1 env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root"
$in cmake -S /root/tree -B /root/build -G Ninja -DCMAKE_BUILD_TYPE=Release -DOMPL_BUILD_TESTS=OFF \\
  -DOMPL_BUILD_EXAMPLES=OFF -DOMPL_BUILD_INSTRUMENTS=OFF -DCMAKE_INSTALL_LIBDIR=lib
$in cmake --build /root/build -j "$2"
$in cmake --install /root/build
$in ldconfig
"""
# The same mounts, then the page as the user.
INSIDE = """set -e
mount -t proc proc "$1/proc"
mount -t tmpfs -o mode=755 tmpfs "$1/dev"
mkdir -m 1777 "$1/dev/shm"
for name in null zero full random urandom tty; do touch "$1/dev/$name"; mount --bind "/dev/$name" "$1/dev/$name"; done
ln -s /proc/self/fd "$1/dev/fd"
exec chroot "$1" setpriv --reuid=1000 --regid=1000 --clear-groups --no-new-privs \
  env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/home/reader PYTHONDONTWRITEBYTECODE=1 \
  python3 /home/reader/tree/tests/examples/docs_commands.py run \
  /usr/local /usr/local "/home/reader/tree/$2"
"""


def own_suite() -> str:
    """The code name of this machine's Debian; "" if it is none."""
    text = Path("/etc/os-release").read_text()
    names = [line.partition("=")[2] for line in text.splitlines() if line.startswith("VERSION_CODENAME=")]
    return names[0] if names and "ID=debian" in text else ""


def made(root: Path) -> str:
    """Makes the Debian; "" if it is there, else why not."""
    if (root / "complete").exists():
        return ""
    shutil.rmtree(root, ignore_errors=True)
    root.parent.mkdir(parents=True, exist_ok=True)
    # debootstrap finds no package that only another one provides, so apt installs what is more than the least.
    besides = RUNS if root.name == own_suite() else BUILDS
    for command in (["debootstrap", "--variant=minbase", root.name, str(root)],
                    [*NAMESPACE, "sh", "-c", INSTALL, "sh", str(root), *PACKAGES, *besides]):  # fmt: skip
        done = subprocess.run(command, timeout=LIMIT_S, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            return f"{command[0]}: exit status {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}"
    (root / "complete").touch()
    return ""


def installed(root: Path, prefix: Path) -> str:
    """Puts the library below /usr/local; "" if that went well, else why not."""
    shutil.rmtree(root / "usr/local")
    if root.name == own_suite():
        shutil.copytree(prefix, root / "usr/local", symlinks=True)
        return ""
    tree = root / "root/tree"
    shutil.rmtree(tree, ignore_errors=True)
    git = ["git", "-c", "safe.directory=*", "ls-files", "-co", "--exclude-standard"]
    listed = subprocess.run(git, cwd=ROOT, check=True, capture_output=True, text=True, timeout=600).stdout
    for name in [name for name in listed.splitlines() if (ROOT / name).is_file()]:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tree / name)
    command = [*NAMESPACE, "sh", "-c", COMPILE, "sh", str(root), str(os.cpu_count())]
    done = subprocess.run(
        command, timeout=LIMIT_S, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return "" if done.returncode == 0 else f"it does not compile in {root.name}: {done.stdout[-3000:]}"


def filled(root: Path) -> None:
    """What a reader has beside the installation: the pages and the public headers."""
    home = root / "home/reader"
    shutil.rmtree(home, ignore_errors=True)
    tree = home / "tree"
    (tree / "tests/examples").mkdir(parents=True)
    shutil.copy(ROOT / "tests/examples/docs_commands.py", tree / "tests/examples")
    shutil.copy(ROOT / "README.md", tree)
    for name in ("docs", "include"):
        shutil.copytree(ROOT / name, tree / name)
    for path in (home, *home.rglob("*")):
        os.chown(path, READER, READER, follow_symlinks=False)


def main(suite: str, prefix: Path, folder: Path, pages: list[str]) -> int:
    lacking = [name for name in ("debootstrap", "unshare", "chroot", "setpriv") if not shutil.which(name)]
    if lacking or os.geteuid() != 0:
        print(f"skipped: needs root and {lacking or 'no more programs'}")
        return SKIP
    if subprocess.run([*NAMESPACE, "true"], timeout=60, check=False, capture_output=True).returncode:
        print("skipped: no mount or PID namespaces here")
        return SKIP
    root = folder / suite
    if why := made(root):
        print(f"skipped: {why}")
        return SKIP
    if why := installed(root, prefix):
        print(f"FAILED: {why}")
        return 1
    filled(root)
    codes = {}
    for page in pages:
        done = subprocess.run(
            [*NAMESPACE, "sh", "-c", INSIDE, "sh", str(root), page], timeout=LIMIT_S, check=False, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        print(done.stdout, end="")
        codes[page] = done.returncode
    failed = [page for page, code in codes.items() if code not in (0, SKIP)]
    left_out = [page for page, code in codes.items() if code == SKIP]
    print(f"{len(pages)} pages, failed: {failed}, skipped: {left_out}")
    return 1 if failed else SKIP if left_out else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve(), sys.argv[4:]))
