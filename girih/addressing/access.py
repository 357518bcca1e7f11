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
    """The codes of `Access.kind`, each what a load or store does with one element of its tile."""

    IN_BOUNDS = 0
    FILLED = 1
    CLAMPED = 2
    SKIPPED = 3
    DISCARDED = 4
    UNDEFINED = 5

    @property
    def word(self) -> str:
        """The name as pictures and JSON write it: `in_bounds`."""
        return self.name.lower()


MOST_ELEMENTS = 1 << 28
"""The most elements that an access lists; its arrays take 13 bytes and more per element."""
TOO_MANY = rule("access.elements", "an access lists at most 2^28 elements", "girih")


def check_count(report: RuleReport, shape: Sequence[int]) -> None:
    """Raise `AddressingError` for what `report` has already, and for a tile with more elements than an access lists."""
    if math.prod(shape) > MOST_ELEMENTS:
        times = " x ".join(str(size) for size in shape) + " = " if len(shape) > 1 else ""
        message = f"the tile has {times}{math.prod(shape)} elements, an access lists at most 2^28"
        report.add(TOO_MANY, message, "take the access of a part")
    report.done()


def read_only(array: NDArray[Number]) -> NDArray[Number]:
    """A view of the array through which its elements cannot be written."""
    view = array.view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True, eq=False)
class Access(Drawn):
    """The elements of a tile, each with the memory element or the fill that it stands for, or with neither.

    The tile has any shape; a cooperative matrix is `[rows, columns]`. Arrays are read-only.

    - `element`: int64, the shape of the tile: index of the memory element (or block) from the base; -1 where none.
    - `kind`: uint8, the shape of the tile, codes of `Kind`: `in_bounds` (read or written), `clamped` (read from a moved
      coordinate), `filled` (a load gives `fill`), `skipped` (a load leaves the old value, a store does nothing),
      `discarded` (a store that is dropped), `undefined` (the specification says nothing; executing it is an error).
    - `fill`: the bit pattern of filled elements; the low bits count.
    - `places`: a function that gives `block` and `within`, called when one of them is first asked for; None for models
      without blocks.
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
        """The coordinates of each element's block: int32 `[*tile, dimensions]`, outermost first, -1 without an element.

        None for models without blocks.
        """
        return self._places[0]

    @property
    def within(self) -> NDArray[np.int32] | None:
        """The coordinates of each element inside its block: int32 `[*tile, dimensions]`, outermost first, or -1.

        None for models without blocks.
        """
        return self._places[1]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tile."""
        return self.element.shape

    @property
    def words(self) -> NDArray[np.str_]:
        """The words of `kind`, such as `in_bounds`, an array of the shape of the tile."""
        return np.array([kind.word for kind in Kind])[self.kind]

    def counts(self) -> dict[str, int]:
        """The number of elements of each kind that occurs, by the word of the kind."""
        numbers = np.bincount(self.kind.reshape(-1), minlength=len(Kind))
        return {kind.word: int(numbers[kind]) for kind in Kind if numbers[kind]}

    def is_kind(self, *kinds: Kind) -> NDArray[np.bool_]:
        """A bool array of the shape of the tile: true for the elements whose kind is one of `kinds`."""
        wanted = np.zeros(len(Kind), np.bool_)
        wanted[list(kinds)] = True
        return wanted[self.kind]

    def aliased(self) -> NDArray[np.int64]:
        """The memory elements that more than one element of the tile stands for: int64, ascending, each once."""
        elements = np.sort(self.element[self.element >= 0], axis=None)
        return np.unique(elements[1:][elements[1:] == elements[:-1]])
