#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures all libraries between two hosts over TCP, and publishes the results:
compare_hosts.py [--note TEXT] [--folder FOLDER] [--omni PROGRAM] [-- OPTION of omni...]

Both hosts are network namespaces of this machine, so it needs root. Runs `omni pingpong` and `omni rate`, each of which
goes on with what an earlier run has left in build/results/hosts, and writes a page hosts.md and the result files beside
those that are published. With all sizes and six starts of each job it takes hours; `-- --quick` takes minutes. What
stands behind `--` goes to both commands.
"""

import argparse
import gzip
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OVER = "sockets,ucx,tcp"  # the layer's own sockets, UCX's TCP and libfabric's
ABOUT = """The tables compare the libraries that `omni` knows and that go over TCP, between two hosts that are network
namespaces of one machine. `ompl sockets` is the layer over its conduit `tcp`, `ompl ucx` and `ompl tcp` over UCX and
libfabric; `sockets sockets`, `ucx ucx` and `ofi tcp` are the same pattern by hand.
[Libraries](../how-to/libraries.md) says how each is used, and [benchmarking](../how-to/benchmarking.md) how it is
measured."""
PAGE = """# All libraries between two hosts over TCP

{about}

These commands made them, and `scripts/compare_hosts.py` all of it, the page too:

<!-- not run: takes hours, and measures only on a machine that does nothing else -->
```sh
{commands}
```

{table}"""


def commands(args: argparse.Namespace, folder: Path) -> dict[str, list[str]]:
    """What measures, by the name of its result file."""
    common = ["--hosts", "2", "--over", OVER, "--libs", args.libs, "--threads", args.threads, *args.more]
    sizes = ["--sizes", args.sizes] if args.sizes else []
    files = {name: ["--json", str(folder / f"{name}.json"), "--resume"] for name in ("pingpong", "rate")}
    return {
        "pingpong": [args.omni, "pingpong", *common, *sizes, *files["pingpong"]],
        "rate": [args.omni, "rate", *common, *files["rate"]],
    }


def shown(line: list[str]) -> str:
    """A command as a reader types it, in lines that are not too long."""
    words = ["omni", *line[1 : line.index("--json")]]
    return shlex.join(words).replace(" --libs", " \\\n    --libs")


def publish(args: argparse.Namespace, folder: Path, lines: dict[str, list[str]]) -> None:
    """The page, and the result files that it was made of."""
    kept = [folder / f"{name}.json" for name in lines]
    table = folder / "table.md"
    report = [args.omni, "report", *map(str, kept), "-o", str(folder / "hosts.html"), "--table", str(table)]
    subprocess.run(report, check=True, timeout=args.limit)
    place = args.folder / "hosts"
    place.mkdir(parents=True, exist_ok=True)
    for file in kept:
        (place / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes(), mtime=0))
    typed = "\n".join(shown(line) for line in lines.values())
    about = textwrap.fill(f"{ABOUT} {args.note}".replace("\n", " ").strip(), 120, break_on_hyphens=False)
    page = PAGE.format(about=about, commands=typed, table=table.read_text())
    (args.folder / "hosts.md").write_text(page)
    print(f"{args.folder / 'hosts.md'}; page: {folder / 'hosts.html'}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--omni", default=str(ROOT / "build/bin/omni"))
    parser.add_argument("--folder", type=Path, default=ROOT / "docs/results", help="where the page is written")
    parser.add_argument("--kept", type=Path, default=ROOT / "build/results/hosts", help="what a run goes on with")
    parser.add_argument("--libs", default="all")
    parser.add_argument("--threads", default="1,2,4,8")
    parser.add_argument("--sizes", help="of omni pingpong, bytes")
    parser.add_argument("--note", default="", help="a sentence on the page: how the machine was used meanwhile")
    parser.add_argument("--limit", type=float, default=24 * 3600, help="seconds, of each command")
    parser.add_argument("more", nargs="*", metavar="OPTION", help="of both commands, behind --")
    args = parser.parse_args()
    args.kept.mkdir(parents=True, exist_ok=True)
    lines = commands(args, args.kept)
    for line in lines.values():
        done = subprocess.run(line, check=False, timeout=args.limit)
        if done.returncode != 0:
            print(f"{shlex.join(line)} ended with status {done.returncode}; the same command goes on with it")
            return 1
    publish(args, args.kept, lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
