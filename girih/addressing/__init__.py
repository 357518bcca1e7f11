"""Address models: for each element of a tile, which memory element, or which fill, or nothing. NumPy is all it needs.

Every model is a frozen value; an illegal one raises `AddressingError`, which lists every rule that is broken; what is
doubtful about one is listed by `.lints()`. All rules and their sources are in `RULES`; those of tensor maps (004) enter
it when the first of their names is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from girih.addressing.access import Access, Kind
from girih.addressing.blocked_interleaved import BlockedInterleaved
from girih.addressing.convert.models import convert
from girih.addressing.errors import RULES, AddressingError, Rule, Violation
from girih.addressing.layout_tile import LayoutTile
from girih.addressing.load_store import load_tensor, store_tensor
from girih.addressing.strided import Strided
from girih.addressing.tensor_layout import TensorLayout
from girih.addressing.tensor_view import TensorView

_HOME = {
    "BoundTensorMap": "girih.addressing.tensor_map.bound",
    "ConvolutionPlan": "girih.addressing.tensor_map.convolution",
    "MapTile": "girih.addressing.tensor_map.tile",
    "SharedImage": "girih.addressing.tensor_map.shared_image",
    "Swizzle": "girih.addressing.tensor_map.swizzle",
    "TensorMap": "girih.addressing.tensor_map.model",
    "plan_convolution": "girih.addressing.tensor_map.convolution",
}
"""The names that are loaded when they are first used."""

if TYPE_CHECKING:
    from girih.addressing.tensor_map.bound import BoundTensorMap
    from girih.addressing.tensor_map.convolution import ConvolutionPlan, plan_convolution
    from girih.addressing.tensor_map.model import TensorMap
    from girih.addressing.tensor_map.shared_image import SharedImage
    from girih.addressing.tensor_map.swizzle import Swizzle
    from girih.addressing.tensor_map.tile import MapTile

__all__ = [
    "RULES",
    "Access",
    "AddressingError",
    "BlockedInterleaved",
    "BoundTensorMap",
    "ConvolutionPlan",
    "Kind",
    "LayoutTile",
    "MapTile",
    "Rule",
    "SharedImage",
    "Strided",
    "Swizzle",
    "TensorLayout",
    "TensorMap",
    "TensorView",
    "Violation",
    "convert",
    "load_tensor",
    "plan_convolution",
    "store_tensor",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
