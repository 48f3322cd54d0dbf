# SPDX-License-Identifier: BSD-3-Clause
"""Compiles the interposer once per MPI found, and what is known of it then. Run by the build; standard library only.

python3 -m omnipgas_tools.model.build_tracers BUILD --folder TRACE -- COMPILER ARGUMENTS...
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from omnipgas_tools import files
from omnipgas_tools.libraries import catalog
from omnipgas_tools.libraries.compilers import FailedError, Target, arguments_of_build, compile_for_each, is_old

SOURCES = ("calls.table", "kinds.def", "generate.py", "format.hpp", "mpi/*", "writer/*")  # in instruments/trace/
# It is loaded into programs that may have another C++ library, or none, and beside others of its kind.
FLAGS = ["-std=c++20", "-O2", "-g1", "-fPIC", "-shared", "-fno-exceptions", "-fno-rtti", "-fvisibility-inlines-hidden",
         "-static-libgcc", "-Wl,-Bsymbolic"]  # fmt: skip
LIBRARY = re.compile(r"libmpi(?:ch|_abi)?\.so\.\d+")  # of MPICH, Intel MPI, Open MPI, and the standard's interface


@dataclass(frozen=True)
class Tracer:
    """An interposer: the MPI that it was compiled for."""

    name: str  # row of peers.toml; -abi: its form with the standard's interface
    library: str  # what its programs load: libmpi.so.12
    prefix: str  # where that MPI is installed; empty: with the system
    path: str  # of the interposer, in its file perhaps relative to it; of several one behind the other, joined by ":"

    def environment(self, out: Path) -> dict[str, str]:
        """All variables under which a launcher's ranks leave a trace in a folder that is there."""
        return {**os.environ, **self.preload(out)}

    def preload(self, out: Path) -> dict[str, str]:
        """Those that are added for it."""
        others = os.environ.get("LD_PRELOAD")
        preload = f"{self.path}:{others}" if others else self.path
        several = {"OMPL_TRACE_SEVERAL": "1"} if ":" in self.path else {}
        return {"LD_PRELOAD": preload, "OMPL_TRACE_DIR": str(out.absolute()), **several}

    def write(self) -> None:
        """Leaves this beside the interposer."""
        files.write(Path(self.path).with_suffix(".json"), json.dumps(asdict(self), indent=2) + "\n")


def name_of(mpi: str) -> str:
    """Where the interposer of an MPI lies in a build folder."""
    return f"lib/libompl-trace-{mpi}.so"


@dataclass(frozen=True)
class Recipe:
    """What every interposer is made from."""

    build: Path
    folder: Path  # instruments/trace/ of the sources
    arguments: list[str]  # for the compiler, beside FLAGS


def library_of(target: Target) -> str:
    """The MPI library that this compiler links programs with."""
    with tempfile.TemporaryDirectory(prefix="omni-probe-") as folder:
        empty, probe = Path(folder, "empty.cpp"), Path(folder, "probe.so")
        empty.touch()
        target.run("-shared", "-fPIC", "-Wl,--no-as-needed", empty, "-o", probe)
        told = subprocess.run(["readelf", "-d", probe], check=True, capture_output=True, text=True).stdout
    found = LIBRARY.search(told)
    if not found:
        raise FailedError(f"{target.compiler} links no MPI library that is known")
    return found[0]


def describe(target: Target, path: Path) -> Tracer:
    """What there is to know of the interposer at `path`; raises FailedError."""
    own = target.compiler.parents[1]
    prefix = target.prefix or ("" if own in (Path("/"), Path("/usr")) else own)
    return Tracer(target.name, library_of(target), str(prefix), str(path))


def compile_tracer(target: Target, recipe: Recipe) -> str:
    """Brings one interposer up to date; returns a line that says what was done."""
    library = recipe.build / name_of(target.name)
    described = library.with_suffix(".json").exists()
    sources = sorted(path for part in SOURCES for path in recipe.folder.glob(part))
    if described and not is_old(library, [target.compiler, *sources]):
        return "up to date"
    scratch = recipe.build / "trace" / target.name
    scratch.mkdir(parents=True, exist_ok=True)
    try:
        tracer = describe(target, library)
        include, wrappers, partial = scratch / "include.cpp", scratch / "wrappers.cpp", library.with_suffix(".new")
        include.write_text("#include <mpi.h>\n")
        header = target.run("-E", "-P", include)
        generate = [
            sys.executable,
            *(str(recipe.folder / name) for name in ("generate.py", "calls.table", "kinds.def")),
        ]
        text = subprocess.run(generate, input=header, check=True, capture_output=True, text=True)
        wrappers.write_text(text.stdout)
        parts = [wrappers, *(path for path in sources if path.suffix == ".cpp")]
        options = [*FLAGS, *recipe.arguments, f"-I{recipe.folder}", f'-DOMPL_TRACE_LIBRARY="{tracer.library}"']
        target.run(*options, *parts, "-Wl,--as-needed", "-o", partial)
    except (FailedError, subprocess.CalledProcessError) as failure:
        library.unlink(missing_ok=True)
        return f"skipped, {getattr(failure, 'stderr', None) or failure}"
    partial.replace(library)
    tracer.write()
    return f"compiled with {target.compiler}"


def compile_installed(target: Target, build: Path, place: Path) -> str:
    """The same from the sources of an installation, into that folder."""
    installed = catalog.sources(build)
    assert installed
    return compile_tracer(target, Recipe(place, installed / "trace", []))


def main() -> None:
    """Compiles what is missing or old; an MPI that cannot be used is no error."""
    options, arguments = arguments_of_build(__doc__, folder={"type": Path})
    recipe = Recipe(options.build, options.folder, arguments)
    compile_for_each("tracer", recipe.build, lambda target: compile_tracer(target, recipe))


if __name__ == "__main__":
    main()
