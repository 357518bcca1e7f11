"""What tile programs compute as PTX, on the machine: right in any order of warps and copies, with no rule broken.

Products are of small whole numbers, so that they are exact; sizes are ragged, and multiples of 8, as maps ask for.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product as every
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.back.nvptx.ptx_machine import Deadlock, Fault
from tests.back.nvptx.ptx_machine.layout import aligned
from tests.back.nvptx.tile.emitted import emitted_from
from tests.back.nvptx.tile.launch import TileMachineKernel
from tests.cases import every_case
from tests.tile.programs import attention, function_of, product

Array = NDArray[Any]
BF16 = ml_dtypes.bfloat16
TYPES: dict[str, type[np.generic]] = {"bf16": BF16, "f16": np.float16}


def machine_of(text: str) -> TileMachineKernel:
    return TileMachineKernel(function_of(text), emitted_from(text, checks=True))


def matrix(shape: tuple[int, ...], type: str = "bf16", order: Any = "F") -> Array:
    """A matrix at an address that a map takes."""
    numbers: np.dtype[Any] = np.dtype(TYPES[type])
    found: Array = aligned(int(np.prod(shape)) * numbers.itemsize, 128).view(numbers).reshape(shape, order=order)
    return found


class Product:
    """A product of `m` x `k` and `k` x `n` numbers, ready to be launched in tiles of `rows` x `columns`."""

    def __init__(
        self, sizes: tuple[int, int, int], *, rows: int = 128, columns: int = 256, type: str = "bf16", order: str = "F",
        transpose_a: bool = False, transpose_b: bool = False,
    ) -> None:  # fmt: skip
        text = product(
            rows=rows, columns=columns, type=type, order=order, transpose_a=transpose_a, transpose_b=transpose_b
        )
        self.machine = machine_of(text)
        m, n, k = sizes
        self.grid = (-(-m // rows), -(-n // columns), 1)
        random = np.random.default_rng(m + n + k)
        self.a, self.b = (
            matrix((m, k)[:: 1 - 2 * transpose_a], type, order),
            matrix((k, n)[:: 1 - 2 * transpose_b], type, order),
        )
        self.c = matrix((m, n), type, order)
        for one in (self.a, self.b):
            one[:] = random.integers(-3, 4, one.shape).astype(one.dtype)
        left, right = (one.astype(np.float32) for one in (self.a, self.b))
        self.wanted = ((left.T if transpose_a else left) @ (right.T if transpose_b else right)).astype(self.c.dtype)

    def check(self, machine: TileMachineKernel | None = None, **options: Any) -> None:
        self.c[:] = -1
        (machine or self.machine)(self.grid, self.a, self.b, self.c, **options)
        np.testing.assert_array_equal(self.c, self.wanted)


@pytest.mark.parametrize("order", "FC")
def test_products_in_every_layout(order: str) -> None:
    with every_case() as case:
        for number, (a, b) in enumerate(every((False, True), (False, True))):
            with case(f"{a}, {b}"):
                one = Product((136, 264, 136), order=order, transpose_a=a, transpose_b=b)
                one.check(seed=number)


@pytest.mark.parametrize(
    ("sizes", "options"),
    [
        ((304, 520, 136), {}),
        ((72, 136, 8), {}),
        ((304, 136, 136), {"rows": 256, "columns": 128}),
        ((136, 136, 200), {"rows": 128, "columns": 128, "type": "f16"}),
        ((192, 160, 136), {"rows": 192, "columns": 160}),
        ((72, 264, 136), {"rows": 64}),
    ],
    ids=str,
)
def test_products_of_many_sizes(sizes: tuple[int, int, int], options: dict[str, Any]) -> None:
    """Two CTAs have all tiles in turn."""
    one = Product(sizes, **options)
    one.check()
    one.check(copies="late")
    one.check(seed=1)


@pytest.mark.parametrize(("length", "keys"), [(64, 128), (128, 64)])
def test_attention(length: int, keys: int) -> None:
    machine = machine_of(attention(length=length, keys=keys))
    heads, queries, there = 2, 136, 200
    q, k, v, o = (matrix((length, many, heads)) for many in (queries, there, there, queries))
    random = np.random.default_rng(length)
    for one in (q, k, v):
        one[:] = random.normal(size=one.shape).astype(BF16)
    scale = np.float32(1 / (length**0.5 * np.log(2)))
    wide = [np.moveaxis(one.astype(np.float32), 2, 0) for one in (q, k, v)]
    scores = np.matmul(wide[0].swapaxes(1, 2), wide[1]) * scale
    weights = np.exp2(scores - scores.max(2, keepdims=True))
    wanted = np.matmul(weights / weights.sum(2, keepdims=True), wide[2].swapaxes(1, 2))
    for options in ({"copies": "late"}, {"seed": 1}):
        o[:] = 0
        machine((-(-queries // 128), heads, 1), q, k, v, o, scale, **options)
        np.testing.assert_allclose(np.moveaxis(o.astype(np.float32), (2, 1), (0, 1)), wanted, atol=0.01)


RULES = (
    r"wgmma\.(fence|commit_group)\.sync\.aligned;",
    r"wgmma\.wait_group\.sync\.aligned \d;",
    r"cp\.async\.bulk\.(commit_group|wait_group(\.read)? 0);",
    r"bar\.sync\s+\S+( 128)?;",
    r"mbarrier\.arrive\.shared::cta\.b64 _, [^;]+;",
    r"mbarrier\.arrive\.expect_tx[^;]+;",
    r"setmaxnreg\.dec[^;]+;",
)
"""What is left out in turn, wherever it stands."""


@pytest.mark.parametrize("rule", RULES)
def test_nothing_can_be_left_out(rule: str) -> None:
    """A product without one of the instructions that keep order is told, or gives other numbers."""
    one = Product((136, 264, 264), columns=128)
    kernel = one.machine.kernel
    places = list(re.finditer(rule, kernel.ptx))
    assert places
    with every_case() as case:
        for place in places:
            broken = kernel.ptx[: place.start()] + kernel.ptx[place.end() :]
            machine = TileMachineKernel(one.machine.function, replace(kernel, ptx=broken), 1)
            line = kernel.ptx.count("\n", 0, place.start()) + 1
            with case(f"line {line}: {place[0]}"), pytest.raises((Fault, Deadlock, AssertionError)):
                one.check(machine, budget=200_000)
