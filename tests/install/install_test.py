#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""install_test.py BUILD: installs the build into a fresh prefix, uses it as a stranger would: through
find_package and through pkg-config, running the OMPL paper's ping-pong on two ranks, in each language. Then
looks at the pages and the components, and that uninstalling leaves nothing."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRIF_PROGRAM = """#include <stddef.h>
#include <stdio.h>
int ompl_prif_take(size_t room, char* text, size_t* length);
int main(void) {
  size_t length = 1;
  return ompl_prif_take(0, NULL, &length) != 0 || length != 0 || puts("no error") < 0;
}
"""
COARRAY_PROGRAM = """program images
  implicit none
  integer :: box[*]
  box = this_image()
  sync all
  print '(a,i0,a,i0)', 'image ', box[this_image()], ' of ', num_images()
end program images
"""
SHMEM_PROGRAM = r"""
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
long number;
int main(void) {
  shmem_init();
  if (shmemx_address(shmemx_offset(&number)) != &number) return 1;
  printf("PE %d of %d\n", shmem_my_pe(), shmem_n_pes());
  shmem_finalize();
  return 0;
}
"""
PROGRAM = ROOT / "examples/pingpong.c"
# What a project asks find_package() for: the version that the public header states, without the patch.
MINOR = re.findall(r'OMPL_VERSION_TEXT "(\d+\.\d+)\.', (ROOT / "include/omnipgas/ompl.h").read_text())[0]
COMMANDS = ("oshcc", "oshc++", "oshrun", "caf", "cafrun")  # of parts that a build may lack


def run(*command: str | Path, **environment: str) -> str:
    """Runs a command; if it fails, prints what it said and ends the test."""
    done = subprocess.run(
        [str(word) for word in command], env=os.environ | environment, timeout=250, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


def expect(holds: bool, what: str) -> None:
    print(f"{'ok' if holds else 'FAILED'}: {what}")
    if not holds:
        sys.exit(1)


def pingpong(prefix: Path, program: Path) -> None:
    output = run(prefix / "bin/omplrun", "-n", "2", "--timeout", "240", program, "64", "200")
    expect("64 bytes:" in output, f"{program.name} runs on two ranks: {output.strip()}")


def with_cmake(prefix: Path, scratch: Path, program: Path, *options: str) -> None:
    build = scratch / f"cmake{program.suffix}"
    run("cmake", "-S", ROOT / "tests/install/consumer", "-B", build,
        f"-DSOURCE={program}", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DVERSION={MINOR}", *options)  # fmt: skip
    run("cmake", "--build", build)
    pingpong(prefix, build / "consumer")


def with_pkg_config(prefix: Path, scratch: Path, package: str, program: Path, *compiler: str) -> None:
    library = next(prefix.rglob("pkgconfig")).parent
    search = {"PKG_CONFIG_PATH": str(library / "pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", package, **search).split()
    version = run("pkg-config", "--modversion", package, **search).strip()
    expect(re.fullmatch(r"\d+\.\d+\.\d+", version) is not None, f"pkg-config knows {package} {version}")
    consumer = scratch / f"{package}{program.suffix}-consumer"
    run(*compiler, "-Wall", "-Werror", program, "-o", consumer, *flags, f"-Wl,-rpath,{library}")
    pingpong(prefix, consumer)


def fortran(prefix: Path, scratch: Path) -> None:
    """The module, if this build has it."""
    if not list(prefix.rglob("omnipgas.mod")):
        print("no Fortran: the build found no compiler for it")
        return
    program = PROGRAM.with_suffix(".f90")
    with_cmake(prefix, scratch, program, "-DLANGUAGE=Fortran", "-DLIBRARY=fortran")
    with_pkg_config(prefix, scratch, "omnipgas-fortran", program, "gfortran")


def openshmem(prefix: Path, scratch: Path) -> None:
    """oshcc and oshrun, pkg-config and CMake, if this build has OpenSHMEM."""
    if not (prefix / "include/shmem.h").exists():
        print("no OpenSHMEM in this build")
        return
    source = scratch / "hello.c"
    source.write_text(SHMEM_PROGRAM)
    programs = [scratch / name for name in ("by-oshcc", "by-pkg-config", "by-oshcc-elsewhere")]
    moved = Path(shutil.copytree(prefix, scratch / "a place with spaces", symlinks=True))
    run(moved / "bin/oshcc", "-Wall", "-Werror", source, "-o", programs[2])
    run(prefix / "bin/oshcc", "-Wall", "-Werror", source, "-o", programs[0])
    library = next(prefix.rglob("pkgconfig")).parent
    flags = run("pkg-config", "--cflags", "--libs", "omnipgas-shmem", PKG_CONFIG_PATH=str(library / "pkgconfig"))
    run("cc", "-Wall", "-Werror", source, "-o", programs[1], *flags.split(), f"-Wl,-rpath,{library}")
    build = scratch / "cmake-shmem"
    run("cmake", "-S", ROOT / "tests/install/consumer", "-B", build, f"-DSOURCE={source}",
        f"-DCMAKE_PREFIX_PATH={prefix}", "-DLIBRARY=shmem")  # fmt: skip
    run("cmake", "--build", build)
    for program in [*programs, build / "consumer"]:
        said = run(prefix / "bin/oshrun", "-np", "2", "--timeout", "240", program)
        expect("PE 0 of 2" in said and "PE 1 of 2" in said, f"{program.name} runs on two PEs: {said.strip()}")


def in_place_of_opencoarrays(prefix: Path, source: Path, scratch: Path) -> Path:
    """A project that looks for OpenCoarrays finds this library where it is told so, and nowhere else."""
    found = re.compile(rf"OpenCoarrays_DIR:\w+={re.escape(str(prefix))}")
    for target in ("", "caf_mpi_static", "caf_mpi"):
        build = scratch / f"opencoarrays{target}"
        place = next(prefix.rglob("OpenCoarraysConfig.cmake")).parent
        command: list[str | Path] = ["cmake", "-S", ROOT / "tests/install/consumer", "-B", build]
        command += [f"-DSOURCE={source}", f"-DCMAKE_PREFIX_PATH={prefix}", "-DLANGUAGE=Fortran"]
        command += ["-DPACKAGE=OpenCoarrays", f"-DLIBRARY={target}"]
        command += [f"-DOpenCoarrays_DIR={place}"] if target else []
        if target:
            run(*command)
            run("cmake", "--build", build)
        else:  # another OpenCoarrays may be there, or none
            subprocess.run([str(word) for word in command], timeout=250, check=False, capture_output=True)
        seen = found.search((build / "CMakeCache.txt").read_text()) is not None
        expect(seen == bool(target), f"OpenCoarrays is this library, {target or 'not asked for'}: {seen}")
    return build / "consumer"


def coarrays(prefix: Path, scratch: Path) -> None:
    """caf and cafrun, pkg-config and CMake, if this build has coarrays."""
    if not (prefix / "bin/caf").exists():
        print("no coarrays in this build")
        return
    source = scratch / "images.f90"
    source.write_text(COARRAY_PROGRAM)
    programs = [scratch / name for name in ("by-caf", "coarrays-by-pkg-config")]
    run(prefix / "bin/caf", "-Wall", "-Werror", source, "-o", programs[0])
    library = next(prefix.rglob("pkgconfig")).parent
    flags = run("pkg-config", "--cflags", "--libs", "omnipgas-coarray", PKG_CONFIG_PATH=str(library / "pkgconfig"))
    run("gfortran", "-Wall", "-Werror", source, "-o", programs[1], *flags.split(), f"-Wl,-rpath,{library}")
    build = scratch / "cmake-coarray"
    run("cmake", "-S", ROOT / "tests/install/consumer", "-B", build, f"-DSOURCE={source}",
        f"-DCMAKE_PREFIX_PATH={prefix}", "-DLANGUAGE=Fortran", "-DLIBRARY=coarray")  # fmt: skip
    run("cmake", "--build", build)
    for program in [*programs, build / "consumer", in_place_of_opencoarrays(prefix, source, scratch)]:
        said = run(prefix / "bin/cafrun", "-np", "2", "--timeout", "240", program)
        expect("image 1 of 2" in said and "image 2 of 2" in said, f"{program.name} runs on two images: {said.strip()}")


def prif(prefix: Path, scratch: Path) -> None:
    """What flang's programs need beside Caffeine, by pkg-config and CMake, if this build has it."""
    if not list(prefix.rglob("libomnipgas-prif.so")):
        print("no PRIF in this build")
        return
    library = next(prefix.rglob("pkgconfig")).parent
    path = {"PKG_CONFIG_PATH": str(library / "pkgconfig")}
    builder = Path(run("pkg-config", "--variable=caffeine", "omnipgas-prif", **path).strip())
    expect("--caffeine" in run(builder, "--help"), "pkg-config names what compiles Caffeine")
    expect((builder.parent / "fortran/ompl_prif.F90").exists(), "its Fortran is there")
    source = scratch / "prif.c"
    source.write_text(PRIF_PROGRAM)
    flags = run("pkg-config", "--libs", "omnipgas-prif", **path).split()
    run("cc", source, *flags, f"-Wl,-rpath,{library}", "-o", scratch / "prif")
    build = scratch / "cmake-prif"
    run("cmake", "-S", ROOT / "tests/install/consumer", "-B", build, f"-DSOURCE={source}",
        f"-DCMAKE_PREFIX_PATH={prefix}", "-DLIBRARY=prif")  # fmt: skip
    run("cmake", "--build", build)
    for program in (scratch / "prif", build / "consumer"):
        expect(run(program) == "no error\n", f"{program.name} is linked with the library of PRIF")


def tasks(prefix: Path, scratch: Path) -> None:
    """The program of docs/how-to/tasklet.md by pkg-config and CMake, if this build has tasks."""
    if not (prefix / "include/omnipgas/tasklet.h").exists():
        print("no tasks across nodes in this build")
        return
    source = scratch / "relay.c"
    source.write_text((ROOT / "docs/how-to/tasklet.md").read_text().split("```c\n")[1].split("```")[0])
    library = next(prefix.rglob("pkgconfig")).parent
    flags = run("pkg-config", "--cflags", "--libs", "omnipgas-tasklet", PKG_CONFIG_PATH=str(library / "pkgconfig"))
    run("cc", "-Wall", "-Werror", source, "-o", scratch / "relay", *flags.split(), f"-Wl,-rpath,{library}")
    build = scratch / "cmake-tasklet"
    run("cmake", "-S", ROOT / "tests/install/consumer", "-B", build, f"-DSOURCE={source}",
        f"-DCMAKE_PREFIX_PATH={prefix}", "-DLIBRARY=tasklet")  # fmt: skip
    run("cmake", "--build", build)
    for program in (scratch / "relay", build / "consumer"):
        said = run(prefix / "bin/omplrun", "-n", "2", "--timeout", "240", program)
        expect("rank 1 found 42.0" in said, f"{program.name} runs on two ranks: {said.strip()}")


def completion(prefix: Path) -> None:
    """bash completes the tools' options and the words that a value may be, by what is installed."""
    folder = prefix / "share/bash-completion/completions"
    if not folder.is_dir():
        print("no completion in this build")
        return
    for typed, wanted in (
        ("omplrun --keep", "--keep-going"), ("omplrun --bind au", "auto"), ("ompl-info --ch", "--check"),
        ("ompl-info mem", "memory"), ("ompl-info memory --ranks-per", "--ranks-per-node"),
    ):  # fmt: skip
        words = typed.split()
        asked = f"COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _{words[0].replace('-', '_')}"
        said = run("bash", "-c", f'. {folder / words[0]}; {asked}; echo "${{COMPREPLY[*]}}"').strip()
        expect(said == wanted, f"{typed} is completed to {said}")


def pages(prefix: Path) -> None:
    """`man` finds the pages, if the build made them (it may not be able to: without Python)."""
    if not (prefix / "share/man").is_dir():
        print("no manual pages in this build")
        return
    names = [("3", "ompl_put"), ("3", "omnipgas"), ("1", "omplrun"), ("7", "ompl-environment")]
    names += [("1", name) for name in COMMANDS if (prefix / "bin" / name).exists()]
    for section, name in names:
        where = run("man", "--where", "--manpath", prefix / "share/man", section, name).strip()
        expect(where.startswith(str(prefix)), f"man {section} {name}: {where}")


def everything(prefix: Path, scratch: Path) -> None:
    with_cmake(prefix, scratch, PROGRAM)
    with_cmake(prefix, scratch, PROGRAM.with_suffix(".cpp"), "-DLANGUAGE=CXX")
    with_pkg_config(prefix, scratch, "omnipgas", PROGRAM, "cc", "-std=c11")
    fortran(prefix, scratch)
    openshmem(prefix, scratch)
    coarrays(prefix, scratch)
    prif(prefix, scratch)
    tasks(prefix, scratch)
    pages(prefix)
    completion(prefix)


def files(prefix: Path) -> set[Path]:
    return {path.relative_to(prefix) for path in prefix.rglob("*") if not path.is_dir()}


def components(build: Path, scratch: Path) -> None:
    """The components divide what is installed; omni's comes only when it is asked for."""
    whole = scratch / "whole"
    run("cmake", "--install", build, "--prefix", whole)
    found: list[Path] = []
    for name in ("runtime", "devel", "tools", "man", "doc"):
        prefix = scratch / name
        run("cmake", "--install", build, "--prefix", prefix, "--component", name)
        expect(bool(files(prefix)), f"component {name} is not empty")
        found += files(prefix)
    expect(sorted(found) == sorted(files(whole)), "the components together are the whole, and share nothing")
    prefix = scratch / "omni"
    run("cmake", "--install", build, "--prefix", prefix, "--component", "omni")
    expect(not files(prefix) & files(whole), "omni's component holds only what the whole does not")
    includes_are_there(prefix / "libexec/omnipgas/sources")


def includes_are_there(sources: Path) -> None:
    """What the installed sources include of the tree is installed with them."""
    places = [sources, *(sources / folder for folder in ("bench", "include", "trace"))]
    missing = [
        f"{source.relative_to(sources)}: {name}"
        for source in sources.rglob("*.[ch]pp")
        for name in re.findall(r'^#include "([^"]+)"', source.read_text(), re.MULTILINE)
        # The bare baselines are built in the tree alone.
        if not name.startswith("raw/") and not any((place / name).is_file() for place in (source.parent, *places))
    ]
    expect(not missing, f"every include of the installed sources is there, but {missing}")


def uninstall(build: Path, scratch: Path) -> None:
    """Staged below DESTDIR: nothing of ours is left, everything of others is, empty folders too."""
    stage, prefix = scratch / "stage", Path("/opt/omnipgas-test")
    theirs = [f"{stage}{prefix}/{name}" for name in ("lib/cmake/Other", "share/man/man1")]
    for folder in theirs:
        os.makedirs(folder)
    before = set(stage.rglob("*"))
    for _ in range(2):  # a repeated installation must not forget what the first one made
        run("cmake", "--install", build, "--prefix", prefix, DESTDIR=str(stage))
    expect((stage / "opt/omnipgas-test/include/omnipgas/ompl.h").is_file(), "DESTDIR stages the installation")
    expect(not prefix.exists(), "nothing is installed beside the stage")
    run("cmake", f"-DMANIFEST={build}/install_manifest.txt", "-P", ROOT / "cmake/Uninstall.cmake", DESTDIR=str(stage))
    differing = sorted(map(str, set(stage.rglob("*")) ^ before))
    expect(not differing, f"uninstalling leaves what was there before, and nothing else: {differing}")


def into_a_new_folder(build: Path, scratch: Path) -> None:
    """DESTDIR is not there yet, and nothing between it and the root of the file system is in PREFIX."""
    stage = scratch / "new"
    run("cmake", "--install", build, "--prefix", "/usr", DESTDIR=str(stage))
    expect((stage / "usr/include/omnipgas/ompl.h").is_file(), "DESTDIR is made")
    expect(not list(stage.rglob("omni.1")), "without omni there is no page of it")
    run("cmake", f"-DMANIFEST={build}/install_manifest.txt", "-P", ROOT / "cmake/Uninstall.cmake", DESTDIR=str(stage))
    expect(not files(stage), "and uninstalling empties it")


def main(build: Path) -> None:
    # What a real installation of this build folder left to be uninstalled by.
    notes = [build / "install_manifest.txt", build / "install_folders.txt"]
    kept = {note: note.read_bytes() for note in notes if note.exists()}
    for note in kept:
        note.unlink()
    try:
        with tempfile.TemporaryDirectory() as folder:
            scratch = Path(folder)
            run("cmake", "--install", build, "--prefix", scratch / "first")
            # Nothing knows where it was installed: the whole may be moved.
            (scratch / "first").rename(scratch / "prefix")
            everything(scratch / "prefix", scratch)
            components(build, scratch)
            uninstall(build, scratch)
            into_a_new_folder(build, scratch)
    finally:
        for note in [*notes, *build.glob("install_manifest_*.txt")]:
            note.unlink(missing_ok=True)
        for note, content in kept.items():
            note.write_bytes(content)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
