# SPDX-License-Identifier: BSD-3-Clause
"""Remote memory access, signalling, atomics."""

from shmem_generator import types
from shmem_generator.table import Table


def _rma(table: Table) -> None:
    table.chapter = "Remote memory access"
    whole = "{T} *dest, const {T} *source, size_t nelems, int pe"
    strided = "{T} *dest, const {T} *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe"
    blocks = "{T} *dest, const {T} *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe"
    for verb in ("put", "get"):
        for suffix in ("", "_nbi"):
            name = verb + suffix
            body = f"{name}({{C}}, dest, source, bytes_of(nelems, {{B}}), pe)"
            table.typed(types.RMA, name, "void", whole, body, generic=name, context=True)
            table.sized(verb, suffix, whole, body)
            table.memory(verb, suffix, whole, body)
        for name, parameters, shape in ((f"i{verb}", strided, "1, nelems"), (f"ib{verb}", blocks, "bsize, nblocks")):
            body = f"i{verb}({{C}}, dest, source, Blocks{{dst, sst, {{B}}, {shape}}}, pe)"
            table.typed(types.RMA, name, "void", parameters, body, generic=name, context=True)
            table.sized(name, "", parameters, body)
    table.typed(
        types.RMA, "p", "void", "{T} *dest, {T} value, int pe", "put({C}, dest, &value, {B}, pe)",
        generic="p", context=True,
    )  # fmt: skip
    table.typed(
        types.RMA, "g", "{T}", "const {T} *source, int pe", "get({C}, &result, source, {B}, pe)",
        generic="g", context=True, qualifier="const",
    )  # fmt: skip


def _signals(table: Table) -> None:
    table.chapter = "Signalling"
    parameters = (
        "{T} *dest, const {T} *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe"
    )
    for suffix in ("", "_nbi"):
        name = f"put_signal{suffix}"
        body = f"{name}({{C}}, dest, source, bytes_of(nelems, {{B}}), Signal{{sig_addr, signal, sig_op}}, pe)"
        table.typed(types.RMA, name, "void", parameters, body, generic=name, context=True)
        table.sized("put", f"_signal{suffix}", parameters, body)
        table.memory("put", f"_signal{suffix}", parameters, body)
    for verb in ("set", "add"):
        body = f"send_signal({{C}}, Signal{{sig_addr, signal, SHMEM_SIGNAL_{verb.upper()}}}, pe)"
        table.with_context(f"signal_{verb}", "void", "uint64_t *sig_addr, uint64_t signal, int pe", body)
    table.add("signal_fetch", "uint64_t", "const uint64_t *sig_addr", "signal_fetch(sig_addr, &result)")
    table.add(
        "signal_wait_until", "uint64_t", "uint64_t *sig_addr, int cmp, uint64_t cmp_value",
        "signal_wait_until(sig_addr, cmp, cmp_value, &result)",
    )  # fmt: skip


# Name, operation of the layer, parameters behind the destination, operand and value compared, group of types; name and
# group of the deprecated function.
_FETCHING = [
    ("compare_swap", "CSWAP", ", {T} cond, {T} value", "value, cond", types.AMO, "cswap", types.OLD_AMO),
    ("swap", "SET", ", {T} value", "value, {}", types.AMO_EXTENDED, "swap", types.OLD_AMO_EXTENDED),
    ("fetch_inc", "ADD", "", "{1}, {}", types.AMO, "finc", types.OLD_AMO),
    ("fetch_add", "ADD", ", {T} value", "value, {}", types.AMO, "fadd", types.OLD_AMO),
    ("fetch_and", "AND", ", {T} value", "value, {}", types.AMO_BITWISE, "", []),
    ("fetch_or", "OR", ", {T} value", "value, {}", types.AMO_BITWISE, "", []),
    ("fetch_xor", "XOR", ", {T} value", "value, {}", types.AMO_BITWISE, "", []),
    ("fetch", "FETCH", "", "{}, {}", types.AMO_EXTENDED, "fetch", types.OLD_AMO_EXTENDED),
]
_UPDATING = [
    ("set", "SET", ", {T} value", "value", types.AMO_EXTENDED, "set", types.OLD_AMO_EXTENDED),
    ("inc", "ADD", "", "{1}", types.AMO, "inc", types.OLD_AMO),
    ("add", "ADD", ", {T} value", "value", types.AMO, "add", types.OLD_AMO),
    ("and", "AND", ", {T} value", "value", types.AMO_BITWISE, "", []),
    ("or", "OR", ", {T} value", "value", types.AMO_BITWISE, "", []),
    ("xor", "XOR", ", {T} value", "value", types.AMO_BITWISE, "", []),
]


def _atomics(table: Table) -> None:
    table.chapter = "Atomics"
    for name, op, more, operands, group, old, old_group in _FETCHING:
        dest, qualifier = ("const {T} *source", "const") if name == "fetch" else ("{T} *dest", "")
        parameters = f"{dest}{more}, int pe"
        call = f"<{{T}}>({{C}}, {dest.split('*')[1]}, OMPL_ATOMIC_{op}, {operands}, "
        body = f"fetching{call}&result, pe)"
        table.typed(
            group, f"atomic_{name}", "{T}", parameters, body,
            generic=f"atomic_{name}", context=True, qualifier=qualifier,
        )  # fmt: skip
        table.typed(
            group, f"atomic_{name}_nbi", "void", f"{{T}} *fetch, {parameters}", f"fetching_nbi{call}fetch, pe)",
            generic=f"atomic_{name}_nbi", context=True,
        )  # fmt: skip
        table.typed(
            old_group, old, "{T}", parameters, body.replace("{C}", "SHMEM_CTX_DEFAULT"),
            generic=old, qualifier=qualifier, deprecated=True,
        )  # fmt: skip
    for name, op, more, operand, group, old, old_group in _UPDATING:
        parameters = f"{{T}} *dest{more}, int pe"
        body = f"updating<{{T}}>({{C}}, dest, OMPL_ATOMIC_{op}, {operand}, pe)"
        table.typed(
            group, f"atomic_{name}", "void", parameters, body, generic=f"atomic_{name}", context=True
        )
        table.typed(
            old_group, old, "void", parameters, body.replace("{C}", "SHMEM_CTX_DEFAULT"),
            generic=old, deprecated=True,
        )  # fmt: skip


def declare(table: Table) -> None:
    """Adds all of them."""
    _rma(table)
    _signals(table)
    _atomics(table)
