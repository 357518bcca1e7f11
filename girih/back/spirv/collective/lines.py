"""Matrices of collective instructions as lines of neighbours in memory, which instructions of devices ask for."""

from __future__ import annotations

from girih.back.llvm.emit.text import Operand
from girih.back.llvm.lower.collective.views import View
from girih.back.spirv.matrix.multiples import MemRefMultiples
from girih.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class CollectiveMatrix:
    """A matrix in memory, and what is known of its place before the kernel runs."""

    view: View
    known: MemRefMultiples

    def turned(self, transpose: bool) -> CollectiveMatrix:
        """The transpose, if asked for."""
        return CollectiveMatrix(self.view.turned(transpose), self.known.turned(transpose))


@dataclass(frozen=True, slots=True)
class LineMatrix:
    """A matrix whose rows, or columns where it is `turned`, are lines of neighbours."""

    matrix: CollectiveMatrix
    turned: bool

    @property
    def count(self) -> Operand:
        """How many lines there are."""
        return self.matrix.view.shape[1 if self.turned else 0]

    @property
    def length(self) -> Operand:
        """How many elements a line has."""
        return self.matrix.view.shape[0 if self.turned else 1]

    @property
    def distance(self) -> Operand:
        """The elements from one line to the next."""
        return self.matrix.view.strides[1 if self.turned else 0]

    @property
    def distance_multiple(self) -> int:
        """The power of two that is known to divide the distance."""
        return self.matrix.known.strides[1 if self.turned else 0]

    @property
    def surely_apart(self) -> bool:
        """Whether it is known that no line begins before the one before it ends."""
        few = isinstance(self.count, int) and self.count <= 1
        known = isinstance(self.distance, int) and isinstance(self.length, int)
        return few or (known and not self.overlaps)

    @property
    def overlaps(self) -> bool:
        """Whether it is known that lines begin before the ones before them end."""
        distance, length = self.distance, self.length
        several = not isinstance(self.count, int) or self.count > 1
        return several and isinstance(distance, int) and isinstance(length, int) and distance < length


def line_matrix(matrix: CollectiveMatrix) -> LineMatrix | None:
    """A matrix by its lines; None where no elements are known to be neighbours, or where lines overlap."""
    both = [LineMatrix(matrix, turned) for turned in (False, True)]
    suitable = [one for one in both if matrix.view.strides[0 if one.turned else 1] == 1 and not one.overlaps]
    return next((one for one in suitable if one.surely_apart), suitable[0] if suitable else None)
