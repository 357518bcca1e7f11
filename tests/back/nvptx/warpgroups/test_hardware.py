"""What only a GPU can show of the machine: that its products of warpgroups are those of the hardware."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.back.nvptx.warpgroups.gpu import launch_on_gpu
from tests.back.nvptx.warpgroups.ring import Ring
from tests.back.nvptx.warpgroups.test_products import (
    ELEMENTS,
    ROWS,
    contiguous,
    depth_of,
    forms,
    left_to_registers,
    sums_to_registers,
    tail_of,
    turned,
)
from tests.back.nvptx.warpgroups.texts import Image, multiply, product_text
from tests.cases import every_case

pytestmark = pytest.mark.cuda

Array = NDArray[Any]


def whole(type: str, *shape: int) -> Array:
    """Small whole numbers, the sums of whose products are exact in every type."""
    low = 0 if type[0] == "u" else -3
    found: Array = np.random.default_rng(len(type) + sum(shape)).integers(low, 4, shape).astype(ELEMENTS[type])
    return found


def compare(
    form: tuple[str, str, str], columns: int, a: Image | None, b: Image, left: Array, tail: str, *, adds: bool = True,
    clips: bool = False,
) -> None:  # fmt: skip
    """Hold a product on a GPU against one on the machine."""
    a_type, b_type, c_type = form
    clip = ".satfinite" if clips else ""
    name = f"wgmma.mma_async.sync.aligned.m64n{columns}k{depth_of(a_type)}{clip}.{c_type}.{a_type}.{b_type}"
    sums = sums_to_registers(whole(c_type, ROWS, columns))
    text = product_text(name, sums.shape[1], 4 if a is None else a, b, tail, adds=adds, float32=c_type == "f32")
    images = [one.bytes for one in (a, b) if one is not None]
    beside = left_to_registers(left)
    wanted, found = sums.copy(), sums.copy()
    multiply(text, images, wanted, beside)
    launch_on_gpu(text, "f", 128, [np.concatenate(images), found, beside])
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("form", forms(), ids="-".join)
def test_products_of_every_type(form: tuple[str, str, str]) -> None:
    a_type, b_type, _ = form
    left, right = whole(a_type, ROWS, depth_of(a_type)), whole(b_type, 24, depth_of(b_type))
    with every_case() as case:
        for span in (0, 32, 64, 128):
            for adds in (True, False):
                with case(f"{span}, {adds}"):
                    a, b = contiguous(left, a_type, span, span // 64), contiguous(right, b_type, span)
                    compare(form, 24, a, b, left, tail_of(a_type, 0, 0), adds=adds)
                    compare(form, 24, None, b, left, tail_of(a_type, 0), adds=adds)


def orders() -> Iterator[tuple[str, int, str]]:
    for type in ("f16", "bf16"):
        for span in (0, 32, 64, 128):
            for order in ("tn", "nt", "tt"):
                yield type, span, order


@pytest.mark.parametrize("columns", [8, 96, 256])
def test_factors_that_are_contiguous_along_the_rows(columns: int) -> None:
    with every_case() as case:
        for type, span, order in orders():
            with case(f"{type}, {span}, {order}"):
                left, right = whole(type, ROWS, 16), whole(type, columns, 16)
                a, b = (
                    turned(one, type, span) if letter == "t" else contiguous(one, type, span)
                    for one, letter in zip((left, right), order, strict=True)
                )
                tail = tail_of(type, *(int(letter == "t") for letter in order))
                compare((type, type, "f32"), columns, a, b, left, tail)


@pytest.mark.parametrize(("at", "base"), [(256, 2), (256, 0), (128, 1), (896, 7), (512, 0)])
def test_patterns_that_do_not_begin_at_a_multiple_of_their_size(at: int, base: int) -> None:
    """With the base offset that the ISA asks for, and without it."""
    left, right = whole("bf16", ROWS, 16), whole("bf16", 8, 16)
    with every_case() as case:
        for span in (32, 64, 128):
            with case(str(span)):
                a, b = contiguous(left, "bf16", span), contiguous(right, "bf16", span)
                moved = Image(np.concatenate([np.zeros(at, np.uint8), b.bytes]), b.bits | base << 49, at)
                compare(("bf16", "bf16", "f32"), 8, a, moved, left, tail_of("bf16", 0, 0))


def test_signs_of_factors_and_sums_that_are_too_large() -> None:
    left, right = whole("f16", ROWS, 16), whole("f16", 8, 16)
    a, b = contiguous(left, "f16", 32), contiguous(right, "f16", 32)
    for a_scale, b_scale in ((-1, 1), (1, -1), (-1, -1)):
        compare(("f16", "f16", "f32"), 8, a, b, left, tail_of("f16", 0, 0, a_scale=a_scale, b_scale=b_scale))
    ones = np.full((ROWS, 32), 127, np.int8)
    a, b = contiguous(ones, "s8", 0), contiguous(ones[:8], "s8", 0)
    for clip in (".satfinite", ""):
        sums = np.full((128, 4), 0x7FFFFFF0, np.uint32)
        text = product_text(f"wgmma.mma_async.sync.aligned.m64n8k32{clip}.s32.s8.s8", 4, a, b, float32=False)
        wanted = sums.copy()
        multiply(text, [a.bytes, b.bytes], wanted)
        launch_on_gpu(text, "f", 128, [np.concatenate([a.bytes, b.bytes]), sums, np.zeros((128, 4), np.uint32)])
        np.testing.assert_array_equal(sums, wanted)


@pytest.mark.parametrize("ring", [Ring(), Ring(columns=128, slots=4), Ring(columns=256, slots=2)], ids=str)
def test_a_ring_of_copies_and_products(ring: Ring) -> None:
    for steps in (1, 5, 40):
        maps, found, wanted = ring.given(steps)
        launch_on_gpu(ring.text(), "ring", ring.threads, [*maps, np.int32(steps)], ring.shared_bytes)
        np.testing.assert_array_equal(found, wanted)
