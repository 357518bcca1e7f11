"""The meaning of the device language (`girih.ops.device`): importing this room fills MEANINGS."""

from girih.interpreter.device import (
    addresses,
    bits,
    control,
    floats,
    functions,
    integers,
    matrices,
    memory,
    private,
    views,
)

__all__ = [
    "addresses",
    "bits",
    "control",
    "floats",
    "functions",
    "integers",
    "matrices",
    "memory",
    "private",
    "views",
]
