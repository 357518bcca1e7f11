"""What the device language shares with the tensor language: numbers, local memory, places.

Matrices, layouts and views, and what else stands in regions over components, are shared by `matrices`.
"""

from __future__ import annotations

from girih.ops.device.language import DEVICE
from girih.ops.tile import TILE_LANGUAGE

_NUMBERS = """
    add sub mul div max min and or xor abs neg not equal not_equal greater_than greater_than_equal less_than
    less_than_equal cast select constant sqrt rsqrt fma rem sin cos tanh exp exp2 log log2 pow
"""
_PLACES = "group_id num_groups subgroup_size subgroup_linear_id subgroup_local_id num_subgroups"
_MEMORY = "alloca parallel size load"
for _words in (_NUMBERS, _PLACES, _MEMORY):
    DEVICE.share(TILE_LANGUAGE, *(TILE_LANGUAGE.ops[name] for name in _words.split()))
DEVICE.share(TILE_LANGUAGE, "func", without=["subgroup_size", "work_group_multiple"])
DEVICE.share(TILE_LANGUAGE, "parameter", "type")
