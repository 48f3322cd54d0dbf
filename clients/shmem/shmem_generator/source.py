# SPDX-License-Identifier: BSD-3-Clause
"""Writes the definitions: each function calls the core, and its shmem_ name is a weak alias of its pshmem_ name."""

from collections.abc import Iterator

from shmem_generator.table import Function, Table

BEGIN = """\
// SPDX-License-Identifier: BSD-3-Clause
// Written by clients/shmem/generate_shmem.py: do not edit.
#include "core/core.hpp"

#include <pshmem.h>

using namespace shmem_core;  // NOLINT(google-build-using-namespace)

extern "C" {
"""


def chapters(table: Table) -> list[str]:
    """Names of the chapters, in order: each is a source file."""
    return list(dict.fromkeys(function.chapter for function in table.functions))


def file_name(chapter: str) -> str:
    """A chapter's file."""
    return chapter.lower().replace(" ", "_").replace("-", "_") + ".cpp"


def _body(function: Function) -> str:
    if function.body.startswith("="):
        give = "" if function.result == "void" else "return "
        return f"  {give}{function.body[1:]};\n"
    lines = "" if function.result == "void" else f"  {function.result} result{{}};\n"
    lines += f'  expect(({function.body}), "{function.name}");\n'
    return lines if function.result == "void" else lines + "  return result;\n"


def _definition(function: Function) -> str:
    space = "" if function.result.endswith("*") else " "
    head = f"{function.result}{space}p{function.name}({function.parameters})"
    alias = f"{function.result}{space}{function.name}({function.parameters})"
    return f'{head} {{\n{_body(function)}}}\n{alias} __attribute__((weak, alias("p{function.name}")));\n'


def source(table: Table, chapter: str) -> str:
    """The definitions of a chapter."""

    def parts() -> Iterator[str]:
        yield BEGIN
        yield from (_definition(function) for function in table.functions if function.chapter == chapter)
        yield '}  // extern "C"\n'

    return "\n".join(parts())
