"""The device language: the instructions that compute shaders need beside those of the tensor language.

`DEVICE_LANGUAGE` is all of it as a value; importing any file of this room imports the whole language.
"""

from girih.ops.device import (
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
    shared,
    subgroup,
    tables,
)
from girih.ops.device.language import DEVICE

DEVICE_LANGUAGE = DEVICE.finish("girih.ops.device.DEVICE_LANGUAGE")
"""The device language (SPIR-V 1.6, with 000, 001 and 002)."""

__all__ = [
    "DEVICE_LANGUAGE",
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
    "shared",
    "subgroup",
    "tables",
]
