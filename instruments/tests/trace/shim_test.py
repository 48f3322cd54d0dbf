#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""shim_test.py [--compiler CXX] [--run EMULATOR...]: what stands before Fortran's names (trace/generate.py), between a
program and a library that stand in for those of an MPI, on this processor or another.

Arguments in registers and on the stack, integers and floating point, and the returned value pass unharmed; the caller
is noted, on each thread its own."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "trace"))

from generate import shims

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 240  # seconds
SHARED = ["-shared", "-fPIC"]
ARGUMENTS = 12  # of each kind: more than there are registers for them
INTEGERS = ", ".join(f"long i{n}" for n in range(ARGUMENTS))
DOUBLES = ", ".join(f"double d{n}" for n in range(ARGUMENTS))
PROTOTYPES = f"""
extern "C" long mpi_send_({INTEGERS}, {DOUBLES});
extern "C" double mpi_recv_(const long* values, double last);
extern "C" void mpi_init_();
extern "C" bool noted(const void* from, const void* to);
"""
TRACER = """
#include <dlfcn.h>
#include <cstddef>
#include <cstdint>
#include "writer/tracer.hpp"
constinit OMPL_TRACE_TLS thread_local ompl::trace::Local ompl_trace_local{};
extern "C" bool noted(const void* from, const void* to) {
  const uintptr_t at = ompl_trace_local.fortran_site;
  ompl_trace_local.fortran_site = 0;
  return at > reinterpret_cast<uintptr_t>(from) && at <= reinterpret_cast<uintptr_t>(to);
}
"""
WEIGHTED = " + ".join(f"{n + 1} * i{n}" for n in range(ARGUMENTS))
WEIGHTED_DOUBLES = " + ".join(f"{n + 2} * d{n}" for n in range(ARGUMENTS))
LIBRARY = f"""
long mpi_send_({INTEGERS}, {DOUBLES}) {{ return ({WEIGHTED}) * 1000003 + static_cast<long>({WEIGHTED_DOUBLES}); }}
double mpi_recv_(const long* values, double last) {{ return values[0] + values[1] + last; }}
void mpi_init_() {{}}
"""
VALUES = [(-1) ** n * 1234567 * (n + 3) for n in range(ARGUMENTS)]
HALVES = [n + 0.5 for n in range(ARGUMENTS)]
SENT = sum((n + 1) * v for n, v in enumerate(VALUES)) * 1000003 + int(sum((n + 2) * v for n, v in enumerate(HALVES)))
PROGRAM = f"""
#include <cstdio>
#include <thread>
__attribute__((noinline)) static bool right() {{
  const char* const begin = reinterpret_cast<const char*>(&right);
  const long got = mpi_send_({", ".join(f"{v}L" for v in VALUES)}, {", ".join(map(str, HALVES))});
  if (!noted(begin, begin + 4096)) return false;
  const long values[2] = {{3, 4}};
  return got == {SENT}L && mpi_recv_(values, 0.25) == 7.25 && noted(begin, begin + 4096);
}}
int main() {{
  mpi_init_();
  noted(nullptr, nullptr);
  bool other = false;
  std::thread([&] {{ other = right(); }}).join();
  if (noted(reinterpret_cast<void*>(1), reinterpret_cast<void*>(-1))) return 2;  // another thread's
  const bool own = right();
  std::printf("%d %d\\n", own, other);
  return own && other ? 0 : 1;
}}
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--run", nargs=argparse.REMAINDER, default=[])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)

        def build(text: str, out: str, *more: str) -> None:
            (place / "source.cpp").write_text(PROTOTYPES + text)
            command = [options.compiler, "-std=c++20", "-O2", "-pthread", f"-I{ROOT / 'trace'}", "source.cpp", *more]
            subprocess.run([*command, "-o", out], cwd=place, check=True, timeout=LIMIT)

        build(LIBRARY, "libmpi.so", *SHARED)
        build(TRACER + shims(["Send", "Recv"]), "libtracer.so", *SHARED, "-fno-exceptions", "-fno-rtti")
        # The tracer first, as where it is preloaded.
        build(PROGRAM, "program", "-Wl,--no-as-needed", "-L.", "-ltracer", "-lmpi", "-Wl,-rpath,$ORIGIN")
        done = subprocess.run(
            [*options.run, place / "program"], capture_output=True, text=True, timeout=LIMIT, check=False
        )
    print(f"exit status {done.returncode}: {done.stdout}{done.stderr}")
    return 0 if (done.returncode, done.stdout) == (0, "1 1\n") else 1


if __name__ == "__main__":
    sys.exit(main())
