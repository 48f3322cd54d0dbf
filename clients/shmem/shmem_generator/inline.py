# SPDX-License-Identifier: BSD-3-Clause
"""Which functions <shmem.h> defines inline, by the macros of <shmem_inline.h>, and the library's list of them."""

from collections.abc import Iterator
from dataclasses import dataclass

from shmem_generator import types
from shmem_generator.table import Table


@dataclass(frozen=True)
class Inline:
    """A function, without shmem_, and the macro that defines it."""

    name: str
    macro: str
    arguments: str

    def definition(self) -> str:
        """What <shmem.h> says."""
        return f"SHMEM_IMPL_{self.macro}({', '.join(filter(None, (self.name, self.arguments)))})"


def _moves(name: str, suffix: str, c_type: str, size: str) -> Iterator[Inline]:
    for verb in ("put", "get"):
        for how in ("", "_nbi"):
            yield Inline(f"{name}{verb}{suffix}{how}", verb.upper(), f"{c_type}, {size}")
    yield Inline(f"{name}put{suffix}_signal", "PUT_SIGNAL", f"{c_type}, {size}")


def _atomics() -> Iterator[Inline]:
    for each in types.AMO:
        c_type = types.C_TYPES[each]
        yield Inline(f"{each}_atomic_compare_swap", "ATOMIC_COMPARE_SWAP", c_type)
        yield Inline(f"{each}_atomic_fetch_inc", "ATOMIC_FETCH_INC", c_type)
        yield Inline(f"{each}_atomic_inc", "ATOMIC_INC", c_type)
        yield Inline(f"{each}_atomic_fetch_add", "ATOMIC_FETCH_OP", f"{c_type}, add")
        yield Inline(f"{each}_atomic_add", "ATOMIC_OP", f"{c_type}, add")
    for each in types.AMO_EXTENDED:
        for name in ("swap", "fetch", "set"):
            yield Inline(f"{each}_atomic_{name}", f"ATOMIC_{name.upper()}", types.C_TYPES[each])
    for each in types.AMO_BITWISE:
        for op in ("and", "or", "xor"):
            yield Inline(f"{each}_atomic_fetch_{op}", "ATOMIC_FETCH_OP", f"{types.C_TYPES[each]}, {op}")
            yield Inline(f"{each}_atomic_{op}", "ATOMIC_OP", f"{types.C_TYPES[each]}, {op}")


def functions() -> Iterator[Inline]:
    """All of them: on the default context, without those that are deprecated."""
    for each in types.RMA:
        c_type = types.C_TYPES[each]
        yield from _moves(f"{each}_", "", c_type, f"sizeof({c_type})")
        yield Inline(f"{each}_p", "P", c_type)
        yield Inline(f"{each}_g", "G", c_type)
    for bits in types.SIZES:
        yield from _moves("", str(bits), "void", str(bits // 8))
    yield from _moves("", "mem", "void", "1")
    yield from _atomics()
    for verb in ("set", "add"):
        yield Inline(f"signal_{verb}", "SIGNAL", f"SHMEM_SIGNAL_{verb.upper()}")
    yield Inline("fence", "ORDER", "")
    yield Inline("quiet", "ORDER", "")


HEADER = """
/* Small operations on mapped memory are compiled into the caller. ThreadSanitizer has to see the waits too. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) && !defined(SHMEM_NO_INLINE)
#define SHMEM_NO_INLINE
#endif
#endif
#if defined(__GNUC__) && !defined(__SANITIZE_THREAD__) && !defined(SHMEM_NO_INLINE) && \\
    (defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L))
#include <shmem_inline.h>
#ifdef __cplusplus
extern "C" {
#endif
{DEFINITIONS}
#ifdef __cplusplus
}
#endif
#endif
"""

SOURCE = """\
// SPDX-License-Identifier: BSD-3-Clause
// Written by clients/shmem/generate_shmem.py: do not edit.
#include "core/inlined.hpp"

#include <pshmem.h>

namespace shmem_core {

const std::vector<Inlined>& inlined_functions() {
  static const auto* const all = new std::vector<Inlined>{
{ROWS}
  };
  return *all;
}

}  // namespace shmem_core
"""


def header(table: Table) -> str:
    """The end of the prototypes in <shmem.h>."""
    known = {function.name for function in table.functions}
    unknown = [each.name for each in functions() if f"shmem_{each.name}" not in known]
    if unknown:
        raise SystemExit(f"inlined, but not of the table: {', '.join(unknown)}")
    return HEADER.replace("{DEFINITIONS}", "\n".join(each.definition() for each in functions()))


def source() -> str:
    """The library's list, with the addresses of its own definitions."""
    rows = (
        f'      {{"shmem_{each.name}", reinterpret_cast<const void*>(&pshmem_{each.name})}},' for each in functions()
    )
    return SOURCE.replace("{ROWS}", "\n".join(rows))
