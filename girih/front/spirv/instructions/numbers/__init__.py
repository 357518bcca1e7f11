"""The translations of instructions on numbers, a file for each family: importing this room fills the tables.

What the device language has is one instruction a component; the rest is composed here, of operations that each round
once, in the order in which the specification writes them.
"""

from girih.front.spirv.instructions.numbers import (
    arithmetic,
    bits,
    conversions,
    dots,
    functions,
    geometry,
    linear,
    packing,
    relations,
)

__all__ = [
    "arithmetic",
    "bits",
    "conversions",
    "dots",
    "functions",
    "geometry",
    "linear",
    "packing",
    "relations",
]
