# SPDX-License-Identifier: BSD-3-Clause
"""Collectives of teams, and of active sets."""

from shmem_generator import types
from shmem_generator.table import Table

_SET = "int PE_start, int logPE_stride, int PE_size"
_SET_ARGUMENT = "ActiveSet{PE_start, logPE_stride, PE_size}"

# Name, parameters behind the destination and the source, arguments behind the team.
_MOVES = [
    ("alltoall", "size_t nelems", "dest, source, bytes_of(nelems, {B})"),
    ("alltoalls", "ptrdiff_t dst, ptrdiff_t sst, size_t nelems", "dest, source, Blocks{dst, sst, {B}, 1, nelems}"),
    ("broadcast", "size_t nelems, int PE_root", "dest, source, bytes_of(nelems, {B}), PE_root"),
    ("collect", "size_t nelems", "dest, source, bytes_of(nelems, {B})"),
    ("fcollect", "size_t nelems", "dest, source, bytes_of(nelems, {B})"),
]
_REDUCTIONS = [
    ("and", "BAND", types.REDUCE_BITWISE, types.OLD_BITWISE),
    ("or", "BOR", types.REDUCE_BITWISE, types.OLD_BITWISE),
    ("xor", "BXOR", types.REDUCE_BITWISE, types.OLD_BITWISE),
    ("max", "MAX", types.REDUCE_ORDERED, types.OLD_ORDERED),
    ("min", "MIN", types.REDUCE_ORDERED, types.OLD_ORDERED),
    ("sum", "SUM", types.REDUCE_ARITHMETIC, types.OLD_ARITHMETIC),
    ("prod", "PROD", types.REDUCE_ARITHMETIC, types.OLD_ARITHMETIC),
]


def _moves(table: Table) -> None:
    for name, parameters, arguments in _MOVES:
        body = f"={name}(team, {arguments})"
        whole = f"shmem_team_t team, {{T}} *dest, const {{T}} *source, {parameters}"
        table.typed(types.RMA, name, "int", whole, body, generic=name, place=1)
        table.add(f"{name}mem", "int", whole.replace("{T}", "void"), body.replace("{B}", "size_t{1}"))
        for bits in (32, 64):
            old = f"void *dest, const void *source, {parameters}, {_SET}, long *pSync"
            filled = f"active_{name}({_SET_ARGUMENT}, {arguments})".replace("{B}", f"size_t{{{bits // 8}}}")
            table.add(f"{name}{bits}", "void", old, f"ignore(pSync), {filled}", deprecated=True)


def _reductions(table: Table) -> None:
    for name, op, group, old_group in _REDUCTIONS:
        table.typed(
            group, f"{name}_reduce", "int", "shmem_team_t team, {T} *dest, const {T} *source, size_t nreduce",
            f"=reduce(team, dest, source, nreduce, {{R}}, OMPL_{op})", generic=f"{name}_reduce", place=1,
        )  # fmt: skip
        table.typed(
            old_group, f"{name}_to_all", "void",
            f"{{T}} *dest, const {{T}} *source, int nreduce, {_SET}, {{T}} *pWrk, long *pSync",
            f"ignore(pWrk), ignore(pSync), active_reduce({_SET_ARGUMENT}, dest, source, nreduce, {{R}}, OMPL_{op})",
            generic="", deprecated=True,
        )  # fmt: skip
    for name, inclusive in (("sum_inscan", "true"), ("sum_exscan", "false")):
        table.typed(
            types.REDUCE_ARITHMETIC, name, "int", "shmem_team_t team, {T} *dest, const {T} *source, size_t nelems",
            f"=scan(team, dest, source, nelems, {{R}}, {{B}}, {inclusive})", generic=name, place=1,
        )  # fmt: skip


def declare(table: Table) -> None:
    """Adds all of them."""
    table.chapter = "Collectives"
    table.add("team_sync", "int", "shmem_team_t team", "=team_sync(team)")
    table.add("sync_all", "void", "void", "sync_all()")
    table.add("barrier_all", "void", "void", "barrier_all()")
    old = f"{_SET}, long *pSync"
    table.add("sync", "void", old, f"ignore(pSync), active_sync({_SET_ARGUMENT})", deprecated=True)
    table.add("barrier", "void", old, f"ignore(pSync), active_barrier({_SET_ARGUMENT})", deprecated=True)
    _moves(table)
    _reductions(table)
