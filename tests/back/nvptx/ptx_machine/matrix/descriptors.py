"""Matrices in shared memory as `wgmma` reads them (PTX ISA "Matrix Descriptor Format", "Strides", "Swizzling Modes").

A matrix lies in pieces of 16 bytes. Those of eight rows, or columns, are a core matrix; descriptors say how far apart
these are, and a swizzle exchanges pieces by their addresses, as tensor copies do it. Where the pattern of a swizzle
does not begin at an address that is a multiple of its size, the base offset says so. All of it was measured on an H200
(`warpgroups/test_hardware.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from tests.back.nvptx.ptx_machine.errors import Fault
from tests.back.nvptx.ptx_machine.types import Array

PIECE, _CORE, _LINE = 16, 8, 128
"""The bytes of a piece, the pieces of a core matrix, and the bytes that a swizzle has the same exchange for."""
_SPANS = (0, 128, 64, 32)
"""The bytes of the swizzles by their numbers in a descriptor; 0 for none."""
_LEFT_OUT = 0b0011_1111_1111_0001_1100_0000_0000_0000_1100_0000_0000_0000_1100_0000_0000_0000
"""The bits of a descriptor that mean nothing."""


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A matrix in shared memory: bytes, and the number of lines that the pattern of the swizzle is moved by."""

    start: int
    leading: int
    stride: int
    base: int
    span: int

    @staticmethod
    def of(bits: int) -> Descriptor:
        """The descriptor of 64 bits."""
        if bits & _LEFT_OUT:
            raise Fault(f"the matrix descriptor {bits:#018x} has bits that mean nothing: {bits & _LEFT_OUT:#x}")
        start, leading, stride = ((bits >> at & 0x3FFF) * PIECE for at in (0, 16, 32))
        return Descriptor(start, leading, stride, bits >> 49 & 7, _SPANS[bits >> 62])

    def pieces(self, rows: int, depth: int, *, turned: bool) -> Array:
        """The shared addresses of the pieces of a matrix of `rows` rows.

        `depth` counts bytes along the depth if the matrix is contiguous there: `[row, piece]`. Where it is `turned`,
        it is contiguous along the rows, and `depth` counts columns: `[piece of rows, column]`.
        """
        offsets = _turned if turned else _plain
        found: Array = self.start + offsets(rows, depth, self.span, self.leading, self.stride)
        if self.span:
            lines = (found // _LINE - self.base) % (self.span // PIECE)
            found = found ^ lines * PIECE
        result: Array = found & 0x3FFFF
        return result


@cache
def _plain(rows: int, depth: int, span: int, leading: int, stride: int) -> Array:
    row, piece = np.meshgrid(np.arange(rows), np.arange(depth // PIECE), indexing="ij")
    found: Array = row // _CORE * stride + row % _CORE * (span or PIECE) + piece * (PIECE if span else leading)
    return found


@cache
def _turned(rows: int, depth: int, span: int, leading: int, stride: int) -> Array:
    piece, column = np.meshgrid(np.arange(rows // _CORE), np.arange(depth), indexing="ij")
    inner, core = column % _CORE, column // _CORE
    if not span:
        found: Array = piece * stride + inner * PIECE + core * leading
        return found
    wide = span // PIECE
    found = piece % wide * PIECE + piece // wide * leading + inner * span + core * stride
    return found
