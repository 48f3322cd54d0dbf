# SPDX-License-Identifier: BSD-3-Clause
"""Task Bench over tasks and over the bare layer: all its patterns, whose tasks check their inputs.

taskbench_test.py BUILD CONDUIT [SOURCE]; SOURCE is a checkout of Task Bench, else OMPL_TASK_BENCH names one. Without it
the test is a skip.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).absolute().parents[3]
sys.path.insert(0, str(ROOT / "instruments/omni"))

from omnipgas_tools.tasks.programs import Builder, checked_source  # noqa: E402

LIMIT = 600
PATTERNS = (
    "trivial", "no_comm", "stencil_1d", "stencil_1d_periodic", "dom", "tree", "fft", "all_to_all", "nearest -radix 5",
    "spread -radix 3 -period 2", "random_nearest -radix 5 -period 3",
)  # fmt: skip
LAYOUTS = ((1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (4, 3))  # ranks, threads
STEPS, WIDTH = 60, 8


def run(launcher: list[str], program: Path, ranks: int, threads: int, arguments: list[str]) -> str:
    """What a job prints; ends the test if it fails."""
    line = [*launcher, "-n", str(ranks), str(program), "-threads", str(threads), *arguments]
    done = subprocess.run(line, capture_output=True, text=True, timeout=LIMIT, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(line)}: status {done.returncode}\n{done.stdout[-1000:]}{done.stderr[-2000:]}")
    return done.stdout


def tasks_of(said: str) -> int:
    """How many ran, as Task Bench counts them."""
    return int(said.split("Total Tasks ")[1].split()[0])


def wrong_inputs(launcher: list[str], builder: Builder, folder: Path) -> None:
    """A program that hands over what was not put must fail, or the checks of all others say nothing."""
    broken = (ROOT / "clients/tasklet/taskbench/bare.cpp").read_text()
    line = "inputs_[count++] = source.base + version(step - 1) * source.version;"
    assert line in broken
    source = folder / "broken.cpp"
    source.write_text(broken.replace(line, line.replace("version(step - 1)", "version(step)")))
    core = builder.source / "core"
    places = [f"-I{ROOT / name}" for name in ("include", "clients/tasklet", "clients/tasklet/taskbench")]
    libraries = [f"-L{builder.build / 'lib'}", "-lomnipgas", f"-Wl,-rpath,{builder.build / 'lib'}"]
    command: list[str | Path] = ["c++", "-std=c++20", "-O1", "-w", "-pthread", "-isystem", core, *places, source]
    command += ["-o", folder / "broken", builder.core(), *libraries]
    subprocess.run(command, check=True, timeout=LIMIT)
    job = [*launcher, "-n", "2", str(folder / "broken"), "-type", "stencil_1d", "-steps", "50", "-width", "4"]
    done = subprocess.run(job, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode != 0, "wrong inputs went unnoticed"
    assert "Assertion" in done.stderr, done.stderr


def main() -> None:
    """Builds what is needed, then runs everything."""
    build, conduit = Path(sys.argv[1]), sys.argv[2]
    given = sys.argv[3] if len(sys.argv) > 3 else os.environ.get("OMPL_TASK_BENCH", "")
    if not given:
        print("skip: no source of Task Bench; give its folder by the CMake or environment variable OMPL_TASK_BENCH")
        sys.exit(77)
    builder = Builder(checked_source(Path(given)), build)
    os.environ["OMPL_CONDUITS"] = f"self,{conduit}"
    launcher = [str(build / "bin/omplrun"), "--timeout", "240"]
    for name in ("tasklet", "ompl"):
        program = builder.program(name)
        for pattern in PATTERNS:
            for ranks, threads in LAYOUTS if conduit == "shm" else ((2, 2),):
                nodes = ["--node-of", ",".join(map(str, range(ranks)))] if conduit != "shm" else []
                for size in (16, 5000) if (ranks, threads) == (2, 2) else (16,):
                    arguments = ["-type", *pattern.split(), "-steps", str(STEPS), "-width", str(WIDTH)]
                    arguments += ["-output", str(size), "-kernel", "compute_bound", "-iter", "2", "-scratch", "64"]
                    said = run([*launcher, *nodes], program, ranks, threads, arguments)
                    full = pattern not in ("dom", "tree")
                    assert not full or tasks_of(said) == STEPS * WIDTH, said
        # Two graphs at once, fewer points than workers, points that do not divide evenly.
        two = [
            "-type",
            "fft",
            "-width",
            "4",
            "-steps",
            "20",
            "-and",
            "-type",
            "stencil_1d",
            "-width",
            "3",
            "-steps",
            "33",
        ]
        assert tasks_of(run(launcher, program, 2, 2, two)) == 4 * 20 + 3 * 33
        run(launcher, program, 3, 2, ["-type", "all_to_all", "-width", "2", "-steps", "40"])
        run(launcher, program, 2, 1, ["-type", "stencil_1d", "-width", "7", "-steps", "1"])
    if conduit == "shm":
        with tempfile.TemporaryDirectory() as folder:
            wrong_inputs(launcher, builder, Path(folder))


if __name__ == "__main__":
    main()
