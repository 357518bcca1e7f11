"""The specification: every instruction of the tensor language, its text format and its restrictions.

`TILE_LANGUAGE` is all of it as a value; importing any file of this room imports the whole language.
"""

from girih.ops.tile import (
    arith,
    builtin,
    control,
    coopmatrix,
    coopmatrix_regions,
    coopmatrix_tensor,
    function,
    function_calls,
    linalg,
    math,
    memory,
    subgroup,
    tensor_known,
    tensor_layout,
    tensor_map,
)
from girih.ops.tile.language import TILE

TILE_LANGUAGE = TILE.finish("girih.ops.tile.TILE_LANGUAGE")
"""The tensor language (003, with what 000 and 001 add to it)."""

__all__ = [
    "TILE_LANGUAGE",
    "arith",
    "builtin",
    "control",
    "coopmatrix",
    "coopmatrix_regions",
    "coopmatrix_tensor",
    "function",
    "function_calls",
    "linalg",
    "math",
    "memory",
    "subgroup",
    "tensor_known",
    "tensor_layout",
    "tensor_map",
]
