"""How the threads of a consumer share the components of a matrix."""

from __future__ import annotations

from girih.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Dealt:
    """How some lanes share rows or columns: of each `period` of them, each of the lanes has `each`.

    They are neighbours where they are `adjacent`; otherwise the first `lanes` go to one lane each, and so on.
    """

    lanes: int
    each: int
    adjacent: bool

    @property
    def period(self) -> int:
        """The rows or columns after which the lanes begin again."""
        return self.lanes * self.each

    @property
    def apart(self) -> int:
        """How far the first rows or columns of two neighbouring lanes are apart."""
        return self.each if self.adjacent else 1

    @property
    def step(self) -> int:
        """How far two rows or columns of a lane are apart."""
        return 1 if self.adjacent else self.lanes


@dataclass(frozen=True, slots=True)
class Fragment:
    """Which components of 64 rows the 128 threads of a consumer have: warp w rows 16 w to 16 w + 15, of these lane l
    the rows of number l // columns.lanes, and the columns of number l % columns.lanes."""

    rows: Dealt
    columns: Dealt


PRODUCT_FRAGMENT = Fragment(Dealt(8, 2, adjacent=False), Dealt(4, 2, adjacent=True))
"""Where products of tensor cores leave sums (PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16", matrix D, and
"Matrix Fragments for mma.m16n8k16 with .f64 floating point type", matrix C)."""
