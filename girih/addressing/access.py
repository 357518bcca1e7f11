"""`Access`: what one load or store of a tile touches, element by element; the common answer of every address model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from girih.addressing.display import Drawn
from girih.addressing.errors import RuleReport, rule

Number = TypeVar("Number", bound=np.generic)


class Kind(IntEnum):
    """What happens to one element of the tile; the codes of `Access.kind`."""

    IN_BOUNDS = 0
    FILLED = 1
    CLAMPED = 2
    SKIPPED = 3
    DISCARDED = 4
    UNDEFINED = 5

    @property
    def word(self) -> str:
        """The name as written in pictures and JSON: `in_bounds`."""
        return self.name.lower()


MOST_ELEMENTS = 1 << 28
"""How many elements an access lists at most; its arrays take 13 bytes and more per element."""
TOO_MANY = rule("access.elements", "an access lists at most 2^28 elements", "girih")


def check_count(report: RuleReport, shape: Sequence[int]) -> None:
    """Note a tile with more elements than an access lists; raises then."""
    if math.prod(shape) > MOST_ELEMENTS:
        times = " x ".join(str(size) for size in shape) + " = " if len(shape) > 1 else ""
        message = f"the tile has {times}{math.prod(shape)} elements, an access lists at most 2^28"
        report.add(TOO_MANY, message, "take the access of a part")
    report.done()


def read_only(array: NDArray[Number]) -> NDArray[Number]:
    """The same elements, which cannot be written through what is returned."""
    view = array.view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True, eq=False)
class Access(Drawn):
    """Which memory element, or which fill, or nothing, each element of a tile stands for.

    The tile has any shape; a cooperative matrix is `[rows, columns]`. Arrays are read-only.

    - `element`: int64, the shape of the tile: index of the memory element (or block) from the base; -1 where none.
    - `kind`: uint8, the shape of the tile, codes of `Kind`: `in_bounds` (read or written), `clamped` (read from a moved
      coordinate), `filled` (a load gives `fill`), `skipped` (a load leaves the old value, a store does nothing),
      `discarded` (a store that is dropped), `undefined` (the specification says nothing; executing it is an error).
    - `fill`: the bit pattern of filled elements; the low bits count.
    - `block` and `within`, worked out when first asked for by calling `places`.
    """

    element: NDArray[np.int64]
    kind: NDArray[np.uint8]
    fill: int = 0
    places: Callable[[], tuple[NDArray[np.int32], NDArray[np.int32]]] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "element", read_only(self.element))
        object.__setattr__(self, "kind", read_only(self.kind))

    @cached_property
    def _places(self) -> tuple[NDArray[np.int32] | None, NDArray[np.int32] | None]:
        if self.places is None:
            return None, None
        block, within = self.places()
        return read_only(block), read_only(within)

    @property
    def block(self) -> NDArray[np.int32] | None:
        """The block coordinates, `[*tile, dimensions]`, outermost dimension first; -1 where there is no element.

        None for models without blocks.
        """
        return self._places[0]

    @property
    def within(self) -> NDArray[np.int32] | None:
        """The coordinates inside the blocks, as `block`."""
        return self._places[1]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tile."""
        return self.element.shape

    @property
    def words(self) -> NDArray[np.str_]:
        """`kind` in words, for reading and printing."""
        return np.array([kind.word for kind in Kind])[self.kind]

    def counts(self) -> dict[str, int]:
        """How many elements there are of each kind that occurs, by its word."""
        numbers = np.bincount(self.kind.reshape(-1), minlength=len(Kind))
        return {kind.word: int(numbers[kind]) for kind in Kind if numbers[kind]}

    def is_kind(self, *kinds: Kind) -> NDArray[np.bool_]:
        """Where the kind is one of `kinds`, the shape of the tile."""
        wanted = np.zeros(len(Kind), np.bool_)
        wanted[list(kinds)] = True
        return wanted[self.kind]

    def aliased(self) -> NDArray[np.int64]:
        """The memory elements that more than one element of the tile stands for, ascending."""
        elements = np.sort(self.element[self.element >= 0], axis=None)
        return np.unique(elements[1:][elements[1:] == elements[:-1]])
