"""What programs with tensor copies are made of."""

from __future__ import annotations

from girih.addressing import TensorMap
from girih.arguments.tensor_maps import ELEMENT_TYPES


def number_type(given: TensorMap) -> str:
    """The type of the language that stands for the elements of a map."""
    return next(str(number) for number, names in ELEMENT_TYPES.items() if given.dtype in names)
