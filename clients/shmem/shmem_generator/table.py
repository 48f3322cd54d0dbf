# SPDX-License-Identifier: BSD-3-Clause
"""The table of the functions of OpenSHMEM 1.6, from which the headers, the definitions and the test are written.

In names, parameters and bodies of a family {T} stands for a C type, {N} for its name, {B} for the bytes of an element,
{R} for what the core calls the type in a reduction, {C} for the context. A body is an expression over the functions of
core/: its value is a code, which ends the job if it is an error, and `&result` is where a result goes. A body that
begins with "=" is the result itself.
"""

from dataclasses import dataclass, field

from shmem_generator import types


@dataclass(frozen=True)
class Function:
    """A function of the specification; it has a pshmem_ name too."""

    name: str
    result: str
    parameters: str  # "void" if there are none
    body: str
    chapter: str
    deprecated: bool = False


@dataclass(frozen=True)
class Generic:
    """A C11 generic selection: shmem_ or shmem_ctx_, the name of an argument's type and `suffix` make the function."""

    name: str
    suffix: str
    group: tuple[str, ...]
    context: bool  # a context may come first
    place: int = 0  # of the argument whose type decides, not counting a context
    qualifier: str = ""  # const or volatile: pointers to such are taken too


def _fill(text: str, name: str) -> str:
    c_type = types.C_TYPES[name]
    reduction = types.REDUCTION_TYPES.get(name, f"integer_type<{c_type}>()")
    for place, filler in (("{N}", name), ("{T}", c_type), ("{B}", f"sizeof({c_type})"), ("{R}", reduction)):
        text = text.replace(place, filler)
    return text


@dataclass
class Table:
    """What families add their functions to."""

    functions: list[Function] = field(default_factory=list)
    generics: list[Generic] = field(default_factory=list)
    chapter: str = ""

    def add(self, name: str, result: str, parameters: str, body: str, deprecated: bool = False) -> None:
        """One function as it is."""
        self.functions.append(Function(f"shmem_{name}", result, parameters, body, self.chapter, deprecated))

    def with_context(self, name: str, result: str, parameters: str, body: str) -> None:
        """The function of the default context, and that of a given one."""
        self.add(name, result, parameters, body.replace("{C}", "SHMEM_CTX_DEFAULT"))
        more = "shmem_ctx_t ctx" if parameters == "void" else f"shmem_ctx_t ctx, {parameters}"
        self.add(f"ctx_{name}", result, more, body.replace("{C}", "ctx"))

    def typed(
        self, group: list[str], name: str, result: str, parameters: str, body: str, *,
        generic: str, context: bool = False, place: int = 0, qualifier: str = "", deprecated: bool = False,
    ) -> None:  # fmt: skip
        """The functions {N}_NAME of the types of a group, and their generic selection, unless its name is empty."""
        for each in group:
            full, filled_result, filled_parameters, filled_body = (
                _fill(text, each) for text in (f"{{N}}_{name}", result, parameters, body)
            )
            if context:
                self.with_context(full, filled_result, filled_parameters, filled_body)
            else:
                self.add(full, filled_result, filled_parameters, filled_body, deprecated)
        if generic:
            self.generics.append(Generic(f"shmem_{generic}", f"_{name}", tuple(group), context, place, qualifier))

    def sized(self, stem: str, suffix: str, parameters: str, body: str) -> None:
        """STEM8 ... STEM128: elements of so many bits."""
        for bits in types.SIZES:
            filled = body.replace("{B}", f"size_t{{{bits // 8}}}")
            self.with_context(f"{stem}{bits}{suffix}", "void", parameters.replace("{T}", "void"), filled)

    def memory(self, stem: str, suffix: str, parameters: str, body: str) -> None:
        """STEMmem: bytes."""
        filled = body.replace("{B}", "size_t{1}")
        self.with_context(f"{stem}mem{suffix}", "void", parameters.replace("{T}", "void"), filled)
