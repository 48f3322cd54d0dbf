# SPDX-License-Identifier: BSD-3-Clause
"""The types of OpenSHMEM 1.6 and the groups of them for which operations exist: tables 5 to 12 of the specification.

A type's name is the part of a function's name (`shmem_longlong_put`); its C type is that of the arguments.
"""

C_TYPES = {
    "float": "float", "double": "double", "longdouble": "long double",
    "char": "char", "schar": "signed char", "short": "short", "int": "int", "long": "long", "longlong": "long long",
    "uchar": "unsigned char", "ushort": "unsigned short", "uint": "unsigned int", "ulong": "unsigned long",
    "ulonglong": "unsigned long long",
    "int8": "int8_t", "int16": "int16_t", "int32": "int32_t", "int64": "int64_t",
    "uint8": "uint8_t", "uint16": "uint16_t", "uint32": "uint32_t", "uint64": "uint64_t",
    "size": "size_t", "ptrdiff": "ptrdiff_t",
    "complexf": "float _Complex", "complexd": "double _Complex",
}  # fmt: skip

# Names of types that have another name too, where `long` has 64 bits: a generic selection may name a type once.
SAME_AS = {
    "int8": "schar", "int16": "short", "int32": "int", "int64": "long",
    "uint8": "uchar", "uint16": "ushort", "uint32": "uint", "uint64": "ulong", "size": "ulong", "ptrdiff": "long",
}  # fmt: skip

RMA = [name for name in C_TYPES if not name.startswith("complex")]
AMO = [
    "int", "long", "longlong", "uint", "ulong", "ulonglong", "int32", "int64", "uint32", "uint64", "size", "ptrdiff",
]  # fmt: skip
AMO_EXTENDED = [*AMO, "float", "double"]
AMO_BITWISE = ["uint", "ulong", "ulonglong", "int32", "int64", "uint32", "uint64"]
SYNC = [*AMO, "short", "ushort"]  # the last two are deprecated
REDUCE_BITWISE = [
    "uchar", "ushort", "uint", "ulong", "ulonglong", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
    "uint64", "size",
]  # fmt: skip
REDUCE_ORDERED = RMA
REDUCE_ARITHMETIC = [*RMA, "complexf", "complexd"]

# Types that the deprecated functions have.
OLD_AMO = ["int", "long", "longlong"]
OLD_AMO_EXTENDED = [*OLD_AMO, "float", "double"]
OLD_WAIT = ["short", "int", "long", "longlong"]
OLD_BITWISE = ["short", "int", "long", "longlong"]
OLD_ORDERED = [*OLD_BITWISE, "float", "double", "longdouble"]
OLD_ARITHMETIC = [*OLD_ORDERED, "complexf", "complexd"]

SIZES = [8, 16, 32, 64, 128]

# What the core calls the type of a reduction.
REDUCTION_TYPES = {
    "float": "OMPL_FLOAT", "double": "OMPL_DOUBLE", "longdouble": "kLongDouble",
    "complexf": "OMPL_FLOAT_COMPLEX", "complexd": "OMPL_DOUBLE_COMPLEX",
}  # fmt: skip


def distinct(names: list[str]) -> list[str]:
    """The names of a group, each C type once."""
    kept: list[str] = []
    for name in names:
        canonical = SAME_AS.get(name, name)
        if canonical in names:
            name = canonical
        if name not in kept and not any(SAME_AS.get(other, other) == canonical for other in kept):
            kept.append(name)
    return kept
