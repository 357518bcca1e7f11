"""The layout of cooperative matrices, held against a mapping written out loop by loop from its definition.

With subgroup size S, rows M, columns N: I = min(M, S); J is the smallest n >= N with I n divisible by S; K = M / I.
Element (i + k I, j), k = k1 + K1 k2, has the linear index L = i + k1 I + j I K1 + k2 I K1 J, and work-item p holds as
component v the element with L = p + v S. K1 = 1, except 2 for matrix_b with one-byte components and M > S.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import girih
from girih.ir.types import C64, F16, F32, F64, I8, CoopMatrix, Number, Use
from girih.ops.tile.coopmatrix_layout import layout_of
from tests.cases import crossed

Array = NDArray[Any]
Mapping = dict[tuple[int, int], tuple[int, int]]
"""From work-item and component to row and column."""

SUBGROUP_SIZES = (8, 16, 32, 64)
COLUMNS = (1, 2, 3, 7, 8, 13)
DTYPES: dict[str, np.dtype[Any]] = {
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "index": np.dtype(np.int64),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "c32": np.dtype(np.complex64),
    "c64": np.dtype(np.complex128),
}


def row_counts(size: int) -> tuple[int, ...]:
    """Rows that have a layout: at most as many as work-items, or a multiple."""
    return (1, 2, 3, 5, 7, size // 2, size - 1, size, 2 * size, 3 * size, 4 * size)


def padded_columns(rows: int, columns: int, size: int) -> int:
    """J, found by trying."""
    found = columns
    while min(rows, size) * found % size:
        found += 1
    return found


def brute_force(rows: int, columns: int, size: int, paired: bool) -> Mapping:
    """Every element of the padded matrix in its place, one by one."""
    block = min(rows, size)
    wide = padded_columns(rows, columns, size)
    together = 2 if paired else 1
    found: Mapping = {}
    for i, k, j in product(range(block), range(rows // block), range(wide)):
        k1, k2 = k % together, k // together
        linear = i + k1 * block + j * block * together + k2 * block * together * wide
        place = (linear % size, linear // size)
        assert place not in found
        found[place] = (i + k * block, j)
    return found


def is_paired(component_size: int, use: Use, rows: int, size: int) -> bool:
    """Whether K1 is 2; three blocks of rows make no pairs."""
    return use is Use.B and component_size == 1 and rows > size and rows // size % 2 == 0


@pytest.mark.parametrize(("component", "use", "size"), crossed((I8, F16, F32, F64, C64), list(Use), SUBGROUP_SIZES))
def test_layout_is_as_defined(component: Number, use: Use, size: int) -> None:
    for rows, columns in product(row_counts(size), COLUMNS):
        layout = layout_of(CoopMatrix(component, rows, columns, use), size)
        assert layout is not None
        expected = brute_force(rows, columns, size, is_paired(component.size, use, rows, size))
        places = product(range(size), range(layout.components))
        assert {place: layout.position(*place) for place in places} == expected


@pytest.mark.parametrize(("component", "use", "size"), crossed((I8, F16), list(Use), SUBGROUP_SIZES))
def test_layout_is_a_bijection(component: Number, use: Use, size: int) -> None:
    for rows, columns in product(row_counts(size), COLUMNS):
        layout = layout_of(CoopMatrix(component, rows, columns, use), size)
        assert layout is not None
        places = product(range(size), range(layout.components))
        held = [layout.position(*place) for place in places]
        wide = padded_columns(rows, columns, size)
        assert len(held) == rows * wide
        assert set(held) == set(product(range(rows), range(wide)))


@pytest.mark.parametrize("size", SUBGROUP_SIZES)
def test_rows_that_have_no_layout(size: int) -> None:
    for rows in (size + 1, 2 * size - 1, size + size // 2, 67):
        assert layout_of(CoopMatrix(F32, rows, 4, Use.ACC), size) is None


# Through the language: one kernel for each type and subgroup size holds every use and shape.


def shapes(size: int) -> tuple[tuple[int, int], ...]:
    """Fewer rows than work-items, as many, more; never more than 256 elements, which i8 can tell apart."""
    return ((1, 11), (3, 2), (size // 2, 3), (size, 3), (2 * size, 2))


class Part:
    """One matrix of a kernel: its arrays, its text, and what must come out."""

    def __init__(self, number: int, type: str, rows: int, columns: int, use: Use, size: int) -> None:
        self.number, self.type, self.size = number, type, size
        self.matrix = f"coopmatrix<{type}x{rows}x{columns},{use.value}>"
        dtype = DTYPES[type]
        self.mapping = brute_force(rows, columns, size, is_paired(dtype.itemsize, use, rows, size))
        self.components = len(self.mapping) // size
        self.source = _numbered(rows, columns, dtype, 0)
        self.inserted = _numbered(size, self.components, dtype, 77)
        self.extracted = np.full((size, self.components), 1, dtype, order="F")
        self.stored = np.zeros((rows, columns), dtype, order="F")

    @property
    def arrays(self) -> list[Array]:
        return [self.source, self.inserted, self.extracted, self.stored]

    @property
    def parameters(self) -> str:
        n, (rows, columns) = self.number, self.source.shape
        spread = f"memref<{self.type}x{self.size}x{self.components}>"
        whole = f"memref<{self.type}x{rows}x{columns}>"
        return f"%A{n}: {whole}, %X{n}: {spread}, %E{n}: {spread}, %C{n}: {whole}"

    @property
    def lines(self) -> list[str]:
        """Extract every component; replace every second one."""
        n, matrix = self.number, self.matrix
        found = [f"%m{n} = cooperative_matrix_load %A{n}[%c0,%c0] : {matrix}"]
        for v in range(self.components):
            found.append(f"%e{n}_{v} = cooperative_matrix_extract %m{n}[{v}] : {self.type}")
            found.append(f"store %e{n}_{v}, %E{n}[%p,{v}]")
        before = f"%m{n}"
        for v in range(0, self.components, 2):
            found.append(f"%x{n}_{v} = load %X{n}[%p,{v}] : {self.type}")
            found.append(f"%i{n}_{v} = cooperative_matrix_insert %x{n}_{v}, {before}[{v}] : {matrix}")
            before = f"%i{n}_{v}"
        return [*found, f"cooperative_matrix_store {before}, %C{n}[%c0,%c0]"]

    def expected(self) -> tuple[Array, Array]:
        """What is extracted, and the matrix after the insertions."""
        rows, columns = self.source.shape
        extracted, stored = np.zeros_like(self.extracted), self.source.copy()
        for (lane, component), (row, column) in self.mapping.items():
            assert row < rows
            if column >= columns:
                continue
            extracted[lane, component] = self.source[row, column]
            if component % 2 == 0:
                stored[row, column] = self.inserted[lane, component]
        return extracted, stored


def _numbered(rows: int, columns: int, dtype: np.dtype[Any], start: int) -> Array:
    """Up to 256 different numbers, which every type holds exactly."""
    numbers = (np.arange(rows * columns) + start) % 256 - 128
    values = numbers + 1j * (numbers + 5) if dtype.kind == "c" else numbers
    return np.asfortranarray(values.astype(dtype).reshape(rows, columns))


def kernel_text(parts: list[Part], size: int) -> str:
    """A kernel of one subgroup that works on all parts."""
    body = "\n".join(f"        {line}" for part in parts for line in part.lines)
    return f"""
func @f({", ".join(part.parameters for part in parts)}) attributes{{subgroup_size={size},work_group_size=[{size},1]}} {{
    parallel {{
        %c0 = constant 0 : index
        %lane = subgroup_local_id : i32
        %p = cast %lane : index
{body}
    }}
}}
"""


@pytest.mark.parametrize(("type", "size"), crossed(list(DTYPES), SUBGROUP_SIZES))
def test_extract_and_insert(type: str, size: int) -> None:
    each = product(Use, shapes(size))
    parts = [Part(n, type, rows, columns, use, size) for n, (use, (rows, columns)) in enumerate(each)]
    girih.loads(kernel_text(parts, size), target="interpreter")["f"](
        *(array for part in parts for array in part.arrays)
    )
    for part in parts:
        extracted, stored = part.expected()
        np.testing.assert_array_equal(part.extracted, extracted, f"extracted from {part.matrix}")
        np.testing.assert_array_equal(part.stored, stored, f"inserted into {part.matrix}")
