"""`Drawn`: address models show themselves as pictures in notebooks.

This is the one dependency of this package on `girih.draw`, which makes the pictures and knows the models: a notebook
asks the object itself for its picture. The module is loaded by name, when a notebook asks and not before, so that
`girih.addressing` stays importable with NumPy alone.
"""

from __future__ import annotations

from importlib import import_module


class Drawn:
    """A model with a picture; it adds no fields."""

    __slots__ = ()

    def _repr_svg_(self) -> str | None:
        """The picture as SVG; None for a model without a picture, of which a notebook shows the text."""
        try:
            return str(import_module("girih.draw").svg(self))
        except Exception:
            # A cell of a notebook must not fail for want of a picture; `girih.draw.svg` says what is wrong.
            return None
