# SPDX-License-Identifier: BSD-3-Clause
"""Makes the wrappers of an interposer: generate.py TABLE KINDS < PREPROCESSED_MPI_H > wrappers.cpp

The table says what is recorded; the MPI's own header, preprocessed, says which functions it has and of which types.
Standard library only: the build runs it."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

# Local to the process, or of no interest: they are left to MPI. What is neither here nor in the table becomes Opaque.
LOCAL = re.compile(
    r"(Abi|T|Type|Group|Info|Op|Errhandler|Error|Status|Attr|Keyval|Aint|Add|Remove|Session|Message)_.*|"
    r"(Comm|Win|File)_(get|set|call|delete_attr|create_errhandler|create_keyval|free_keyval).*|"
    r".*_(c2f|f2c|toint|fromint|c2f08|f082c|f2f08|f082f)|"
    r"Comm_(rank|size|group|compare|test_inter|remote_size|remote_group)|Win_(attach|detach|shared_query)|"
    r"Cart_(coords|get|map|rank|shift)|Cartdim_get|Graph_(get|map|neighbors|neighbors_count)|Graphdims_get|"
    r"Dist_graph_neighbors(_count)?|Topo_test|Dims_create|Reduce_local|"
    r"Get_(address|count|elements|elements_x|hw_resource_info|library_version|processor_name|version)|"
    r"Init|Init_thread|Finalize|Abort|Initialized|Finalized|Query_thread|Is_thread_main|Wtime|Wtick|Pcontrol|"
    r"Address|Alloc_mem|Free_mem|Buffer_attach|Pack(_external)?(_size)?|Unpack(_external)?|Test_cancelled|"
    r"Register_datarep|Publish_name|Unpublish_name|Lookup_name|Open_port|Close_port|Request_get_status.*"
)
PROTOTYPE = re.compile(r"\bint\s+MPI_(\w+)\s*\(([^;{}]*?)\)\s*(?:__attribute__\s*\(\(.*?\)\)\s*)*;", re.S)
PARAMETER = re.compile(r"(?P<type>.*?)(?P<name>\b\w+)?\s*(?P<array>(?:\[[^\]]*\]\s*)*)", re.S)
ROW = re.compile(r"(?:([IR]):)?([\w ]+)\((.*?)\)\s*(?:=\s*(\w+))?\s*\|(.*)")
FORTRAN = ("mpi_{}_", "mpi_{}__", "mpi_{}_f08_", "mpi_{}_f08ts_", "mpi_{}_c_f08ts_", "mpi_{}_f08ts_large_")

WRAPPER = """\
int MPI_{name}({declared}) {{
  Thread* const thread = ompl::trace::enter();
  if (thread == nullptr) return OMPL_REAL(PMPI_{name})({names});
  Call c(*thread, Kind::k{kind}, __builtin_return_address(0));
{before}  c.begin();
  const int code = OMPL_REAL(PMPI_{name})({names});
  c.end(code);
{after}  c.finish();
  return code;
}}
int PMPI_{name}({declared}) __attribute__((alias("MPI_{name}")));
"""

# A Fortran function notes who called it, and goes on to its own, with all registers that hold arguments as they came.
ASSEMBLER = """\
#if defined(__x86_64__)
#define OMPL_NOTE_AND_JUMP(to) \\
  "movq ompl_trace_local@gottpoff(%rip), %r11\\nmovq (%rsp), %r10\\nmovq %r10, %fs:8(%r11)\\njmp *" to "(%rip)\\n"
#elif defined(__aarch64__)  // hint 34 is bti c
#define OMPL_NOTE_AND_JUMP(to) \\
  "hint 34\\nadrp x16, :gottprel:ompl_trace_local\\nldr x16, [x16, :gottprel_lo12:ompl_trace_local]\\n" \\
  "mrs x17, tpidr_el0\\nadd x16, x16, x17\\nstr x30, [x16, 8]\\n" \\
  "adrp x16, " to "\\nldr x16, [x16, :lo12:" to "]\\nbr x16\\n"
#endif
#if defined(OMPL_NOTE_AND_JUMP)
static_assert(offsetof(ompl::trace::Local, fortran_site) == 8);
"""
SHIM = """\
asm(".pushsection .text\\n.balign 4\\n.globl {name}\\n.type {name}, %function\\n{name}:\\n"
    OMPL_NOTE_AND_JUMP("ompl_fortran_{name}") ".size {name}, .-{name}\\n.popsection");
extern "C" {{ __attribute__((visibility("hidden"), used)) void* ompl_fortran_{name}; }}
"""


@dataclass(frozen=True)
class Row:
    """What the table says of a function."""

    parameters: list[str]
    kind: str
    before: list[str]
    after: list[str]


def read_table(path: Path) -> dict[str, Row]:
    """The rows by name of function, without MPI_."""
    rows = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if not (match := ROW.fullmatch(line)):
            sys.exit(f"{path}:{number}: not a row: {line}")
        letter, names, listed, kind, actions = match.groups()
        parameters = [word.strip() for word in listed.split(",")]
        before, after = ([*filter(None, map(str.strip, side.split(";")))] for side in actions.partition("|")[::2])
        for name in names.split():
            rows[name] = Row(parameters, kind or kind_of(name), before, after)
            if letter:
                posts = letter + name[0].lower() + name[1:]
                rows[posts] = Row([*parameters, "request"], kind_of(posts), before, ["posted(request)", *after])
    return rows


def kind_of(name: str) -> str:
    return "".join(word[0].upper() + word[1:] for word in name.split("_"))


def kinds_of(path: Path) -> set[str]:
    """The names in kinds.def."""
    found = re.findall(r"^(?:KIND|COLLECTIVE)\((\w+)(?:, ([A-Z]\w+))?", path.read_text(), re.M)
    return {name for names in found for name in names}


def prototypes(header: str) -> dict[str, list[tuple[str, str]]]:
    """Each function that returns int: the type and the array suffix of each parameter."""
    found = {}
    for name, inside in PROTOTYPE.findall(header):
        parameters = []
        for part in inside.split(","):
            match = PARAMETER.fullmatch(" ".join(part.split()))
            assert match
            kind, word = match["type"].strip(), match["name"] or ""
            if not kind:  # a type alone
                kind, word = word, ""
            parameters.append((kind, match["array"].strip()))
        found[name] = [] if parameters == [("void", "")] else parameters
    return found


def declared(parameters: list[tuple[str, str]], names: list[str]) -> str:
    return ", ".join(f"{kind} {name}{array}" for (kind, array), name in zip(parameters, names, strict=True))


def wrapper(name: str, parameters: list[tuple[str, str]], row: Row) -> str:
    """The function as the table says."""
    names = row.parameters
    before = [f"  c.{action};" for action in row.before]
    before += [f"  {word} = c.{word}({word});" for word in ("status", "statuses") if word in names]
    after = [f"    c.{action};" for action in row.after]
    if after:
        after = ["  if (code == MPI_SUCCESS) {", *after, "  }"]
    return WRAPPER.format(
        name=name,
        kind=row.kind,
        declared=declared(parameters, names),
        names=", ".join(names),
        before="".join(f"{line}\n" for line in before),
        after="".join(f"{line}\n" for line in after),
    )


def opaque(name: str, parameters: list[tuple[str, str]]) -> str:
    names = [f"a{i}" for i in range(len(parameters))]
    return wrapper(name, parameters, Row(names, "Opaque", [f'unknown("MPI_{name}")'], []))


def shims(names: list[str]) -> str:
    """The Fortran names of these functions; on other processors a Fortran call's site lies in MPI's own library."""
    fortran = [pattern.format(name.lower()) for name in names for pattern in FORTRAN]
    text = ASSEMBLER + "".join(SHIM.format(name=name) for name in fortran)
    text += "static const struct { const char* name; void** at; } kFortranNames[] = {\n"
    text += "".join(f'  {{"{name}", &ompl_fortran_{name}}},\n' for name in fortran) + "};\n"
    text += "__attribute__((constructor)) static void find_fortran() {\n"
    text += '  if (dlsym(RTLD_NEXT, "mpi_init_") == nullptr) return;\n'
    return text + "  for (const auto& entry : kFortranNames) *entry.at = dlsym(RTLD_NEXT, entry.name);\n}\n#endif\n"


def main() -> None:
    table, kinds = read_table(Path(sys.argv[1])), kinds_of(Path(sys.argv[2]))
    if unknown := {row.kind for row in table.values()} - kinds:
        sys.exit(f"{sys.argv[2]} lacks {', '.join(sorted(unknown))}")
    functions = prototypes(sys.stdin.read())
    print('#include <dlfcn.h>\n#include "mpi/call.hpp"\nusing namespace ompl::trace;\nextern "C" {')
    for name, parameters in sorted(functions.items()):
        row = table.get(name) or table.get(name.removesuffix("_c"))
        if row is not None and len(row.parameters) == len(parameters):
            print(wrapper(name, parameters, row))
        elif row is not None or not LOCAL.fullmatch(name.removesuffix("_c")):
            print(opaque(name, parameters))
    print("}")
    print(shims([name for name in functions if name in table] + ["Init", "Init_thread", "Finalize", "Abort"]))


if __name__ == "__main__":
    main()
