"""The meaning of the device language (`girih.ops.device`): importing this room fills MEANINGS."""

from girih.interpreter.device import (
    addresses,
    atomics,
    barriers,
    bits,
    built_ins,
    control,
    floats,
    functions,
    integers,
    matrices,
    memory,
    private,
    subgroup,
    tables,
    views,
)

__all__ = [
    "addresses",
    "atomics",
    "barriers",
    "bits",
    "built_ins",
    "control",
    "floats",
    "functions",
    "integers",
    "matrices",
    "memory",
    "private",
    "subgroup",
    "tables",
    "views",
]
