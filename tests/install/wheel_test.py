#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""wheel_test.py BUILD: the wheel builds, and in a fresh environment, far from the tree, its programs run, a C
program is built against it and runs on two ranks; uninstalling leaves nothing."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SKIPPED = 77


def run(place: Path, *command: str | Path, limit: int = 250) -> subprocess.CompletedProcess[str]:
    """Runs a command in the place, with nothing of the caller's environment that could help it."""
    known = {name: os.environ[name] for name in ("HOME", "TMPDIR", "LANG") if name in os.environ}
    path = f"{place}/venv/bin:/usr/local/bin:/usr/bin:/bin"
    done = subprocess.run(
        [str(word) for word in command], cwd=place, timeout=limit, check=False, text=True,
        env=known | {"PATH": path, "PKG_CONFIG_PATH": f"{place}/venv/lib/pkgconfig"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    print(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}", flush=True)
    return done


def expect(holds: bool, what: str) -> None:
    print(f"{'ok' if holds else 'FAILED'}: {what}", flush=True)
    if not holds:
        sys.exit(1)


def use(place: Path) -> None:
    """As the README says it, and each program once."""
    readme = (ROOT / "README.md").read_text()
    program = re.search(r"```c\n(.*?)```", readme, re.DOTALL)
    expect(program is not None, "README.md has a program")
    assert program
    (place / "hello.c").write_text(program[1])
    flags = run(place, "pkg-config", "--cflags", "--libs", "omnipgas").stdout.split()
    expect(f"-I{place}/venv/" in flags[0], f"pkg-config finds the environment: {flags}")
    done = run(place, "cc", "-Wall", "-Werror", "hello.c", "-o", "hello", *flags, f"-Wl,-rpath,{place}/venv/lib")
    expect(done.returncode == 0, "a C program is built against it")
    done = run(place, "omplrun", "-n", "2", "--timeout", "240", "./hello")
    expect("rank 1 received: hello, rank 1" in done.stdout, "it runs on two ranks")
    expect("; usable" in run(place, "ompl-info").stdout, "ompl-info runs")
    done = run(place, "omplrun", "-n", "2", "python", "-c", "import omnipgas as o; o.init(); o.barrier(); o.finalize()")
    expect(done.returncode == 0, "Python joins a job")
    openshmem(place)
    done = run(place, "omni", "rate", "--quick", "--libs", "raw,ompl", "--threads", "1")
    expect(done.returncode == 0 and "ompl" in done.stdout, "omni measures")
    if shutil.which("mpicxx.mpich", path="/usr/bin"):
        done = run(place, "sh", ROOT / "packaging/debian/tests/model")
        expect(done.returncode == 0, "an MPI program is traced and predicted")
    expect((place / "venv/share/man/man3/ompl_put.3").is_file(), "the pages are there")


def openshmem(place: Path) -> None:
    """The program of docs/how-to/openshmem.md by oshcc and oshrun, which only the wheel tells where the rest is."""
    program = (ROOT / "docs/how-to/openshmem.md").read_text().split("```c\n")[1].split("```")[0]
    (place / "ring.c").write_text(program)
    done = run(place, "oshcc", "-Wall", "-Werror", "ring.c", "-o", "ring")
    expect(done.returncode == 0, "oshcc finds headers and library")
    done = run(place, "oshrun", "-n", "2", "--timeout", "240", "./ring")
    expect("PE 1 of 2: 0" in done.stdout, "an OpenSHMEM program runs on two PEs")
    expect((place / "venv/share/man/man1/oshcc.1").is_file(), "oshcc has its page")


def main(build: Path) -> int:
    make = [sys.executable, str(ROOT / "packaging/wheel/wheel.py"), str(build / "wheel")]
    made = subprocess.run(make, timeout=1500, check=False)
    if made.returncode != 0:
        return made.returncode
    wheels = {path.name.split("-")[0]: path for path in (build / "wheel").glob("*.whl")}
    expect(wheels.keys() == {"omnipgas", "omnipgas_tools"}, f"a wheel of the layer and one of the tools: {wheels}")
    for wheel in wheels.values():
        show = run(build, ROOT / "build/wheel-tools/bin/auditwheel", "show", wheel).stdout
        tag = re.search(r"-(manylinux_\d+_\d+_\w+)\.whl$", wheel.name)
        said = show.replace("\n", " ")
        # The tools' programs need libomnipgas.so.0, which the other wheel brings: of itself auditwheel would say linux.
        fits = r"platform tag: |constrains the platform tag to " if "libomnipgas.so.0" in said else "platform tag: "
        expect(tag is not None and re.search(f'({fits})"{tag[1]}"', said) is not None, f"{wheel.name}: an honest tag")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        subprocess.run([sys.executable, "-m", "venv", place / "venv"], check=True, timeout=250)
        pip = (place / "venv/bin/pip", "--disable-pip-version-check")
        done = run(place, *pip, "install", "-q", "--no-compile", wheels["omnipgas"], limit=300)
        if done.returncode == 0:
            alone = run(place, "omplrun", "-n", "1", "python", "-c", "import omnipgas as o; o.init(); o.finalize()")
            expect(alone.returncode == 0 and not (place / "venv/bin/omni").exists(), "the layer alone serves Python")
            done = run(place, *pip, "install", "-q", "--no-compile", wheels["omnipgas_tools"], limit=300)
        if done.returncode != 0 and "Could not find a version" in done.stdout:
            print("what omni needs (typer, numpy and others) could not be fetched")
            return SKIPPED
        expect(done.returncode == 0, "pip installs both")
        needs = re.search("^Requires: (.*)$", run(place, *pip, "show", "omnipgas-tools").stdout, re.MULTILINE)
        expect(needs is not None and "omnipgas" in needs[1].split(", "), "the tools need the layer")
        use(place)
        run(place, *pip, "uninstall", "-q", "-y", "omnipgas", "omnipgas-tools")
        ours = re.compile("omnipgas|^omni|^ompl|^osh|shmem")
        left = [path for path in place.rglob("*") if path.is_file() and ours.search(path.name)]
        expect(not left, f"uninstalling leaves nothing: {left}")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
