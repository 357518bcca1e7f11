"""Products that threads compute themselves: f32, f64 and i32, as PTX that a machine executes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from girih.back.llvm.nvptx.machine.kernel import PtxKernel
from girih.kernels import texts
from girih.tile.recognise import tile_kernel
from tests.back.harness import Array
from tests.back.nvptx.ptx_machine.memory import Memory
from tests.back.nvptx.tile.emitted import emitted, emitted_from
from tests.back.nvptx.tile.launch import TileMachineKernel
from tests.tile.programs import function_of, product

STORE = "cooperative_matrix_store.both_checked %product, %C[%row, %column]"
DTYPES: dict[str, Any] = {"f32": np.float32, "f64": np.float64, "i32": np.int32}
LINE = {"f32": 32, "f64": 16, "i32": 32}
"""The components of 128 bytes."""
WAYS = [(False, False), (False, True), (True, False), (True, True)]


def text_of(type: str, rows: int, columns: int, depth: int, *, a: bool = False, b: bool = False) -> str:
    """C := op(A) op(B) of one type, with A or B transposed."""
    return product(
        type=type, sum=type, rows=rows, columns=columns, depth=depth, transpose_a=a, transpose_b=b, epilogue=STORE
    )


def matrix(type: str, rows: int, columns: int, seed: int) -> Array:
    """Small whole numbers, whose products are exact."""
    found = np.random.default_rng(seed).integers(-4, 5, (rows, columns))
    return np.asarray(found, dtype=DTYPES[type], order="F")


def arrays(type: str, m: int, n: int, k: int, *, a: bool, b: bool) -> tuple[list[Array], Array]:
    """Factors and a result, and what it is to be."""
    left, right = matrix(type, m, k, 1), matrix(type, k, n, 2)
    given = [np.asfortranarray(left.T) if a else left, np.asfortranarray(right.T) if b else right]
    return [*given, matrix(type, m, n, 3)], left @ right


@pytest.mark.parametrize(("a", "b"), WAYS)
@pytest.mark.parametrize("type", ["f32", "f64"])
def test_transposes(type: str, *, a: bool, b: bool) -> None:
    """Neighbours in shared memory along rows, along columns, and along the depth; sizes that no tile divides."""
    line = LINE[type]
    text = text_of(type, 64, 32, line, a=a, b=b)
    given, wanted = arrays(type, 56, 28, line + 8, a=a, b=b)
    TileMachineKernel(function_of(text), emitted_from(text, checks=True))((1, 1, 1), *given)
    np.testing.assert_array_equal(given[2], wanted)


@pytest.mark.parametrize(
    ("type", "rows", "columns", "depth", "way"),
    [("f64", 128, 48, 32, WAYS[2]), ("f32", 128, 32, 64, WAYS[2]), ("i32", 64, 64, 32, WAYS[1])],
)
def test_other_tiles(type: str, rows: int, columns: int, depth: int, way: tuple[bool, bool]) -> None:
    """Two consumers, two lines of the depth, several periods of columns, several tiles, and whole numbers."""
    a, b = way
    text = text_of(type, rows, columns, depth, a=a, b=b)
    given, wanted = arrays(type, rows, columns + 8, depth, a=a, b=b)
    TileMachineKernel(function_of(text), emitted_from(text, checks=True))((1, 2, 1), *given)
    np.testing.assert_array_equal(given[2], wanted)


@pytest.mark.parametrize("type", ["f32", "f64"])
def test_lines_that_no_map_has(type: str) -> None:
    """Tiles that threads of the producer fill, and results that consumers store."""
    text = text_of(type, 64, 32, LINE[type], a=True)
    given, wanted = arrays(type, 61, 27, LINE[type] + 1, a=True, b=False)
    made = emitted(tile_kernel(function_of(text), maps=False), checks=True)
    TileMachineKernel(function_of(text), made)((1, 1, 1), *given)
    np.testing.assert_array_equal(given[2], wanted)


@pytest.mark.parametrize("type", ["f32", "f64"])
def test_what_is_added_to(type: str) -> None:
    """C := alpha A B + beta C, by the library's text, with several blocks of rows for a consumer."""
    words = {"type": type, "accumulator": type, "rows": 128, "columns": 32, "depth": LINE[type], "items": 128}
    text = (texts.path("gemm").parent / "gpu/gemm.tl").read_text(encoding="utf-8")
    for name, value in words.items():
        text = re.sub(rf"^\${name} = .*$", f"${name} = {value}", text, flags=re.MULTILINE)
    text = text.replace("[$items, 1],", "[$items, 1], hopper={consumers=1},")
    (left, right, c), wanted = arrays(type, 128, 32, LINE[type], a=False, b=False)
    expected = DTYPES[type](2) * wanted + DTYPES[type](0.5) * c
    two, half = DTYPES[type](2), DTYPES[type](0.5)
    TileMachineKernel(function_of(text), emitted_from(text, checks=True))((1, 1, 1), two, left, right, half, c)
    np.testing.assert_array_equal(c, expected)


# --- instructions -------------------------------------------------------------------------------


def counted(kernel: PtxKernel, *words: str) -> list[int]:
    """How often instructions stand in the PTX of a kernel."""
    return [kernel.ptx.count(word) for word in words]


def test_exact_products_of_f32_are_multiplications_and_additions() -> None:
    """A thread has 8 x 16 sums, and a round of 8 summands of them; the copy engine fills the ring."""
    kernel = emitted_from(text_of("f32", 256, 128, 32))
    assert counted(kernel, "fma.rn.f32", "wgmma", "mma.sync", "tf32") == [8 * 8 * 16, 0, 0, 0]
    assert counted(kernel, "cp.async.bulk.tensor.2d.shared") == [8 + 1]
    # Of two summands, a thread loads its 4 + 4 rows by one load each for four, and its 16 columns one by one.
    assert counted(kernel, "ld.shared.v4.f32", "ld.shared.v2.f32") == [(8 + 2) * 2, (4 + 1) * 16]


def test_products_of_f64_are_those_of_tensor_cores() -> None:
    kernel = emitted_from(text_of("f64", 128, 128, 16))
    assert counted(kernel, "mma.sync.aligned.m16n8k16.row.col.f64", "fma.rn.f64", "wgmma") == [16, 0, 0]
    assert counted(kernel, "cp.async.bulk.tensor.2d.shared") == [8 + 1]


@pytest.mark.parametrize(("a", "b"), WAYS)
@pytest.mark.parametrize("type", ["f32", "f64"])
def test_threads_that_read_a_line_meet_in_no_bank(
    type: str, monkeypatch: pytest.MonkeyPatch, *, a: bool, b: bool
) -> None:
    """What lanes read at once, 128 bytes at most, lies in different banks (CUDA programming guide, "Shared Memory")."""
    text = text_of(type, 64, 32, LINE[type], a=a, b=b)
    given, _ = arrays(type, 64, 32, LINE[type], a=a, b=b)
    reads: list[tuple[Array, int]] = []
    load = Memory.load

    def watched(self: Memory, space: str, addresses: Array, size: int, threads: Any, **options: Any) -> Any:
        if space == "shared" and len(addresses) > 1:
            if reads and len(reads[-1][0]) == len(addresses) and np.all(reads[-1][0] + reads[-1][1] == addresses):
                reads[-1] = reads[-1][0], reads[-1][1] + size
            else:
                reads.append((np.array(addresses, np.int64), size))
        return load(self, space, addresses, size, threads, **options)

    monkeypatch.setattr(Memory, "load", watched)
    TileMachineKernel(function_of(text), emitted_from(text))((1, 1, 1), *given)
    assert len(reads) >= 12
    for addresses, size in reads:
        together = 128 // size if size > 4 else 32
        for lanes in addresses.reshape(-1, min(together, 32)):
            words = {int(at) // 4 + k for at in lanes for k in range(size // 4)}
            assert len({word % 32 for word in words}) == len(words), (size, lanes - lanes.min())
