# SPDX-License-Identifier: BSD-3-Clause
"""Writes the test that calls every function and checks what it did.

A function has a check of its kind, which is a text over tests/every.h: {F} is the function, {X} what stands before its
arguments, {C} the context, {T} the C type, {N} its name, {B} the bytes of an element. Functions without types are
called by tests/library.c: that it names each of them is checked here.
"""

import re
from pathlib import Path

from shmem_generator import types
from shmem_generator.source import chapters
from shmem_generator.table import Function, Table

# Each PE's `from` holds a pattern of bytes, `to` zeros, when a check begins; both are symmetric, `local` is not.
_MOVES = {
    "put": "{F}({X}({T} *)to, (const {T} *)from, 4, right); finish({C}); expect_bytes(to, left, 0, 4 * {B});"
    " expect_zero(to + 4 * {B}, 64);",
    "get": "{F}({X}({T} *)local, (const {T} *)from, 4, right); shmem_ctx_quiet({C});"
    " expect_bytes(local, right, 0, 4 * {B}); expect_zero(local + 4 * {B}, 64);",
    "iput": "{F}({X}({T} *)to, (const {T} *)from, 2, 1, 3, right); finish({C});"
    " for (size_t i = 0; i < 3; ++i) { expect_bytes(to + 2 * i * {B}, left, i * {B}, {B});"
    " expect_zero(to + (2 * i + 1) * {B}, {B}); }",
    "iget": "{F}({X}({T} *)local, (const {T} *)from, 1, 2, 3, right);"
    " for (size_t i = 0; i < 3; ++i) expect_bytes(local + i * {B}, right, 2 * i * {B}, {B});",
    "ibput": "{F}({X}({T} *)to, (const {T} *)from, 4, 3, 2, 2, right); finish({C});"
    " for (size_t i = 0; i < 2; ++i) { expect_bytes(to + 4 * i * {B}, left, 3 * i * {B}, 2 * {B});"
    " expect_zero(to + (4 * i + 2) * {B}, 2 * {B}); }",
    "ibget": "{F}({X}({T} *)local, (const {T} *)from, 3, 4, 2, 2, right);"
    " for (size_t i = 0; i < 2; ++i) expect_bytes(local + 3 * i * {B}, right, 4 * i * {B}, 2 * {B});",
    "put_signal": "{F}({X}({T} *)to, (const {T} *)from, 4, &sig, 3, SHMEM_SIGNAL_ADD, right);"
    " CHECK(shmem_signal_wait_until(&sig, SHMEM_CMP_EQ, 3) == 3); expect_bytes(to, left, 0, 4 * {B});"
    " shmem_ctx_quiet({C});",
}
_MOVES |= {f"{name}_nbi": _MOVES[name] for name in ("put", "get", "put_signal")}
_WORDS = {
    "p": "{F}({X}({T} *)to, ({T})(me + 1), right); finish({C}); CHECK(*({T} *)to == ({T})(left + 1));",
    "g": "*({T} *)from = ({T})(me + 3); shmem_barrier_all(); CHECK({F}({X}({T} *)from, right) == ({T})(right + 3));",
    "signal_set": "{F}({X}&sig, 9, right); CHECK(shmem_signal_wait_until(&sig, SHMEM_CMP_EQ, 9) == 9);",
    "signal_add": "sig = 4; shmem_barrier_all(); {F}({X}&sig, 5, right);"
    " CHECK(shmem_signal_wait_until(&sig, SHMEM_CMP_EQ, 9) == 9);",
    "signal_fetch": "sig = 8; CHECK({F}(&sig) == 8);",
    "signal_wait_until": "sig = 2; CHECK({F}(&sig, SHMEM_CMP_GE, 1) == 2);",
}
# The word is 6. What an atomic is given, and what it leaves.
_ATOMICS = {
    "compare_swap": (", ({T})6, ({T})3", 3), "swap": (", ({T})3", 3), "fetch_inc": ("", 7),
    "fetch_add": (", ({T})3", 9),
    "fetch_and": (", ({T})3", 2), "fetch_or": (", ({T})3", 7), "fetch_xor": (", ({T})3", 5), "fetch": ("", 6),
    "set": (", ({T})3", 3), "inc": ("", 7), "add": (", ({T})3", 9), "and": (", ({T})3", 2), "or": (", ({T})3", 7),
    "xor": (", ({T})3", 5),
}  # fmt: skip
_OLD_ATOMICS = {
    "cswap": "compare_swap", "swap": "swap", "finc": "fetch_inc", "fadd": "fetch_add", "fetch": "fetch", "set": "set",
    "inc": "inc", "add": "add",
}  # fmt: skip
_WAITS = {
    "wait_until": "shmem_{N}_p(({T} *)to, ({T})5, right);"
    " {F}(({T} *)to, SHMEM_CMP_EQ, ({T})5); CHECK(*({T} *)to == 5);",
    "wait": "shmem_{N}_p(({T} *)to, ({T})5, right); {F}(({T} *)to, ({T})0); CHECK(*({T} *)to == 5);",
    "test": "CHECK({F}(({T} *)to, SHMEM_CMP_GT, ({T})6) == 0); shmem_{N}_p(({T} *)to, ({T})6, right);"
    " while ({F}(({T} *)to, SHMEM_CMP_GT, ({T})5) == 0) {} CHECK(*({T} *)to == 6);",
    # Two of the three words are 5.
    "wait_until_all": "{W} {F}(w, 3, not_1, SHMEM_CMP_EQ, {V}); {F}(w, 3, NULL, SHMEM_CMP_LE, {V});",
    "test_all": "{W} CHECK({F}(w, 3, not_1, SHMEM_CMP_EQ, {V}) == 1);"
    " CHECK({F}(w, 3, NULL, SHMEM_CMP_EQ, {V}) == 0); CHECK({F}(w, 1, none, SHMEM_CMP_NE, {V}) == 1);",
    "wait_until_any": "{W} CHECK({F}(w, 3, not_0, SHMEM_CMP_EQ, {V}) == 2);"
    " CHECK({F}(w, 1, none, SHMEM_CMP_EQ, {V}) == SIZE_MAX);",
    "test_any": "{W} CHECK({F}(w, 3, not_0, SHMEM_CMP_EQ, {V}) == 2);"
    " CHECK({F}(w, 3, NULL, SHMEM_CMP_GT, {V}) == SIZE_MAX);",
    "wait_until_some": "{W} size_t found[3]; CHECK({F}(w, 3, found, NULL, SHMEM_CMP_EQ, {V}) == 2);"
    " CHECK(found[0] == 0 && found[1] == 2);",
    "test_some": "{W} size_t found[3]; CHECK({F}(w, 3, found, NULL, SHMEM_CMP_EQ, {V}) == 2);"
    " CHECK(found[0] == 0 && found[1] == 2); CHECK({F}(w, 3, found, NULL, SHMEM_CMP_GT, {V}) == 0);",
}
_THREE_WORDS = "{T} *w = ({T} *)to; w[0] = w[2] = 5; const {T} values[3] = {5, 1, 5}; (void)values;"
# tests/every.h: which words are left out.
# {X}: the team; {S}: what stands behind, the active set and its work array.
_COLLECTIVES = {
    "alltoall": "{F}({X}({T} *)to, (const {T} *)from, 2{S}); for (int pe = 0; pe < pes; ++pe)"
    " expect_bytes(to + (size_t)pe * 2 * {B}, pe, (size_t)me * 2 * {B}, 2 * {B});",
    "alltoalls": "{F}({X}({T} *)to, (const {T} *)from, 2, 3, 2{S});"
    " for (int pe = 0; pe < pes; ++pe) for (int i = 0; i < 2; ++i)"
    " expect_bytes(to + (size_t)(2 * pe + i) * 2 * {B}, pe, (size_t)(2 * me + i) * 3 * {B}, {B});",
    "broadcast": "{F}({X}({T} *)to, (const {T} *)from, 3, 1{S});"
    " if (me != 1 || {I}) expect_bytes(to, 1, 0, 3 * {B}); else expect_zero(to, 3 * {B});",
    "collect": "{F}({X}({T} *)to, (const {T} *)from, (size_t)me + 1{S}); size_t at = 0;"
    " for (int pe = 0; pe < pes; ++pe) { const size_t length = ((size_t)pe + 1) * {B};"
    " expect_bytes(to + at, pe, 0, length); at += length; }",
    "fcollect": "{F}({X}({T} *)to, (const {T} *)from, 2{S});"
    " for (int pe = 0; pe < pes; ++pe) expect_bytes(to + (size_t)pe * 2 * {B}, pe, 0, 2 * {B});",
}
# PE p gives p + 2 + i for element i: how two are combined, the first value, and whose take part.
_REDUCTIONS = {
    "and_reduce": ("e & v", "(~({T})0)", "pes"),
    "or_reduce": ("e | v", "0", "pes"), "xor_reduce": ("e ^ v", "0", "pes"),
    "max_reduce": ("e > v ? e : v", "0", "pes"), "min_reduce": ("e < v ? e : v", "100", "pes"),
    "sum_reduce": ("e + v", "0", "pes"), "prod_reduce": ("e * v", "1", "pes"),
    "sum_inscan": ("e + v", "0", "me + 1"), "sum_exscan": ("e + v", "0", "me"),
}  # fmt: skip
_VALUES = "{T} *s = ({T} *)from; {T} *d = ({T} *)to; for (int i = 0; i < 3; ++i) s[i] = ({T})(me + 2 + i);"
_EXPECTED = (
    "for (int i = 0; i < 3; ++i) { {T} e = ({T}){0}; for (int pe = 0; pe < {1}; ++pe) {"
    " const {T} v = ({T})(pe + 2 + i); e = ({T})({2}); } CHECK(d[i] == e); }"
)

_NAME = re.compile(rf"shmem_(ctx_)?(?:({'|'.join(types.C_TYPES)})_)?(\w+)")
_SIZE = re.compile(r"(.*?)(8|16|32|64|128|mem)(_signal|_nbi|_signal_nbi|)")


def _reduction(op: str, call: str) -> str:
    combine, first, whose = _REDUCTIONS[op]
    return " ".join(
        (_VALUES, call, _EXPECTED.replace("{0}", first).replace("{1}", whose).replace("{2}", combine))
    )  # fmt: skip


def _of_atomic(op: str) -> str | None:
    """The check of an atomic, or None if it is none."""
    bare = op.removeprefix("atomic_")
    name = _OLD_ATOMICS.get(op) or bare.removesuffix("_nbi")
    if name not in _ATOMICS or (bare == op and op not in _OLD_ATOMICS):
        return None
    arguments, after = _ATOMICS[name]
    begin = "*({T} *)to = ({T})6; shmem_barrier_all(); "
    if bare.endswith("_nbi"):
        call = f"{{F}}({{X}}({{T}} *)local, ({{T}} *)to{arguments}, right); finish({{C}}); CHECK(*({{T}} *)local == 6);"
    elif name in ("set", "inc", "add", "and", "or", "xor"):
        call = f"{{F}}({{X}}({{T}} *)to{arguments}, right); finish({{C}});"
    else:
        call = f"CHECK({{F}}({{X}}({{T}} *)to{arguments}, right) == 6); finish({{C}});"
    return f"{begin}{call} CHECK(*({{T}} *)to == {after});"


def _of_collective(op: str, function: Function) -> str | None:
    if op in _COLLECTIVES:
        text = _COLLECTIVES[op]
        if function.deprecated:
            return text.replace("{X}", "").replace("{S}", ", 0, 0, pes, work").replace("{I}", "0")
        return text.replace("{X}", "SHMEM_TEAM_WORLD, ").replace("{S}", "").replace("{I}", "1")
    if op in _REDUCTIONS:
        return _reduction(op, "CHECK({F}(SHMEM_TEAM_WORLD, d, s, 3) == 0);")
    if op.endswith("_to_all"):
        call = "{F}(d, s, 3, 0, 0, pes, ({T} *)local, work);"
        return _reduction(op.replace("_to_all", "_reduce"), call)
    return None


def _check(function: Function, op: str) -> str | None:
    """The text of a function's check, or None if tests/library.c has to call it."""
    text = _of_collective(op, function)
    if text is None:
        text = _of_atomic(op) or _MOVES.get(op) or _WORDS.get(op) or _WAITS.get(op.removesuffix("_vector"))
    value = "values" if op.endswith("_vector") else "({T})5"
    return text and text.replace("{W}", _THREE_WORDS).replace("{V}", value)


def _parts(function: Function) -> tuple[str, str, str, str]:
    """Name of the operation, C type, its name, bytes of an element."""
    match = _NAME.fullmatch(function.name)
    if match is None:
        return function.name, "", "", ""
    type_name, op = match[2] or "", match[3]
    if type_name:
        return op, types.C_TYPES[type_name], type_name, f"sizeof({types.C_TYPES[type_name]})"
    sized = _SIZE.fullmatch(op)
    if sized:
        size = "1" if sized[2] == "mem" else str(int(sized[2]) // 8)
        return sized[1] + sized[3], "void", "", f"(size_t){size}"
    return op, "long", "long", "sizeof(long)"


def _test(number: int, function: Function, generic: str) -> str | None:
    op, c_type, type_name, size = _parts(function)
    text = _check(function, op)
    if text is None:
        return None
    context = function.name.startswith("shmem_ctx_")
    called = f"CALL({function.name}, {generic or function.name})"
    for place, filler in (
        ("{F}", called), ("{X}", "ctx, " if context else ""), ("{C}", "ctx" if context else "SHMEM_CTX_DEFAULT"),
        ("{T}", c_type), ("{N}", type_name), ("{B}", size),
    ):  # fmt: skip
        text = text.replace(place, filler)
    lines = text.replace("; ", ";\n  ")
    return f'static void test_{number}(void) {{\n  begin("{function.name}");\n  {lines}\n}}\n'


def _generics(table: Table) -> dict[str, str]:
    """Names of functions -> of the generic selections that choose them."""
    names: dict[str, str] = {}
    for generic in table.generics:
        for each in generic.group:
            names[f"shmem_{each}{generic.suffix}"] = generic.name
            if generic.context:
                names[f"shmem_ctx_{each}{generic.suffix}"] = generic.name
    return names | {f"shmem_ctx_signal_{verb}": f"shmem_signal_{verb}" for verb in ("set", "add")}


def tests(table: Table, library: Path) -> dict[str, str]:
    """Names and texts of the files: every_CHAPTER.c, and every_list.h, which lists them."""
    generics = _generics(table)
    by_hand = library.read_text()
    files = {}
    counts = []
    for chapter in chapters(table):
        parts: list[str] = []
        for function in table.functions:
            if function.chapter != chapter:
                continue
            test = _test(len(parts), function, generics.get(function.name, ""))
            if test is not None:
                parts.append(test)
            elif not re.search(rf"\bCALL\({function.name},", by_hand):
                raise SystemExit(f"no test calls {function.name}(): add one to {library}")
        name = chapter.lower().replace(" ", "_").replace("-", "_")
        calls = "\n".join(f"  test_{i}();" for i in range(len(parts)))
        head = '// SPDX-License-Identifier: BSD-3-Clause\n#include "every.h"\n'
        if parts:
            files[f"every_{name}.c"] = f"{head}\n{chr(10).join(parts)}\nvoid every_{name}(void) {{\n{calls}\n}}\n"
            counts.append(f"EVERY({name})")
    files["every_list.h"] = "\n".join(counts) + "\n"
    return files
