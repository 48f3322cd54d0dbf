#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes what guests boot from: an uncompressed kernel and an initramfs of busybox, `init` and a few modules.

image.py [FOLDER]
    Makes it in FOLDER (build/vm of the tree); at once if it is there. The kernel is Debian's generic one,
    which is downloaded, taken apart and not installed. Exits with 1 and the reason if it cannot."""

import hashlib
import lzma
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

FOLDER = Path(__file__).resolve().parents[2] / "build/vm"
INIT = Path(__file__).with_name("init")
# What guests need beyond the kernel, with all that these depend on. Debian's cloud kernel lacks some of them.
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "virtio_net", "crc32_generic", "rdma_rxe", "rdma_ucm")


def run(*command: str, folder: Path | None = None) -> str:
    return subprocess.run(command, cwd=folder, check=True, timeout=300, capture_output=True, text=True).stdout


def kernel(folder: Path) -> Path:
    """The kernel's package, taken apart below the folder."""
    depends = run("apt-cache", "depends", "linux-image-amd64")
    found = re.search(r"Depends: (linux-image-\d\S+)", depends)
    if not found:
        raise RuntimeError("apt knows no linux-image-amd64; was `apt-get update` run?")
    run("apt-get", "download", "-q", found[1], folder=folder)
    (package,) = folder.glob("*.deb")
    run("dpkg", "-x", str(package), str(folder))
    return folder


def unpack_kernel(image: Path, target: Path) -> None:
    """Without compression it is booted by its PVH entry: a guest would take seconds to unpack it."""
    data = image.read_bytes()
    target.write_bytes(lzma.LZMADecompressor().decompress(data[data.index(b"\xfd7zXZ\0") :]))


def copy_modules(root: Path, release: str, target: Path) -> None:
    """The modules, and beside them a file with their names in the order of loading."""
    target.mkdir(parents=True)
    run("depmod", "-b", str(root), release)
    names: dict[str, None] = {}
    for module in MODULES:
        shown = run("modprobe", "-d", str(root), "-S", release, "--show-depends", module)
        for path in re.findall(r"^insmod (\S+)", shown, re.MULTILINE):
            names[Path(path).name] = None
            shutil.copy(path, target)
    (target / "order").write_text("".join(f"{name}\n" for name in names))


def make_tree(folder: Path) -> None:
    with TemporaryDirectory(dir=folder) as name:
        root = kernel(Path(name))
        (image,) = (root / "boot").glob("vmlinuz-*")
        unpack_kernel(image, root / "vmlinux")
        tree = root / "tree"
        copy_modules(root, image.name.removeprefix("vmlinuz-"), tree / "modules")
        for empty in ("proc", "sys", "dev", "root"):
            (tree / empty).mkdir()
        (root / "vmlinux").replace(folder / "vmlinux")
        tree.replace(folder / "tree")


def make_initrd(folder: Path) -> None:
    tree = folder / "tree"
    busybox = shutil.which("busybox")
    if busybox is None:
        raise RuntimeError("there is no busybox (Debian: busybox-static)")
    shutil.copy(busybox, tree)
    shutil.copy(INIT, tree)
    listed = "\n".join(str(path.relative_to(tree)) for path in sorted(tree.rglob("*")))
    command = ["cpio", "-o", "-H", "newc", "--quiet", "-R", "0:0"]
    packed = subprocess.run(command, cwd=tree, check=True, timeout=60, capture_output=True, input=listed.encode())
    (folder / "initrd").write_bytes(packed.stdout)


def stamp() -> str:
    return hashlib.sha256(INIT.read_bytes() + Path(__file__).read_bytes()).hexdigest()


def is_ready(folder: Path) -> bool:
    mark = folder / "stamp"
    return mark.exists() and mark.read_text() == stamp()


def make(folder: Path) -> None:
    if is_ready(folder):
        return
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "tree").exists():
        make_tree(folder)
    make_initrd(folder)
    (folder / "stamp").write_text(stamp())


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    try:
        make(folder)
    except subprocess.CalledProcessError as error:
        sys.exit(f"image.py: {' '.join(error.cmd)} failed: {error.stderr}")
    except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:
        sys.exit(f"image.py: {error}")


if __name__ == "__main__":
    main()
