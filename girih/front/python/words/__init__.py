"""From words to instructions: one file for each file of `girih.ops.tile`, and the table of all lowerings.

Importing the room fills the table.
"""

from girih.front.python.words import (
    arith,
    builtin,
    control,
    coopmatrix,
    coopmatrix_regions,
    coopmatrix_tensor,
    linalg,
    math,
    memory,
    subgroup,
    tensor_layout,
    tensor_map,
)
from girih.front.python.words.table import LOWERINGS

__all__ = [
    "WORDS",
    "arith",
    "builtin",
    "control",
    "coopmatrix",
    "coopmatrix_regions",
    "coopmatrix_tensor",
    "linalg",
    "math",
    "memory",
    "subgroup",
    "tensor_layout",
    "tensor_map",
]

WORDS = LOWERINGS
"""The lowerings by word."""
