# SPDX-License-Identifier: BSD-3-Clause
"""Point-to-point synchronisation: waits and tests."""

from shmem_generator import types
from shmem_generator.table import Table


def _of_many(table: Table) -> None:
    for vector in (False, True):
        suffix = "_vector" if vector else ""
        value = "const {T} *cmp_values" if vector else "{T} cmp_value"
        values = "cmp_values, true" if vector else "&cmp_value, false"
        words = f"words<{{T}}>(ivars, nelems, status, cmp, {values})"
        for verb, waits in (("wait_until", "true"), ("test", "false")):
            for kind in ("all", "any", "some"):
                indices = "size_t *indices, " if kind == "some" else ""
                parameters = f"volatile {{T}} *ivars, size_t nelems, {indices}const int *status, int cmp, {value}"
                if kind == "all":
                    result = "void" if verb == "wait_until" else "int"
                    body = f"wait_all({words})" if verb == "wait_until" else f"test_all({words}, &result)"
                else:
                    result = "size_t"
                    more = "indices, " if kind == "some" else ""
                    body = f"await_{kind}({words}, {more}&result, {waits})"
                name = f"{verb}_{kind}{suffix}"
                table.typed(types.SYNC, name, result, parameters, body, generic=name, qualifier="volatile")


def declare(table: Table) -> None:
    """Adds all of them."""
    table.chapter = "Point-to-point synchronisation"
    parameters = "volatile {T} *ivar, int cmp, {T} cmp_value"
    body = "wait_until(word<{T}>(ivar, cmp, cmp_value))"
    table.typed(types.SYNC, "wait_until", "void", parameters, body, generic="wait_until", qualifier="volatile")
    body = "test(word<{T}>(ivar, cmp, cmp_value), &result)"
    table.typed(types.SYNC, "test", "int", parameters, body, generic="test", qualifier="volatile")
    _of_many(table)
    # What is waited for is a change.
    table.typed(
        types.OLD_WAIT, "wait", "void", "volatile {T} *ivar, {T} cmp_value",
        "wait_until(word<{T}>(ivar, SHMEM_CMP_NE, cmp_value))", generic="", deprecated=True,
    )  # fmt: skip
    table.add(
        "wait", "void", "volatile long *ivar, long cmp_value",
        "wait_until(word<long>(ivar, SHMEM_CMP_NE, cmp_value))", deprecated=True,
    )  # fmt: skip
    table.add(
        "wait_until", "void", "volatile long *ivar, int cmp, long cmp_value",
        "wait_until(word<long>(ivar, cmp, cmp_value))", deprecated=True,
    )  # fmt: skip
