# SPDX-License-Identifier: BSD-3-Clause
"""Writes <shmem.h> and <pshmem.h>."""

import textwrap
from collections.abc import Iterator
from itertools import groupby

from shmem_generator import inline, types
from shmem_generator.table import Function, Generic, Table

NOTE = "/* SPDX-License-Identifier: BSD-3-Clause */\n/* Written by clients/shmem/generate_shmem.py: do not edit. */\n"

CONSTANTS = """\
#define SHMEM_MAJOR_VERSION 1
#define SHMEM_MINOR_VERSION 6
#define SHMEM_MAX_NAME_LEN 64
#define SHMEM_VENDOR_STRING "OmniPGAS OpenSHMEM"

/* Handles. They may stand in initialisers. */
typedef struct shmem_impl_team *shmem_team_t;
typedef struct shmem_impl_ctx *shmem_ctx_t;
#define SHMEM_TEAM_INVALID ((shmem_team_t)0)
#define SHMEM_TEAM_WORLD ((shmem_team_t)1)
#define SHMEM_TEAM_SHARED ((shmem_team_t)2)
#define SHMEM_CTX_INVALID ((shmem_ctx_t)0)
#define SHMEM_CTX_DEFAULT ((shmem_ctx_t)1)

typedef struct {
  int num_contexts;
} shmem_team_config_t;
#define SHMEM_TEAM_NUM_CONTEXTS (1L << 0)

typedef struct {
  size_t total_ops;
} shmem_ctx_session_config_t;
#define SHMEM_CTX_SESSION_TOTAL_OPS (1L << 0)
#define SHMEM_CTX_SESSION_BATCH (1L << 0)

#define SHMEM_CTX_PRIVATE (1L << 0)
#define SHMEM_CTX_SERIALIZED (1L << 1)
#define SHMEM_CTX_NOSTORE (1L << 2)

#define SHMEM_THREAD_SINGLE 0
#define SHMEM_THREAD_FUNNELED 1
#define SHMEM_THREAD_SERIALIZED 2
#define SHMEM_THREAD_MULTIPLE 3

#define SHMEM_SIGNAL_SET 0
#define SHMEM_SIGNAL_ADD 1

#define SHMEM_MALLOC_ATOMICS_REMOTE (1L << 0)
#define SHMEM_MALLOC_SIGNAL_REMOTE (1L << 1)

#define SHMEM_CMP_EQ 1
#define SHMEM_CMP_NE 2
#define SHMEM_CMP_GT 3
#define SHMEM_CMP_GE 4
#define SHMEM_CMP_LT 5
#define SHMEM_CMP_LE 6

/* Deprecated. Collectives of active sets need no work arrays here. */
#define SHMEM_SYNC_VALUE 0L
#define SHMEM_SYNC_SIZE 1
#define SHMEM_BCAST_SYNC_SIZE 1
#define SHMEM_REDUCE_SYNC_SIZE 1
#define SHMEM_BARRIER_SYNC_SIZE 1
#define SHMEM_COLLECT_SYNC_SIZE 1
#define SHMEM_ALLTOALL_SYNC_SIZE 1
#define SHMEM_ALLTOALLS_SYNC_SIZE 1
#define SHMEM_REDUCE_MIN_WRKDATA_SIZE 1
"""
OLD_NAMES = [
    "SYNC_VALUE", "SYNC_SIZE", "BCAST_SYNC_SIZE", "REDUCE_SYNC_SIZE", "BARRIER_SYNC_SIZE",
    "COLLECT_SYNC_SIZE", "ALLTOALL_SYNC_SIZE", "ALLTOALLS_SYNC_SIZE", "REDUCE_MIN_WRKDATA_SIZE",
    "MAJOR_VERSION", "MINOR_VERSION", "MAX_NAME_LEN", "VENDOR_STRING", "CMP_EQ", "CMP_NE", "CMP_GT", "CMP_GE",
    "CMP_LT", "CMP_LE",
]  # fmt: skip

GROUPS = {
    "RMA": types.RMA, "AMO": types.AMO, "AMO_EXTENDED": types.AMO_EXTENDED, "AMO_BITWISE": types.AMO_BITWISE,
    "SYNC": types.SYNC,
    "REDUCE_BITWISE": types.REDUCE_BITWISE, "REDUCE_ARITHMETIC": types.REDUCE_ARITHMETIC, "OLD_AMO": types.OLD_AMO,
    "OLD_AMO_EXTENDED": types.OLD_AMO_EXTENDED,
}  # fmt: skip


def _wrap(text: str, continued: bool = False) -> str:
    """A long line in several; continued: of a macro."""
    lines = textwrap.wrap(text, 108, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return (" \\\n" if continued else "\n").join(lines)


def _prototype(function: Function, prefix: str = "") -> str:
    attribute = "SHMEM_NORETURN " if function.name == "shmem_global_exit" else ""
    space = "" if function.result.endswith("*") else " "
    text = f"SHMEM_API {attribute}{function.result}{space}{prefix}{function.name}({function.parameters})"
    if function.deprecated:
        text += " SHMEM_DEPRECATED"
    return _wrap(text + ";")


def _prototypes(table: Table, prefix: str = "") -> Iterator[str]:
    for chapter, functions in groupby(table.functions, key=lambda function: function.chapter):
        yield f"\n/* {chapter} */"
        yield from (_prototype(function, prefix) for function in functions)


def _group_name(generic: Generic) -> str:
    return next(name for name, group in GROUPS.items() if tuple(group) == generic.group)


def _associations(name: str, qualifier: str) -> str:
    """A macro: pointer to a type -> the function whose name is made of prefix, name of the type and suffix."""
    pairs = []
    for each in types.distinct(GROUPS[name]):
        for kind in ("", f"{qualifier} ") if qualifier else ("",):
            pairs.append(f"{kind}{types.C_TYPES[each]} *: prefix##{each}##suffix,")
    macro = f"#define SHMEM_IMPL_{name}{qualifier.upper() and '_' + qualifier.upper()}(prefix, suffix)"
    return _wrap(f"{macro} {' '.join(pairs)} default: shmem_impl_no_such_type", continued=True)


def _selection(generic: Generic) -> str:
    name = f"SHMEM_IMPL_{_group_name(generic)}{generic.qualifier.upper() and '_' + generic.qualifier.upper()}"

    def choose(prefix: str, place: int) -> str:
        return f"_Generic((SHMEM_IMPL_ARGUMENT_{place}(__VA_ARGS__)), {name}({prefix}, {generic.suffix}))"

    chosen = choose("shmem_", generic.place)
    if generic.context:
        chosen = (
            f"_Generic((SHMEM_IMPL_ARGUMENT_0(__VA_ARGS__)), shmem_ctx_t: {choose('shmem_ctx_', generic.place + 1)}, "
            f"default: {chosen})"
        )
    return _wrap(f"#define {generic.name}(...) {chosen}(__VA_ARGS__)", continued=True)


SELECTIONS_BEGIN = """
/* C11: selections by the types of the arguments */
#if !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define SHMEM_IMPL_ARGUMENT_0(...) SHMEM_IMPL_FIRST(__VA_ARGS__, 0)
#define SHMEM_IMPL_ARGUMENT_1(...) SHMEM_IMPL_SECOND(__VA_ARGS__, 0, 0)
#define SHMEM_IMPL_FIRST(first, ...) first
#define SHMEM_IMPL_SECOND(first, second, ...) second

/* What is chosen for a type that has no such function; its name is the message. */
void shmem_impl_no_such_type(void);
"""
SELECTIONS_END = """
#define shmem_sync(...) \\
  _Generic((SHMEM_IMPL_ARGUMENT_0(__VA_ARGS__)), shmem_team_t: shmem_team_sync, default: shmem_sync)(__VA_ARGS__)
#define shmem_signal_set(...) \\
  _Generic((SHMEM_IMPL_ARGUMENT_0(__VA_ARGS__)), \\
           shmem_ctx_t: shmem_ctx_signal_set, default: shmem_signal_set)(__VA_ARGS__)
#define shmem_signal_add(...) \\
  _Generic((SHMEM_IMPL_ARGUMENT_0(__VA_ARGS__)), \\
           shmem_ctx_t: shmem_ctx_signal_add, default: shmem_signal_add)(__VA_ARGS__)
#endif
"""


def _generics(table: Table) -> Iterator[str]:
    yield SELECTIONS_BEGIN
    for name, qualifier in sorted({(_group_name(generic), generic.qualifier) for generic in table.generics}):
        yield _associations(name, qualifier)
    for generic in table.generics:
        yield _selection(generic)
    yield SELECTIONS_END


BEGIN = """
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SHMEM_API __attribute__((visibility("default")))
#define SHMEM_NORETURN __attribute__((noreturn))
#if defined(SHMEM_WARN_DEPRECATED)
#define SHMEM_DEPRECATED __attribute__((deprecated))
#else
#define SHMEM_DEPRECATED
#endif
#else
#define SHMEM_API
#define SHMEM_NORETURN
#define SHMEM_DEPRECATED
#endif
"""
LINKAGE_BEGIN = """
#ifdef __cplusplus
extern "C" {
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc99-extensions"
#elif defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#endif
#endif
"""
LINKAGE_END = """
#ifdef __cplusplus
#if defined(__clang__)
#pragma clang diagnostic pop
#elif defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
}
#endif
"""


def header(table: Table) -> str:
    """The text of <shmem.h>."""
    parts = [
        NOTE, "/* OpenSHMEM 1.6: the specification says what each function does, docs/how-to/openshmem.md how. */",
        "#ifndef OMNIPGAS_SHMEM_H\n#define OMNIPGAS_SHMEM_H", BEGIN, CONSTANTS,
        *(f"#define _SHMEM_{name} SHMEM_{name}" for name in OLD_NAMES),
        LINKAGE_BEGIN, *_prototypes(table), inline.header(table), LINKAGE_END, *_generics(table), "\n#endif",
    ]  # fmt: skip
    return "\n".join(parts) + "\n"


def profiling_header(table: Table) -> str:
    """The text of <pshmem.h>: the names by which a tool that stands before the functions calls them."""
    parts = [
        NOTE, "#ifndef OMNIPGAS_PSHMEM_H\n#define OMNIPGAS_PSHMEM_H\n#include <shmem.h>",
        LINKAGE_BEGIN, *_prototypes(table, "p"), LINKAGE_END, "\n#endif",
    ]  # fmt: skip
    return "\n".join(parts) + "\n"
