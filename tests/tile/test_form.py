"""The form of tile kernels: as text, where its parts lie, and numbers that a launch knows."""

from __future__ import annotations

import json

import numpy as np
import pytest

from girih.addressing.tensor_map.model import TensorMap
from girih.ir.types import BF16, F32, I8, Number
from girih.tile.amounts import Amount, combined, number
from girih.tile.budget import (
    BLOCK_SHARES,
    BUSY_SHARES,
    DECODING_SHARES,
    MOST_SHARED_BYTES,
    ROOMY_SHARES,
    SHARES,
    TIGHT_SHARES,
    consumer_share,
    layout_of,
    registers_of,
)
from girih.tile.form import Registers, SharedTile, Spread, Supply, walk
from girih.tile.show import show
from tests.conftest import Golden
from tests.tile.kernels import product


def test_a_kernel_as_text(golden: Golden) -> None:
    golden("tile/product.txt", show(product()))


def test_shared_memory_of_a_kernel() -> None:
    layout = layout_of(product())
    assert layout.rings == {"factors": 0}
    assert layout.stagings == {"out": 4 * 48 * 1024}
    assert layout.full == {"factors": 4 * 48 * 1024 + 2 * 16 * 1024}
    assert layout.empty["factors"] - layout.full["factors"] == 4 * 8
    assert layout.bytes == layout.empty["factors"] + 4 * 8
    assert layout.bytes <= MOST_SHARED_BYTES < layout_of(product(slots=5)).bytes


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize("component", [I8, BF16, F32])
def test_a_tile_lies_where_the_copy_engine_writes_it(swizzle: int, component: Number) -> None:
    """Element for element as the model of tensor maps has it, which was measured (004 5.5.6)."""
    panel = (swizzle or 256) // component.size
    tile = SharedTile("t", component, 24, panel * (2 if swizzle else 1), by_rows=True, swizzle=swizzle)
    array = np.arange(24 * tile.span, dtype=np.int64).reshape(24, tile.span)
    bits = array.astype({1: np.uint8, 2: np.uint16, 4: np.uint32}[component.size])
    name = {1: "u8", 2: "u16", 4: "u32"}[component.size]
    mode = f"{swizzle}B" if swizzle else "none"
    map_ = TensorMap.of(bits, (tile.panel, 24), dtype=name, swizzle=mode)
    for begin in range(0, tile.span, tile.panel):
        image = map_.load(bits.view(np.uint8).reshape(-1), (begin, 0))
        there = image.bytes.view(bits.dtype)
        first = begin // tile.panel * tile.panel_bytes
        for line in range(24):
            for neighbour in range(begin, begin + tile.panel):
                assert there[(tile.place(line, neighbour) - first) // component.size] == bits[line, neighbour]


def test_registers_of_matrices() -> None:
    assert registers_of(Registers("s", F32, 128, 256), 2) == 128
    assert registers_of(Registers("s", BF16, 128, 256), 2) == 64
    assert registers_of(Registers("s", F32, 256, 64), 2) == 64
    assert registers_of(Registers("s", F32, 128, 128, Spread.ROWS), 2) == 2
    assert registers_of(Registers("s", F32, 128, 128, Spread.COLUMNS), 1) == 32
    assert registers_of(Registers("s", F32, 128, 128, Spread.ONE), 1) == 1


def test_steps_are_walked_inside_loops() -> None:
    assert any(isinstance(step, Supply) for step in walk(product().producer.body))


class _Launch:
    def size(self, parameter: int, mode: int) -> int:
        return 100 * parameter + mode

    def stride(self, parameter: int, mode: int) -> int:
        return 1000 * parameter + mode

    def number(self, parameter: int) -> int:
        return -parameter


def test_amounts() -> None:
    size, stride = Amount("size", (1, 2)), Amount("stride", (3, 0))
    amount = Amount("sub", (Amount("mul", (size, number(8))), Amount("max", (stride, Amount("argument", (7,))))))
    assert str(amount) == "sub(mul(size(1, 2), 8), max(stride(3, 0), argument(7)))"
    assert amount.of(_Launch()) == 102 * 8 - 3000
    assert Amount.of_plain(json.loads(json.dumps(amount.plain()))) == amount
    assert amount.literal is None
    assert number(8).literal == 8


@pytest.mark.parametrize(("a", "b", "quotient", "rest"), [(7, 2, 3, 1), (-7, 2, -3, -1), (7, -2, -3, 1), (7, 0, 0, 7)])
def test_quotients_are_rounded_to_zero(a: int, b: int, quotient: int, rest: int) -> None:
    assert combined("div", number(a), number(b)) == number(quotient)
    assert combined("rem", number(a), number(b)) == number(rest)


def test_what_changes_nothing_is_left_out() -> None:
    size = Amount("size", (0, 0))
    assert combined("mul", size, number(1)) == combined("add", number(0), size) == size
    assert combined("mul", number(2), number(3)) == number(6)
    assert combined("sub", number(0), size) == Amount("sub", (number(0), size))


@pytest.mark.parametrize("plain", [[], ["length", 1, 2], "size", ["size"], ["add", ["size", 0, 0]], ["number", "1"]])
def test_what_is_no_amount_is_refused(plain: object) -> None:
    with pytest.raises(ValueError, match="no amount"):
        Amount.of_plain(plain)


def test_registers_are_those_of_the_cta() -> None:
    """What warpgroups have together is no more than where they begin: who asks for more waits for ever."""
    assert [consumer_share(64, n) for n in (1, 2, 3)] == [256, 216, 144]
    for shares in (SHARES, ROOMY_SHARES, BUSY_SHARES, TIGHT_SHARES):
        for consumers, (mine, theirs) in shares.items():
            assert theirs <= consumer_share(mine, consumers), (consumers, mine, theirs)
    for (producers, consumers), (mine, theirs) in (*DECODING_SHARES.items(), *BLOCK_SHARES.items()):
        count = producers + consumers
        begun = 65536 // (128 * count) // 8 * 8
        assert mine <= begun and producers * mine + consumers * theirs <= begun * count, (producers, consumers)
