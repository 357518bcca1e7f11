"""Write the pictures of the documentation as SVG: work-groups, regions, masks, cooperative matrices and their
states, a kernel, the accesses of the library's kernels (tools/kernel_pictures.py), the plots of what was
measured (tools/speed_pictures.py), and the generated parts of the guide to addressing (tools/address_guide.py).

A picture draws its own panel and follows the colour scheme of the reader (`prefers-color-scheme`), so that it can be
read on a light page and on a dark one. The distribution of a cooperative matrix is taken from the layout that the
interpreter uses. `python tools/draw_pictures.py` writes docs/pictures; a test holds that they are up to date.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import girih
from girih.commands.show_picture import svg
from girih.ir.types import F32, CoopMatrix, Use
from girih.ops.tile.coopmatrix_layout import layout_of
from tools.address_guide import generated as guide
from tools.kernel_pictures import pictures as kernel_pictures
from tools.picture import Picture
from tools.speed_pictures import pictures as plots

ROOT = Path(__file__).resolve().parent.parent


def hierarchy() -> Picture:
    """The grid, one work-group, its subgroups and work-items, and the memory each of them sees."""
    p = Picture(820, 350, "A grid of work-groups; a work-group of two subgroups with eight work-items each")
    p.text(24, 34, "the grid of a launch", look="bold")
    p.text(24, 54, "kernel[3, 2](...)", "soft", "mono")
    for y in range(2):
        for x in range(3):
            chosen = (x, y) == (2, 0)
            left, top = 24 + 74 * x, 72 + 62 * y
            p.box(left, top, 66, 54, "bluish" if chosen else "off", "blue" if chosen else "edge")
            p.text(left + 33, top + 32, f"({x},{y})", look="mono", anchor="middle")
    p.text(24, 218, "group_id.x: to the right", "soft", "small")
    p.text(24, 234, "group_id.y: downwards", "soft", "small")
    p.line(238, 72, 276, 26, "blue", "4 3")
    p.line(238, 126, 276, 256, "blue", "4 3")
    p.box(276, 24, 520, 234, "bluish", "blue", 8)
    p.text(292, 48, "work-group (2,0)", look="bold")
    p.text(780, 48, "subgroup_size=8, work_group_size=[16, 1]", "soft", "mono small", "end")
    for s in range(2):
        top = 62 + 70 * s
        p.box(292, top, 488, 60, "greenish", "green", 6)
        p.text(304, top + 35, f"subgroup {s}", look="bold")
        for lane in range(8):
            left = 402 + 47 * lane
            p.box(left, top + 10, 40, 40, "amberish", "amber")
            p.text(left + 20, top + 35, str(lane), look="mono", anchor="middle")
    p.text(402, 216, "work-items; the number is subgroup_local_id, the lane", "soft", "small")
    p.box(292, 224, 488, 24, "violetish", "violet")
    p.text(536, 241, "local memory: alloca, seen by this work-group only", look="small", anchor="middle")
    p.box(24, 292, 772, 32, "violetish", "violet")
    p.text(410, 313, "global memory: the arrays of the call, seen by all work-groups", anchor="middle")
    p.arrow(536, 259, 536, 290, "violet")
    p.arrow(130, 242, 130, 290, "violet")
    return p


def orders() -> Picture:
    """An array of two rows in memory, and its modes in both orders."""
    p = Picture(880, 300, 'An array of shape (2, 3) in memory, and the memrefs that it is with order="C" and "F"')
    names = [f"A[{i}, {j}]" for i in range(2) for j in range(3)]
    p.text(24, 34, "A, a row-major array of shape (2, 3), in memory", look="bold")
    for k, name in enumerate(names):
        p.box(24 + 84 * k, 48, 76, 36, "bluish" if k < 3 else "greenish", "blue" if k < 3 else "green")
        p.text(62 + 84 * k, 71, name, look="mono small", anchor="middle")
    p.text(540, 71, "the last axis is contiguous", "soft", "small")
    panels = (
        (24, 'order="C": %A is memref<f32x3x2>', "A", "mode 0, size 3: axis 1", "mode 1, size 2: axis 0"),
        (
            424,
            'order="F": pass A.T, %A is the same',
            "A.T",
            "mode 0, size 3: axis 0 of A.T",
            "mode 1, size 2: axis 1 of A.T",
        ),
    )
    for left, title, passed, down, right in panels:
        p.text(left, 130, title, look="bold")
        p.text(left, 150, f"kernel({passed})", "soft", "mono")
        p.text(left + 96, 178, right, "soft", "small")
        p.arrow(left + 84, 184, left + 84, 288)
        p.text(left + 270, 240, down, "soft", "small")
        for j in range(3):
            for i in range(2):
                x, y = left + 96 + 84 * i, 184 + 36 * j
                p.box(x, y, 76, 30, "greenish" if i else "bluish", "green" if i else "blue")
                p.text(x + 38, y + 20, names[3 * i + j], look="mono small", anchor="middle")
    return p


REGION_LINES = (
    ("func @f(...) {", "collective", "collective region: one thread, uniform values"),
    ("  gemm.n.n ...", "collective", "shared among all work-items, somehow"),
    ("  parallel {", "open", ""),
    ("    %x = load ...", "spmd", "SPMD region: each work-item, its own values"),
    ("    barrier.local", "barrier", "nobody continues before all have arrived"),
    ("    store %x ...", "spmd", ""),
    ("  }", "close", "all have arrived, and see what was stored"),
    ("  axpby ...", "collective", "collective again"),
    ("}", "end", ""),
)


def regions() -> Picture:
    """The instructions that run as one, and those that run per work-item, over time."""
    p = Picture(820, 392, "A collective region, in it an SPMD region with a barrier")
    p.text(24, 32, "the text", look="bold")
    p.text(220, 32, "who executes it", look="bold")
    p.text(500, 32, "what that means", look="bold")
    p.arrow(204, 44, 204, 372)
    for k, (code, kind, says) in enumerate(REGION_LINES):
        top = 48 + 36 * k
        p.text(24, top + 20, code, look="mono")
        p.text(500, top + 20, says, "soft", "small")
        if kind == "collective":
            p.box(222, top + 4, 256, 26, "bluish", "blue")
            p.text(350, top + 21, "the work-group", look="small", anchor="middle")
        if kind in ("spmd", "open", "close"):
            for lane in range(8):
                if kind == "spmd":
                    p.box(222 + 32.6 * lane, top + 4, 28, 26, "amberish", "amber")
                else:
                    p.line(236 + 32.6 * lane, top + 2, 236 + 32.6 * lane, top + 32, "amber")
        if kind == "barrier":
            p.box(222, top + 12, 256, 10, "rose", radius=5)
    return p


MASK_ROWS = (
    ("%i = subgroup_local_id", "11111111"),
    ("%odd = ...", "11111111"),
    ("%r = if %odd -> (i32) {", ""),
    ("  %a = mul %i, %i ...", "01010101"),
    ("} else {", ""),
    ("  %b = sub %zero, %i ...", "10101010"),
    ("}", ""),
    ("subgroup_reduce_add %r", "11111111"),
)
MASK_VALUES: dict[int, Sequence[str]] = {
    0: "01234567",
    1: "01010101",
    3: ("", "1", "", "9", "", "25", "", "49"),
    5: ("0", "", "-2", "", "-4", "", "-6", ""),
    7: ("72",) * 8,
}


def masks() -> Picture:
    """The active work-items in the two branches of an `if`."""
    p = Picture(820, 376, "Active work-items of a subgroup in the branches of an if")
    p.text(24, 32, "the text", look="bold")
    p.text(270, 32, "one subgroup, eight lanes", look="bold")
    for k, (code, active) in enumerate(MASK_ROWS):
        top = 46 + 38 * k
        p.text(24, top + 22, code, look="mono")
        for lane in range(8 if active else 0):
            on = active[lane] == "1"
            left = 270 + 44 * lane
            p.box(left, top + 2, 38, 30, "amberish" if on else "off", "amber" if on else "edge")
            if on:
                p.text(left + 19, top + 22, MASK_VALUES[k][lane], look="mono", anchor="middle")
    for top, words in ((46, "all active"), (160, "the mask is %odd"), (236, "the mask is not %odd"),
                       (312, "all active, as required")):  # fmt: skip
        p.text(640, top + 22, words, "soft", "small")
    p.box(640, 347, 12, 12, "off", "edge", 2)
    p.text(658, 357, "masked: executes nothing", "soft", "small")
    return p


SUBGROUP = 4
LANE_COLOURS = ("blue", "green", "amber", "rose")


def coopmatrix() -> Picture:
    """D := A B + C by one subgroup of four, and the work-item that holds each element."""
    p = Picture(820, 300, "Cooperative matrices of a subgroup of four work-items, coloured by the lane that holds them")
    p.text(24, 34, "cooperative_matrix_mul_add %a, %b, %c", look="mono")
    p.text(
        24, 54, "a subgroup of 4 computes D := A B + C; the colour is the lane that holds an element", "soft", "small"
    )
    specs = (("D", 8, 4, Use.ACC), ("=", 0, 0, Use.ACC), ("A", 8, 4, Use.A), ("·", 0, 0, Use.A),
             ("B", 4, 4, Use.B), ("+", 0, 0, Use.B), ("C", 8, 4, Use.ACC))  # fmt: skip
    left = 24.0
    for name, rows, columns, use in specs:
        if not rows:
            p.text(left + 16, 168, name, look="bold", anchor="middle")
            left += 36
            continue
        p.text(left + 11 * columns, 84, f"{name}, {rows}x{columns}", look="small", anchor="middle")
        _matrix(p, left, 92, CoopMatrix(F32, rows, columns, use))
        left += 22 * columns + 4
    _key(p, 560)
    p.text(24, 288, "How the vectors follow from type, use and subgroup size: girih/ops/tile/coopmatrix_layout.py",
           "soft", "small")  # fmt: skip
    return p


def _matrix(p: Picture, left: float, top: float, type: CoopMatrix) -> None:
    layout = layout_of(type, SUBGROUP)
    assert layout is not None
    for lane in range(SUBGROUP):
        for component in range(layout.components):
            row, column = layout.position(lane, component)
            if column < type.columns:
                p.box(left + 22 * column, top + 22 * row, 20, 20, LANE_COLOURS[lane], radius=3)


def _key(p: Picture, left: float) -> None:
    p.text(left, 84, "work-item vectors", look="bold")
    for lane, colour in enumerate(LANE_COLOURS):
        top = 100 + 34 * lane
        p.text(left, top + 15, f"lane {lane}", look="small")
        for component in range(8):
            p.box(left + 52 + 22 * component, top, 20, 20, colour, radius=3)
    p.text(left, 252, "extract and insert: one of these", "soft", "small")


MATRIX_STATES = (
    ("Unloaded", 24, 56, "amberish", "amber", ("a tile of a memref,", "not read yet")),
    ("Deferred", 24, 222, "amberish", "amber", ("element-wise steps,", "not carried out yet")),
    ("Reference", 316, 56, "violetish", "violet", ("a pointer, and distances", "of rows and of columns")),
    ("Repeated", 316, 139, "violetish", "violet", ("a tile of one row or column,", "operand of a Deferred")),
    ("InMemory", 316, 222, "violetish", "violet", ("a tile of the workspace,", "line after line")),
    ("SameColumns", 612, 56, "bluish", "blue", ("one line in registers,", "equal to all lines")),
    ("Splat", 612, 139, "bluish", "blue", ("one number,", "equal to all components")),
    ("Columns", 612, 222, "bluish", "blue", ("all lines in registers:", "a small matrix")),
)
"""The classes of girih/back/llvm/cpu/matrix/states.py: name, place, colours and words on the numbers."""


def matrix_states() -> Picture:
    """The places of a cooperative matrix's numbers while its kernel is compiled, and the functions that move them."""
    p = Picture(820, 424, "The states of a matrix in the code for a CPU, and the functions that move it between them")
    for words, left in (("still to be computed", 24), ("in memory", 316), ("in registers", 612)):
        p.text(left, 34, words, look="bold")
    for name, left, top, fill, stroke, lines in MATRIX_STATES:
        p.box(left, top, 184, 68, fill, stroke, 6)
        p.text(left + 12, top + 22, name, look="mono bold")
        for k, words in enumerate(lines):
            p.text(left + 12, top + 41 + 16 * k, words, "soft", "small")
    _way(p, ((208, 78), (314, 78)), (216, 70), "found")
    _way(p, ((208, 108), (260, 108), (260, 240), (314, 240)), (214, 124), "found,", "copied")
    _way(p, ((208, 272), (314, 272)), (216, 264), "to_tile", "", "Walk.close")
    _way(p, ((260, 173), (314, 173)), (202, 177), "repeated")
    _way(p, ((612, 90), (556, 90), (556, 236), (502, 236)), (561, 228), "to_tile")
    p.line(500, 90, 556, 90)
    p.line(612, 173, 556, 173)
    _way(p, ((500, 258), (610, 258)), (508, 252), "to_columns")
    _way(p, ((612, 276), (502, 276)), (530, 292), "to_tile")
    _way(p, ((116, 290), (116, 326), (704, 326), (704, 292)), (132, 318),
         "put_off and to_columns: small matrices are computed at once")  # fmt: skip
    p.text(24, 362, "Through loops and branches a matrix goes as", look="bold")
    for k, (words, fill, stroke) in enumerate((
        ("Columns: registers become phis", "bluish", "blue"),
        ("InMemory: one of two places", "violetish", "violet"),
        ("Reference: pointer and distances", "violetish", "violet"),
    )):  # fmt: skip
        p.box(24 + 262 * k, 374, 248, 30, fill, stroke)
        p.text(36 + 262 * k, 394, words, look="small")
    return p


def _way(p: Picture, points: Sequence[tuple[float, float]], at: tuple[float, float], *lines: str) -> None:
    """An arrow with corners, and its label, line by line."""
    for (x1, y1), (x2, y2) in pairwise(points[:-1]):
        p.line(x1, y1, x2, y2)
    p.arrow(*points[-2], *points[-1])
    for k, words in enumerate(lines):
        p.text(at[0], at[1] + 12 * k, words, look="mono small")


def shown() -> str:
    """The picture that `girih show` draws of the softmax of the tutorial."""
    page = (ROOT / "docs" / "tutorial" / "6-softmax.md").read_text(encoding="utf-8")
    text = page.split("```tl softmax.tl\n")[1].split("```")[0]
    return svg(girih.parse(text).functions, "softmax.tl")


PICTURES = {
    "orders": orders,
    "hierarchy": hierarchy,
    "regions": regions,
    "masks": masks,
    "coopmatrix": coopmatrix,
    "matrix-states": matrix_states,
}


def pictures() -> dict[str, str]:
    """The text of every picture by its path in the repository."""
    drawn = {name: draw().svg() for name, draw in PICTURES.items()} | {"show": shown()}
    return {f"docs/pictures/{name}.svg": text for name, text in drawn.items()} | kernel_pictures() | plots() | guide()


if __name__ == "__main__":
    for name, text in pictures().items():
        (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / name).write_text(text, encoding="utf-8")
        print(f"wrote {name}")
