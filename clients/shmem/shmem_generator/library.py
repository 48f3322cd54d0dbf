# SPDX-License-Identifier: BSD-3-Clause
"""Setup, memory, teams, contexts, order, locks: the functions that have no types."""

from shmem_generator.table import Function, Table

_CONFIG = "const shmem_team_config_t *"


def _setup(table: Table) -> None:
    table.chapter = "Setup"
    table.add("init", "void", "void", "init()")
    table.add("init_thread", "int", "int requested, int *provided", "=init_thread(requested, provided)")
    table.add("query_thread", "void", "int *provided", "query_thread(provided)")
    table.add("query_initialized", "void", "int *initialized", "=query_initialized(initialized)")
    table.add("finalize", "void", "void", "finalize()")
    table.add("global_exit", "void", "int status", "=global_exit(status)")
    table.functions.append(Function("start_pes", "void", "int npes", "ignore(npes), start()", table.chapter, True))
    table.add("my_pe", "int", "void", "=my_pe()")
    table.add("n_pes", "int", "void", "=n_pes()")
    table.add("pe_accessible", "int", "int pe", "=pe_accessible(pe)")
    table.add("addr_accessible", "int", "const void *addr, int pe", "=addr_accessible(addr, pe)")
    table.add("ptr", "void *", "const void *dest, int pe", "=pointer(dest, pe)")
    table.add("info_get_version", "void", "int *major, int *minor", "=info_version(major, minor)")
    table.add("info_get_name", "void", "char *name", "=info_name(name)")
    table.add("pcontrol", "void", "int level, ...", "=ignore(level)")


def _memory(table: Table) -> None:
    table.chapter = "Symmetric memory"
    table.add("malloc", "void *", "size_t size", "allocate(size, kAnyAlignment, &result)")
    table.add("calloc", "void *", "size_t count, size_t size", "allocate_zero(count, size, &result)")
    table.add("align", "void *", "size_t alignment, size_t size", "allocate(size, alignment, &result)")
    table.add("realloc", "void *", "void *ptr, size_t size", "reallocate(ptr, size, &result)")
    table.add("free", "void", "void *ptr", "release(ptr)")
    table.add(
        "malloc_with_hints", "void *", "size_t size, long hints",
        "ignore(hints), allocate(size, kAnyAlignment, &result)",
    )  # fmt: skip


def _teams(table: Table) -> None:
    table.chapter = "Teams and contexts"
    table.add("team_my_pe", "int", "shmem_team_t team", "=team_my_pe(team)")
    table.add("team_n_pes", "int", "shmem_team_t team", "=team_n_pes(team)")
    table.add(
        "team_get_config", "int", "shmem_team_t team, long config_mask, shmem_team_config_t *config",
        "=team_get_config(team, config_mask, config)",
    )  # fmt: skip
    table.add(
        "team_translate_pe", "int", "shmem_team_t src_team, int src_pe, shmem_team_t dest_team",
        "=team_translate(src_team, src_pe, dest_team)",
    )  # fmt: skip
    table.add(
        "team_split_strided", "int",
        f"shmem_team_t parent_team, int start, int stride, int size, {_CONFIG}config, long config_mask, "
        "shmem_team_t *new_team",
        "=split_strided(parent_team, Triplet{start, stride, size}, TeamOptions{config, config_mask}, new_team)",
    )  # fmt: skip
    table.add(
        "team_split_2d", "int",
        f"shmem_team_t parent_team, int xrange, {_CONFIG}xaxis_config, long xaxis_mask, shmem_team_t *xaxis_team, "
        f"{_CONFIG}yaxis_config, long yaxis_mask, shmem_team_t *yaxis_team",
        "=split_2d(parent_team, xrange, TeamOptions{xaxis_config, xaxis_mask}, xaxis_team, "
        "TeamOptions{yaxis_config, yaxis_mask}, yaxis_team)",
    )  # fmt: skip
    table.add("team_destroy", "void", "shmem_team_t team", "team_destroy(team)")
    table.add("team_ptr", "void *", "shmem_team_t team, const void *dest, int pe", "=team_pointer(team, dest, pe)")
    table.add("ctx_create", "int", "long options, shmem_ctx_t *ctx", "=ctx_create(SHMEM_TEAM_WORLD, options, ctx)")
    table.add(
        "team_create_ctx", "int", "shmem_team_t team, long options, shmem_ctx_t *ctx",
        "=ctx_create(team, options, ctx)",
    )  # fmt: skip
    table.add("ctx_destroy", "void", "shmem_ctx_t ctx", "ctx_destroy(ctx)")
    table.add("ctx_get_team", "int", "shmem_ctx_t ctx, shmem_team_t *team", "=ctx_get_team(ctx, team)")
    table.add(
        "ctx_session_start", "void",
        "shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t *config, long config_mask",
        "session_start(ctx, options, config, config_mask)",
    )  # fmt: skip
    table.add("ctx_session_stop", "void", "shmem_ctx_t ctx", "session_stop(ctx)")


def _order(table: Table) -> None:
    table.chapter = "Order and locks"
    for name in ("fence", "quiet"):
        table.with_context(name, "void", "void", f"{name}({{C}})")
    table.with_context("pe_quiet", "void", "const int *target_pes, size_t npes", "pe_quiet({C}, target_pes, npes)")
    table.add("set_lock", "void", "long *lock", "set_lock(lock)")
    table.add("clear_lock", "void", "long *lock", "clear_lock(lock)")
    table.add("test_lock", "int", "long *lock", "test_lock(lock, &result)")


def declare(table: Table) -> None:
    """Adds all of them."""
    _setup(table)
    _memory(table)
    _teams(table)
    _order(table)
