"""Which thread of a warp holds which component of a matrix, in which register: the fragments of `mma` as data.

PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type" and the sections beside it: a thread is the
`lane % 4`-th of the group `lane / 4`. Registers of 32 bits hold neighbours along the depth, the first in the lowest
bits; those of f64 hold one number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.back.nvptx.ptx_machine.types import Array

WARP, GROUPS, MEMBERS = 32, 8, 4
"""The threads of a warp, the groups, and the threads of each."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """The place of each component: `rows` and `columns` are int64 `[lane, register, number in the register]`."""

    rows: Array
    columns: Array

    @property
    def registers(self) -> int:
        return int(self.rows.shape[1])

    @property
    def packed(self) -> int:
        """How many components lie in a register."""
        return int(self.rows.shape[2])


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a product: `rows` x `depth` times `depth` x `columns`."""

    rows: int
    columns: int
    depth: int

    @staticmethod
    def of(name: str) -> Shape:
        """The shape of a name such as `m16n8k16`."""
        rows, rest = name[1:].split("n")
        columns, depth = rest.split("k")
        return Shape(int(rows), int(columns), int(depth))


def _axes(registers: int, packed: int) -> tuple[Array, Array, Array, Array]:
    """Group, member, register and number in the register of each component."""
    lane, register, number = np.meshgrid(np.arange(WARP), np.arange(registers), np.arange(packed), indexing="ij")
    return lane // MEMBERS, lane % MEMBERS, register, number


def left(shape: Shape, packed: int) -> Fragment:
    """The fragment of the left factor: of each 8 rows and each `4 packed` columns, a register."""
    halves = shape.rows // GROUPS
    group, member, register, number = _axes(halves * shape.depth // (MEMBERS * packed), packed)
    rows = group + GROUPS * (register % halves)
    return Fragment(rows, register // halves * (MEMBERS * packed) + member * packed + number)


def right(shape: Shape, packed: int) -> Fragment:
    """The fragment of the right factor: a register of each `4 packed` rows; a group has a column."""
    group, member, register, number = _axes(shape.depth // (MEMBERS * packed), packed)
    return Fragment(register * (MEMBERS * packed) + member * packed + number, group)


def sums(shape: Shape, packed: int) -> Fragment:
    """The fragment of sums: two neighbouring columns of each 8 rows; with `packed` 2, both in a register."""
    group, member, register, number = _axes(shape.rows // GROUPS * 2 // packed, packed)
    place = register * packed + number
    return Fragment(group + GROUPS * (place // 2), member * 2 + place % 2)


def gathered(fragment: Fragment, registers: Array, rows: int, columns: int) -> Array:
    """Matrices `[warp, row, column]` of what threads hold: `[warp, lane, register, number]`."""
    found = np.zeros((len(registers), rows, columns), registers.dtype)
    found[:, fragment.rows, fragment.columns] = registers
    return found


def scattered(fragment: Fragment, matrices: Array) -> Array:
    """What threads hold of matrices, the other way round."""
    found: Array = matrices[:, fragment.rows, fragment.columns]
    return found


SMALL = Fragment(*(one.reshape(WARP, 1, 2) for one in (
    np.repeat(np.arange(WARP) // MEMBERS, 2), np.arange(2 * WARP) % GROUPS)))  # fmt: skip
"""An 8 x 8 matrix of 16 bits, as `ldmatrix`, `stmatrix` and `movmatrix` have it (PTX ISA "ldmatrix")."""
