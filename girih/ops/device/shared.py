"""What the device language shares with the tensor language: numbers, matrices, layouts, views, local memory."""

from __future__ import annotations

from girih.ops.device.language import DEVICE
from girih.ops.tile import TILE_LANGUAGE

_NUMBERS = """
    add sub mul div max min and or xor abs neg not equal not_equal greater_than greater_than_equal less_than
    less_than_equal cast bitcast select constant sqrt rsqrt fma
"""
_PLACES = "group_id num_groups subgroup_size subgroup_linear_id subgroup_local_id num_subgroups"
_MEMORY = "alloca parallel size load yield"
_MATRICES = """
    cooperative_matrix_load cooperative_matrix_store cooperative_matrix_construct cooperative_matrix_extract
    cooperative_matrix_insert cooperative_matrix_mul_add cooperative_matrix_scale cooperative_matrix_transpose
    cooperative_matrix_apply cooperative_matrix_combine cooperative_matrix_load_tensor cooperative_matrix_store_tensor
    cooperative_matrix_load_blocked_interleaved cooperative_matrix_store_blocked_interleaved
"""
_LAYOUTS = """
    tensor_layout_create tensor_layout_set_block_size tensor_layout_set_dimension tensor_layout_set_stride
    tensor_layout_slice tensor_layout_set_clamp_value tensor_view_create tensor_view_set_dimension
    tensor_view_set_stride tensor_view_set_clip
"""

for _words in (_NUMBERS, _PLACES, _MEMORY, _MATRICES, _LAYOUTS):
    DEVICE.share(TILE_LANGUAGE, *(TILE_LANGUAGE.ops[name] for name in _words.split()))
DEVICE.share(TILE_LANGUAGE, "func", "parameter", "type")
