"""Private arrays: an element for each index and each work-item, or a matrix for each index and all who hold it.

As long as all indices are the same for all work-items, an element is a value of its own; then all elements become one
array. An element is undefined until it is written.
"""

from __future__ import annotations

import numpy as np

from girih.interpreter.machine.holders import of_components
from girih.interpreter.machine.values import Array, Mask
from girih.ir.types import CoopMatrix
from girih.lazy_dataclass import dataclass

_EVERYBODY: Mask = np.ones((1, 1, 1), np.bool_)
_NOBODY: Mask = np.zeros((1, 1, 1), np.bool_)


@dataclass(slots=True, eq=False)
class PrivateArrayValue:
    """A private array. Elements are arrays like scalar or matrix values, of matrices of a type `matrix`.

    `shape` are the work-groups, subgroups and lanes of the machine.

    `elements` has them one by one and `undefined` for whom each is undefined, None for no one, until an index differs
    between work-items: then `table` and `undefined_table` have them with a leading axis for the index.
    """

    shape: tuple[int, int, int]
    matrix: CoopMatrix | None
    elements: list[Array]
    undefined: list[Mask | None]
    table: Array | None = None
    undefined_table: Array | None = None

    @staticmethod
    def of(size: int, zero: Array, shape: tuple[int, int, int], matrix: CoopMatrix | None) -> PrivateArrayValue:
        """An array of elements that are undefined, and `zero` where they are read."""
        return PrivateArrayValue(shape, matrix, [zero] * size, [_EVERYBODY] * size)

    @property
    def size(self) -> int:
        """The number of elements."""
        return len(self.elements)

    def load(self, index: int | Array) -> tuple[Array, Mask | None]:
        """The element of an index, and for whom it is undefined, None for no one.

        An index that is an array is like a scalar value, and inside.
        """
        if self.table is None and isinstance(index, int):
            return self.elements[index], self.undefined[index]
        table, undefined = self._as_table()
        if isinstance(index, int):
            return table[index].copy(), None if undefined is None else undefined[index].copy()
        found = np.take_along_axis(table, self._places(index, table), axis=0)[0]
        if undefined is None:
            return found, None
        return found, np.take_along_axis(undefined, self._places(index, undefined), axis=0)[0]

    def store(self, index: int | Array, value: Array, mask: Mask | None, undefined: Mask | None) -> None:
        """Replace the element of an index for the work-items of a mask; `undefined` says for whom it is undefined."""
        if self.table is None and isinstance(index, int):
            old, left = self.elements[index], self.undefined[index]
            self.elements[index] = value if mask is None else np.where(self._of_element(mask), value, old)
            if mask is not None and (left is not None or undefined is not None):
                undefined = np.where(self._of_entry(mask), _or_nobody(undefined), _or_nobody(left))
            self.undefined[index] = undefined if undefined is not None and undefined.any() else None
            return
        table, missing = self._as_table()
        self._replace(table, index, value, None if mask is None else self._of_element(mask))
        if missing is None and undefined is not None:
            missing = self.undefined_table = np.zeros((self.size, *self._entries), np.bool_)
        if missing is not None:
            self._replace(missing, index, _or_nobody(undefined), None if mask is None else self._of_entry(mask))
            self.undefined_table = missing if missing.any() else None

    def joined(self, mine: Mask, other: PrivateArrayValue) -> PrivateArrayValue:
        """The array that is this one for the work-items of a mask, and another one for the rest."""
        table, undefined = self._as_table()
        old, left = other._as_table()
        whole = np.where(self._of_element(mine), table, old)
        mine = self._of_entry(mine)
        missing = np.where(mine, False if undefined is None else undefined, False if left is None else left)
        kept = missing if missing.any() else None
        return PrivateArrayValue(self.shape, self.matrix, self.elements, self.undefined, whole, kept)

    @property
    def _entries(self) -> tuple[int, int, int]:
        """The full size of the mask of those for whom an element is undefined: those who hold a matrix are one."""
        groups, subgroups, lanes = self.shape
        if self.matrix is None:
            return groups, subgroups, lanes
        return groups, 1 if self.matrix.of_work_group else subgroups, 1

    def _of_entry(self, mask: Mask) -> Mask:
        """A mask of work-items as one of those who hold an element."""
        if self.matrix is None:
            return mask
        held: Mask = np.any(mask, axis=(1, 2) if self.matrix.of_work_group else 2, keepdims=True)
        return held

    def _of_element(self, mask: Mask) -> Mask:
        """A mask of work-items as one of what they hold of an element."""
        return mask if self.matrix is None else of_components(mask, self.matrix, *self.shape[1:])

    def _as_table(self) -> tuple[Array, Array | None]:
        if self.table is None:
            entries = self._entries
            shape = entries if self.matrix is None else (*entries[:2], *self.matrix.shape)
            self.table = np.stack([np.broadcast_to(element, shape) for element in self.elements])
            if any(mask is not None for mask in self.undefined):
                self.undefined_table = np.stack([np.broadcast_to(_or_nobody(mask), entries) for mask in self.undefined])
        return self.table, self.undefined_table

    def _places(self, index: Array, table: Array) -> Array:
        """The index, in the shape in which the entries of a table are picked."""
        picked = index if index.ndim == table.ndim - 1 else index[..., None]
        return np.broadcast_to(picked, table.shape[1:])[None]

    def _replace(self, table: Array, index: int | Array, value: Array, mask: Mask | None) -> None:
        if isinstance(index, int):
            table[index] = value if mask is None else np.where(mask, value, table[index])
            return
        places = self._places(index, table)
        if mask is not None:
            value = np.where(mask, value, np.take_along_axis(table, places, axis=0)[0])
        np.put_along_axis(table, places, np.broadcast_to(value, table.shape[1:])[None], axis=0)


def _or_nobody(mask: Mask | None) -> Mask:
    return _NOBODY if mask is None else mask
