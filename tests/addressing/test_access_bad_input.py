"""Whatever comes as an argument: an `AddressingError` or a result, no other exception, and no buffer half written."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from girih.addressing import (
    AddressingError,
    BlockedInterleaved,
    Strided,
    TensorLayout,
    TensorView,
    convert,
    load_tensor,
    store_tensor,
)

ODD: list[Any] = [
    -1,
    2**31,
    2**32 - 1,
    2**32,
    2**63,
    2**64,
    float("nan"),
    1.5,
    None,
    "x",
    (1,),
    [1, 2],
    {},
    b"ab",
    True,
]
ODD += [np.float32(2), np.array([1, 2]), object()]
EVEN: list[Any] = [0, 1, 2, 4, 4, 8, 16, np.int32(3)]
LAYOUTS = (
    TensorLayout(2).set_dimension(4, 4),
    TensorLayout(1, "constant").set_dimension(4),
    TensorLayout(3, "repeat").set_block_size(2, 2, 2).set_dimension(4, 4, 4),
)
VIEWS = (TensorView(2), TensorView(1, True), TensorView(2, True).set_dimension(2, 2))
MODELS = (*LAYOUTS, BlockedInterleaved("row", 4, 16, 4, 1), Strided((4, 4)))


def arrays() -> list[Any]:
    found: list[Any] = [np.zeros(shape, np.float32) for shape in (16, (4, 4), (4, 4), (0, 4), (), (2, 2, 2))]
    found += [np.zeros((4, 4), dtype) for dtype in (ml_dtypes.bfloat16, object, "U3", ">i4", "M8[s]", [("a", "f4")])]
    return [*found, None, "x", 3]


def use(draw: random.Random) -> Callable[[], object]:
    """One call with some odd arguments."""
    odd: Any = [draw.choice(ODD if draw.random() < 0.3 else EVEN) for _ in range(6)]
    layout: Any = draw.choice((*LAYOUTS, *LAYOUTS, *odd))
    view: Any = draw.choice((None, None, *VIEWS, *odd))
    legal, legal_view, model = draw.choice(LAYOUTS), draw.choice(VIEWS), draw.choice((*MODELS, *odd))
    count = draw.randint(0, 4)
    matrix, buffer = draw.choice(arrays()), draw.choice(arrays())
    mode: Any = draw.choice(("repeat", odd[1]))
    order: Any = draw.choice(("row", "column", odd[0]))
    to: Any = draw.choice(("strided", "tensor_layout", "blocked_interleaved", odd[0]))
    setter = draw.choice(("set_block_size", "set_dimension", "set_stride", "slice"))
    return draw.choice(
        (
            lambda: TensorLayout(odd[0], mode),
            lambda: getattr(legal, setter)(*odd[:count]),
            lambda: legal.slice((odd[0], odd[1]), (odd[2], odd[3])),
            lambda: legal.set_clamp_value(odd[0]),
            lambda: legal.access(odd[0], odd[1], view),
            lambda: TensorView(odd[0], odd[1], odd[2]),
            lambda: legal_view.set_dimension(*odd[:count]),
            lambda: legal_view.set_stride(*odd[:count]),
            lambda: legal_view.set_clip(*odd[:4]),
            lambda: BlockedInterleaved(order, *odd[:5]),
            lambda: Strided(odd[0], odd[1], odd[2]),
            lambda: load_tensor(matrix, buffer, odd[0], layout, view, quirks=draw.choice((None, odd[1]))),
            lambda: unchanged_or_stored(matrix, buffer, odd[0], layout, view),
            lambda: convert(model, to, component_size=draw.choice((None, odd[0]))),
        )
    )


def unchanged_or_stored(matrix: Any, buffer: Any, offset: Any, layout: Any, view: Any) -> None:
    before = buffer.tobytes() if isinstance(buffer, np.ndarray) else b""
    try:
        store_tensor(matrix, buffer, offset, layout, view)
    except AddressingError:
        assert not isinstance(buffer, np.ndarray) or buffer.tobytes() == before
        raise


def run(count: int, seed: int) -> int:
    """How many of `count` calls were refused; all others must succeed."""
    draw = random.Random(seed)
    refused = 0
    for _ in range(count):
        try:
            use(draw)()
        except AddressingError as error:
            assert error.violations
            assert str(error)
            refused += 1
    return refused


def test_bad_input_raises_addressing_errors_only() -> None:
    assert 1000 < run(3000, seed=1) < 2900
