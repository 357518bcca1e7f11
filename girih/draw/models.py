"""The picture of each model: the table from its type to the function that draws it, and to the options that it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from girih.addressing import (
    Access,
    BlockedInterleaved,
    ConvolutionPlan,
    LayoutTile,
    MapTile,
    SharedImage,
    Strided,
    Swizzle,
    TensorLayout,
    TensorMap,
    TensorView,
)
from girih.draw.accesses import access_picture, strided_picture
from girih.draw.blocked import blocked_picture
from girih.draw.layouts import layout_picture, layout_tile_picture, view_picture
from girih.draw.options import Limits, checked
from girih.draw.picture import DrawingError, Picture
from girih.draw.shared import shared_image_picture, swizzle_picture
from girih.draw.tensor_maps import map_tile_picture, plan_picture, tensor_map_picture


def picture(model: object, options: Mapping[str, object], limits: Limits) -> Picture:
    """The picture of a model. Raises `DrawingError` for another type, and for options that the model does not have."""
    choices = checked(options)
    for kind, (make, understood) in _MAKERS.items():
        if isinstance(model, kind):
            for name in choices.given():
                if name not in understood:
                    raise DrawingError(
                        f"{name} says nothing about a {kind.__name__}; it takes {', '.join(understood) or 'no options'}"
                    )
            return make(model, choices, limits)
    names = ", ".join(kind.__name__ for kind in _MAKERS)
    raise DrawingError(f"a {type(model).__name__} has no picture; draw one of {names}")


_TILE = ("window", "panels", "memory_columns")
_MAKERS: dict[type, tuple[Callable[[Any, Any, Limits], Picture], tuple[str, ...]]] = {
    TensorLayout: (layout_picture, ("rows", "columns", "view", "store", *_TILE)),
    LayoutTile: (layout_tile_picture, ("store", *_TILE)),
    TensorView: (view_picture, ("rows", "columns", *_TILE)),
    BlockedInterleaved: (blocked_picture, _TILE),
    TensorMap: (tensor_map_picture, ("coordinates", "offsets", "shared_address", "store", *_TILE)),
    MapTile: (map_tile_picture, ("shared_address", "store", *_TILE)),
    ConvolutionPlan: (plan_picture, ("shared_address", *_TILE)),
    SharedImage: (shared_image_picture, ()),
    Swizzle: (swizzle_picture, ("row_bytes",)),
    Strided: (strided_picture, _TILE),
    Access: (access_picture, _TILE),
}
"""For each model the function that makes its picture, and the options that it understands."""
