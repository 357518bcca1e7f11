"""The translations of instructions, a file for each family: importing this room fills the table of `handlers`."""

from girih.front.spirv.instructions import (
    atomics,
    barriers,
    composites,
    element_functions,
    matrices,
    memory,
    numbers,
    subgroup,
    tensors,
)

__all__ = [
    "atomics",
    "barriers",
    "composites",
    "element_functions",
    "matrices",
    "memory",
    "numbers",
    "subgroup",
    "tensors",
]
