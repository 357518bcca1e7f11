"""Matrices of collective instructions as lines of neighbours in memory, which instructions of devices ask for."""

from __future__ import annotations

from dataclasses import dataclass

from girih.back.llvm.emit.text import Operand
from girih.back.llvm.lower.collective.views import View


@dataclass(frozen=True, slots=True)
class LineMatrix:
    """A matrix whose rows, or columns where it is `turned`, are lines of neighbours."""

    view: View
    turned: bool

    @property
    def count(self) -> Operand:
        """How many lines there are."""
        return self.view.shape[1 if self.turned else 0]

    @property
    def length(self) -> Operand:
        """How many elements a line has."""
        return self.view.shape[0 if self.turned else 1]

    @property
    def distance(self) -> Operand:
        """The elements from one line to the next."""
        return self.view.strides[1 if self.turned else 0]

    @property
    def surely_apart(self) -> bool:
        """Whether it is known that no line begins before the one before it ends."""
        few = isinstance(self.count, int) and self.count <= 1
        known = isinstance(self.distance, int) and isinstance(self.length, int)
        return few or (known and not self._overlaps)

    @property
    def _overlaps(self) -> bool:
        distance, length = self.distance, self.length
        several = not isinstance(self.count, int) or self.count > 1
        return several and isinstance(distance, int) and isinstance(length, int) and distance < length


def line_matrix(view: View) -> LineMatrix | None:
    """A matrix by its lines; None where no elements are known to be neighbours, or where lines overlap."""
    both = (LineMatrix(view, False), LineMatrix(view, True))
    suitable = [one for one in both if view.strides[0 if one.turned else 1] == 1 and not one._overlaps]
    return next((one for one in suitable if one.surely_apart), suitable[0] if suitable else None)
