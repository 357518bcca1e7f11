"""Random tensor layouts, views and matrices, legal by construction: small, but with everything that can be odd."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

from girih.addressing import TensorLayout, TensorView
from girih.addressing.tensor_layout import ClampMode

CLAMP_MODES: tuple[ClampMode, ...] = ("undefined", "constant", "clamp_to_edge", "repeat", "mirror_repeat")


@dataclass(frozen=True)
class Case:
    """One access."""

    layout: TensorLayout
    view: TensorView | None
    rows: int
    columns: int
    store: bool


def layout_of(draw: random.Random, make: Callable[[int, ClampMode], TensorLayout] = TensorLayout) -> TensorLayout:
    """Block sizes, explicit strides and up to two slices, each with some probability; spans now and then huge."""
    dim = draw.randint(1, 5)
    layout = make(dim, draw.choice(CLAMP_MODES)).set_clamp_value(draw.getrandbits(32))
    if draw.random() < 0.4:
        layout = layout.set_block_size(*(draw.randint(1, 4) for _ in range(dim)))
    layout = layout.set_dimension(*(draw.randint(1, 12) for _ in range(dim)))
    if draw.random() < 0.2:
        layout = layout.set_block_size(*(draw.randint(1, 4) for _ in range(dim)))
    if draw.random() < 0.4:
        layout = layout.set_stride(*strides_of(draw, layout))
    for _ in range(draw.choice((0, 1, 1, 2))):
        layout = layout.slice(*((draw.randint(-9, 12), span_of(draw)) for _ in range(dim)))
    return layout


def strides_of(draw: random.Random, layout: TensorLayout) -> list[int]:
    """Strides with gaps, outermost first."""
    stride = draw.choice((0, 1, 1, 1, 2))
    strides = [stride]
    for size, block in zip(reversed(layout.dimension[1:]), reversed(layout.block_size[1:]), strict=True):
        stride = stride * -(-size // block) + draw.choice((0, 0, 1, 7))
        strides.insert(0, stride)
    return strides


def span_of(draw: random.Random) -> int:
    """Mostly short."""
    return draw.randint(1, 14) if draw.random() < 0.95 else draw.choice((4097, 2**31, 2**32 - 1))


def view_of(
    draw: random.Random,
    layout: TensorLayout,
    make: Callable[[int, bool, tuple[int, ...]], TensorView] = TensorView,
) -> TensorView | None:
    """None, a permutation of the span, or a view with dimensions and perhaps strides; perhaps with a clip region."""
    if draw.random() < 0.3:
        return None
    own = draw.random() < 0.6
    dim = draw.randint(1, 5) if own else layout.dim
    view = make(dim, own, tuple(draw.sample(range(dim), dim)))
    if own:
        view = view.set_dimension(*(draw.randint(1, 9) for _ in range(dim)))
        if draw.random() < 0.4:
            view = view.set_stride(*(draw.choice((draw.randint(0, 40), 2**32 - 1)) for _ in range(dim)))
    if draw.random() < 0.5:
        view = view.set_clip(draw.randint(0, 6), limit_of(draw), draw.randint(0, 6), limit_of(draw))
    return view


def limit_of(draw: random.Random) -> int:
    """The span of a clip region, now and then without end."""
    return draw.choice((draw.randint(0, 12), 2**32 - 1))


def case_of(draw: random.Random) -> Case:
    """A layout, a view and a matrix of up to 12 x 12, 5 elements more than the span at times."""
    layout = layout_of(draw)
    rows, columns = draw.randint(1, 12), draw.randint(1, 12)
    if math.prod(layout.span) < 64 and draw.random() < 0.3:
        rows, columns = draw.randint(1, 4), layout.span[-1]
    return Case(layout, view_of(draw, layout), rows, columns, draw.random() < 0.3)
