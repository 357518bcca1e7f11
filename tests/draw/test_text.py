"""Pictures as text: exact, no wider than asked for, the same every time, without matplotlib."""

from __future__ import annotations

import subprocess
import sys

import pytest

from girih import draw
from girih.addressing import Strided, Swizzle, TensorLayout, TensorMap


def test_a_layout_in_a_terminal() -> None:
    layout = TensorLayout(2, "constant").set_dimension(3, 4).slice((-1, 3), (2, 4))
    assert (
        draw.text(layout)
        == """\
3 x 4 matrix, load from a tensor layout, constant clamp mode
dimension 3 x 4, stride (4, 1), offset (-1, 2), span 3 x 4, fill 0x0
in bounds: 4 elements; F filled: 8 elements

tile: 3 x 4
     0    1    2    3
0   F0   F1   F2   F3
1    4    5   F6   F7
2    8    9  F10  F11
down: row, across: column

tensor: 3 x 4
      0    1    2    3    4    5
-1             F0   F1   F2   F3
 0    .    .    4    5   F6   F7
 1    .    .    8    9  F10  F11
 2    .    .    .    .
down: dimension 0, across: dimension 1

memory: rows of 4 elements
   0  1  2  3
0  .  .  4  5
4  .  .  8  9
8  .  .  .  .
down: first element, across: element of the row
"""
    )


def test_a_box_in_a_terminal() -> None:
    given = TensorMap.tiled(
        dtype="f64", global_dim=(4, 4), global_strides=(32,), box_dim=(4, 4), element_strides=(1, 2), swizzle="32B"
    )
    assert (
        draw.text(given, coordinates=(2, 1), width=76)
        == """\
Tensor map, tiled load: box 4 x 4 of f64 at (2, 1)
f64, global_dim (4, 4), global_strides (32,), element_strides (1, 2),
swizzle 32B, oob_fill zero
shared address 0, 64 transaction bytes
read of a row (2 lanes of 16 bytes): 1 pass over the banks, no conflict
read of a column (2 lanes of 16 bytes): 1 pass over the banks, no conflict
in bounds: 4 elements; F filled: 4 elements; . not written

tensor: 4 x 4
    0   1   2   3   4   5
0   .   .   .   .
1   .   .   0   1  F2  F3
2   .   .   .   .
3   .   .   4   5  F6  F7
down: dimension 1, across: dimension 0

shared memory (elements)
     0-3    4-7   8-11  12-15  16-19  20-23  24-27  28-31
0    0-1   F2-3    4-5   F6-7      .      .      .      .
down: address, across: bank
"""
    )


def test_what_is_left_out_leaves_a_gap() -> None:
    layout = TensorLayout(1, "clamp_to_edge").set_dimension(80).slice((0, 100))
    assert draw.text(layout, panels="tile", width=120).splitlines()[4:] == [
        "tile: 1 x 100",
        "     0    1    2    3    4    5    6    7    8    9   10   11 ..  78   79   80   81",
        "0    0    1    2    3    4    5    6    7    8    9   10   11 ..  78   79  C80  C81",
        "down: row, across: column",
        "columns 12-77, 82-99 of 0-99 are not drawn",
    ]


def test_a_panel_that_is_too_wide_goes_on_below() -> None:
    lines = draw.text(Strided((1, 12)), panels="tile", width=30).splitlines()
    assert lines[lines.index("tile: 1 x 12") + 1 :] == [
        "    0   1   2   3   4   5   6",
        "0   0   1   2   3   4   5   6",
        "    7   8   9  10  11",
        "0   7   8   9  10  11",
        "down: row, across: column",
    ]


@pytest.mark.parametrize("width", [30, 44, 80, 200])
def test_no_line_is_wider_than_asked_for(width: int) -> None:
    models = (Swizzle("64B"), Strided((40, 40), (1000, 1)), TensorLayout(3, "repeat").set_dimension(9, 9, 900))
    for model in models:
        assert max(map(len, draw.text(model, width=width).splitlines())) <= width
        assert draw.text(model, width=width).isascii()


def test_a_width_that_holds_nothing() -> None:
    with pytest.raises(draw.DrawingError, match=r"width = 29: a picture needs 30 characters"):
        draw.text(Strided((2, 2)), width=29)


def test_text_needs_no_matplotlib() -> None:
    program = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from girih import draw; from girih.addressing import Strided\n"
        "print(draw.text(Strided((1, 2)), panels='memory'))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == "Strided memref, 1 x 2"
