"""`Drawn`: address models show themselves as pictures in notebooks.

This is the one arrow out of this package: a notebook asks the object itself for its picture, and the pictures are made
in `girih.draw`, which knows the models. The module is loaded by name, when a notebook asks and not before, so that
`girih.addressing` stays importable with NumPy alone.
"""

from __future__ import annotations

from importlib import import_module


class Drawn:
    """A model with a picture; it adds no fields."""

    __slots__ = ()

    def _repr_svg_(self) -> str | None:
        """The picture as SVG; None, whereupon a notebook shows the text, for a model without a picture."""
        try:
            return str(import_module("girih.draw").svg(self))
        except Exception:
            # Whatever it is, a cell that ends in a model is no place to stop at; `girih.draw.svg` says what is wrong.
            return None
