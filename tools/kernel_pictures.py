"""The pictures on the pages of kernels: the parts of each operand that one work-group reads and writes.

Most are blocks of operands, drawn here; the part of a work-group follows from the table of kernels, so that picture and
page agree. Kernels that load through a tensor layout show the address model of one load instead,
with small tiles. `tools/draw_pictures.py` writes the files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from girih import draw
from girih.addressing import BlockedInterleaved, TensorLayout, TensorMap, TensorView, plan_convolution
from girih.kernels.texts import parts
from tools.picture import Picture

READ, STEP, WRITTEN = "read", "read in one turn of the loop", "written"
COLOURS = {READ: ("bluish", "blue"), STEP: ("amberish", "amber"), WRITTEN: ("greenish", "green")}
"""The fill and the edge of a block that is read, read in steps, or written."""

WHOLE, REST = 34, 10
"""The pixels of a whole block, and of the rest at an edge."""
GAP, LEFT = 40, 24
TOP = 108
"""The height at which operands begin, below the title and their names."""

Places = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Operand:
    """A matrix in blocks: the pixels of their rows and columns, and the access to those at some (row, column)."""

    name: str
    rows: Sequence[int]
    columns: Sequence[int]
    marks: dict[str, Places]
    before: str = ""
    """The words before the operand, such as an operator."""
    labels: dict[tuple[int, int], str] = field(default_factory=dict)


def blocks(whole: int, rest: bool = True) -> tuple[int, ...]:
    """The pixels of `whole` whole blocks, and of a smaller one at the edge if there is a rest."""
    return (WHOLE,) * whole + (REST,) * rest


def access(title: str, operands: Sequence[Operand], *words: str) -> str:
    """A picture of operands side by side, with a key and words below."""
    wide = LEFT + sum(_width(operand) + GAP for operand in operands) - GAP + LEFT
    longest = max(len(title) * 8.4, *(len(line) * 7.2 for line in words), 0)
    width = round(max(wide, longest + 2 * LEFT))
    bottom = TOP + max(sum(operand.rows) for operand in operands)
    p = Picture(width, bottom + 50 + 20 * len(words), title)
    p.text(LEFT, 34, title, look="bold")
    used = dict.fromkeys(mark for operand in operands for mark in operand.marks)
    _key(p, [mark for mark in COLOURS if mark in used])
    left = LEFT
    for operand in operands:
        if operand.before:
            p.text(left - GAP / 2, TOP + 24, operand.before, look="bold", anchor="middle")
        p.text(left, TOP - 10, operand.name, look="mono small")
        _operand(p, operand, left)
        left += _width(operand) + GAP
    for number, line in enumerate(words):
        p.text(LEFT, bottom + 34 + 20 * number, line, "soft", "small")
    return p.svg()


def _width(operand: Operand) -> int:
    """The width in pixels of an operand with its name, which may reach into the gap behind it."""
    return max(sum(operand.columns), round(7.8 * len(operand.name)) - GAP // 2)


def _key(p: Picture, marks: Sequence[str]) -> None:
    left = LEFT
    for mark in marks:
        p.box(left, 50, 14, 14, *COLOURS[mark], radius=3)
        p.text(left + 20, 62, mark, "soft", "small")
        left += 20 + round(7 * len(mark)) + 24


def _operand(p: Picture, operand: Operand, left: int) -> None:
    marked = {place: mark for mark, places in operand.marks.items() for place in places}
    y = TOP
    for row, high in enumerate(operand.rows):
        x = left
        for column, wide in enumerate(operand.columns):
            colours = COLOURS.get(marked.get((row, column), ""), ("off", "edge"))
            p.box(x + 0.5, y + 0.5, wide - 1, high - 1, *colours, radius=2)
            label = operand.labels.get((row, column))
            if label:
                p.text(x + wide / 2, y + high / 2 + 4, label, look="mono small", anchor="middle")
            x += wide
        y += high


def _row(row: int, columns: Sequence[int]) -> Places:
    return [(row, column) for column in range(len(columns))]


def _column(column: int, rows: Sequence[int]) -> Places:
    return [(row, column) for row in range(len(rows))]


def _per_group(name: str) -> str:
    """The sizes of a work-group's part, in words: `32 x 32`."""
    return " x ".join(str(many) for _, many in parts(name))


def product(name: str) -> str:
    """A tile of C from a row of tiles of A and a column of tiles of B."""
    m, n, k = blocks(3), blocks(4), blocks(2)
    return access(
        f"{name}: work-group (1, 2) computes {_per_group(name)} elements",
        (
            Operand("C, M x N", m, n, {WRITTEN: [(1, 2)]}),
            Operand("A, M x K", m, k, {READ: _row(1, k), STEP: [(1, 1)]}, ":="),
            Operand("B, K x N", k, n, {READ: _column(2, k), STEP: [(1, 2)]}, "·"),
        ),
        "The loop walks along K. Blocks at the edge are smaller, and loaded with checks.",
    )


def gemm_epilogue() -> str:
    """A tile of C from a row of tiles of A, a column of tiles of B, and the ends."""
    m, n, k = blocks(3), blocks(4), blocks(1)
    return access(
        f"gemm_epilogue: work-group (1, 2) computes {_per_group('gemm_epilogue')} elements",
        (
            Operand("C, M x N", m, n, {WRITTEN: [(1, 2)]}),
            Operand("A, M x K", m, k, {READ: _row(1, k), STEP: [(1, 0)]}, ":="),
            Operand("B, K x N", k, n, {READ: _column(2, k), STEP: [(0, 2)]}, "·"),
            Operand("bias", m, (16,), {READ: [(1, 0)]}, "+"),
            Operand("R, M x N", m, n, {READ: [(1, 2)]}, "+"),
        ),
        "A bias of rows is shown. All that follows the product happens on its way to C.",
    )


def gemm_collective() -> str:
    """A tile of C by one instruction."""
    m, n = blocks(3), blocks(4)
    return access(
        f"gemm_collective: work-group (1, 2) computes {_per_group('gemm_collective')} elements",
        (
            Operand("C, M x N", m, n, {WRITTEN: [(1, 2)]}),
            Operand("A, M x K", m, (90,), {READ: [(1, 0)]}, ":="),
            Operand("B, K x N", (90,), n, {READ: [(0, 2)]}, "·"),
        ),
        "One collective instruction takes the rows of A and the columns of B whole.",
    )


def gemm_tall_skinny() -> str:
    """Rows of C from rows of A and all of B."""
    m = blocks(4)
    return access(
        f"gemm_tall_skinny: work-group 1 computes {_per_group('gemm_tall_skinny')} rows",
        (
            Operand("C, M x N", m, (46,), {WRITTEN: [(1, 0)]}),
            Operand("A, M x K", m, (60,), {READ: [(1, 0)]}, ":="),
            Operand("B, K x N", (60,), (46,), {READ: [(0, 0)]}, "·"),
        ),
    )


def gemm_batched() -> str:
    """One product of many."""
    p = (46,) * 4
    return access(
        "gemm_batched: work-group 2 computes product 2",
        (
            Operand("C, M x N x products", (46,), p, {WRITTEN: [(0, 2)]}),
            Operand("A, M x K x products", (46,), p, {READ: [(0, 2)]}, ":="),
            Operand("B, K x N x products", (46,), p, {READ: [(0, 2)]}, "·"),
        ),
        "The third mode counts products; a matrix is a block here.",
    )


def gemv() -> str:
    """Elements of y from rows of A."""
    m = blocks(4)
    return access(
        f"gemv: work-group 1 computes {_per_group('gemv')} elements",
        (
            Operand("y", m, (16,), {WRITTEN: [(1, 0)]}),
            Operand("A, M x N", m, (150,), {READ: [(1, 0)]}, ":="),
            Operand("x", (150,), (16,), {READ: [(0, 0)]}, "·"),
        ),
    )


def ger() -> str:
    """A tile of C from pieces of x and y."""
    m, n = blocks(3), blocks(4)
    return access(
        f"ger: work-group (1, 2) computes {_per_group('ger')} elements",
        (
            Operand("C, M x N", m, n, {WRITTEN: [(1, 2)]}),
            Operand("x", m, (16,), {READ: [(1, 0)]}, ":="),
            Operand("y, lying", (16,), n, {READ: [(0, 2)]}, "·"),
        ),
    )


def product_of_work_group() -> str:
    """A tile of C by matrices that the whole work-group has."""
    m, n, k = blocks(3), blocks(4), blocks(2)
    return access(
        f"gemm_work_group: work-group (1, 2) computes {_per_group('gemm_work_group')} elements",
        (
            Operand("C, M x N", m, n, {WRITTEN: [(1, 2)]}),
            Operand("A, M x K", m, k, {READ: _row(1, k), STEP: [(1, 1)]}, ":="),
            Operand("B, K x N", k, n, {READ: _column(2, k), STEP: [(1, 2)]}, "·"),
        ),
        "The loop walks along K. Tiles at the edge are as large, and clamped: zeros lie outside.",
    )


def quantized_product(name: str) -> str:
    """A tile of C from rows of W in blocks of weights."""
    m, n, k = (WHOLE,) * 3, (22,) * 3, (20,) * 6
    return access(
        f"{name}: work-group (1, 2) computes {_per_group(name)} elements",
        (
            Operand("C, M x N", m, n, {WRITTEN: [(1, 2)]}),
            Operand("W, M x K in blocks of 32", m, k, {READ: _row(1, k), STEP: [(1, 2), (1, 3)]}, ":="),
            Operand("X, K x N", k, n, {READ: _column(2, k), STEP: [(2, 2), (3, 2)]}, "·"),
        ),
        "A turn takes two blocks of 32 weights from each row, and decodes them while it loads.",
    )


def quantized_vector(name: str) -> str:
    """Elements of y from rows of W in blocks of weights."""
    m, k = (14,) * 9, (26,) * 6
    mine = [(row, column) for row in range(3, 6) for column in range(6)]
    return access(
        f"{name}: work-group 1 computes {_per_group(name)} elements, here 3",
        (
            Operand("y", m, (16,), {WRITTEN: [(row, 0) for row in range(3, 6)]}),
            Operand("W, M x K in blocks of 32", m, k, {READ: mine, STEP: [(4, 2)]}, ":="),
            Operand("x", k, (16,), {READ: _column(0, k), STEP: [(2, 0)]}, "·"),
        ),
        "Rows of W one by one, as they lie in memory; a turn decodes a block of 32 weights.",
    )


def vector_of_blocks(name: str) -> str:
    """Elements of y from blocks of weights of many rows, and a block of the vector."""
    m, k = (14,) * 9, (26,) * 6
    mine = [(row, column) for row in range(3, 6) for column in range(6)]
    return access(
        f"{name}: work-group 1 computes {_per_group(name)} elements, here 3",
        (
            Operand("y", m, (16,), {WRITTEN: [(row, 0) for row in range(3, 6)]}),
            Operand("W, M x K in blocks of 32", m, k, {READ: mine, STEP: [(row, 2) for row in range(3, 6)]}, ":="),
            Operand("x, in blocks of 32", k, (16,), {READ: _column(0, k), STEP: [(2, 0)]}, "·"),
        ),
        "A turn multiplies a block of each row by a block of x, in integers.",
    )


def vectors(name: str, formula: str, result: str, *others: str) -> str:
    """A piece of some vectors."""
    n = (46, 46, 46, 46, 14)
    found = access(
        f"{name}: work-group 2 takes {_per_group(name)} elements",
        (
            *(Operand(other, (22,), n, {READ: [(0, 2)]}) for other in others),
            Operand(result, (22,), n, {WRITTEN: [(0, 2)]}),
        ),
        formula,
    )
    return found


def columns(name: str, result: str, argument: str) -> str:
    """A column at a time, its elements dealt out to the lanes."""
    n, lanes = (18,) * 6, (30,) * 8
    dealt = {(0, column): lane for column, lane in enumerate(("0", "1", "...", "31", "0", "1", "...", "31"))}
    rows = (16,) if result.startswith("I") else (120,)
    return access(
        f"{name}: work-group 3 takes column 3",
        (
            Operand(result, rows, n, {WRITTEN: [(0, 3)]}),
            Operand(f"{argument}, N x columns", (120,), n, {READ: [(0, 3)]}, ":="),
            Operand("column 3, lying", (26,), lanes, {READ: _row(0, lanes)}, "", dealt),
        ),
        "The numbers are lanes: work-item i of 32 takes the elements i, i + 32, i + 64 and so on.",
    )


def attention(name: str, keys_at_once: int) -> str:
    """Some queries against all keys of a head."""
    n, keys = (26,) * 4, (26,) * 4
    return access(
        f"{name}: work-group (1, head) takes {parts(name)[0][1]} queries",
        (
            Operand("O, headdim x queries", (64,), n, {WRITTEN: [(0, 1)]}),
            Operand("Q, the same", (64,), n, {READ: [(0, 1)]}, ":="),
            Operand("K, headdim x keys", (64,), keys, {READ: _row(0, keys), STEP: [(0, 2)]}),
            Operand("V, the same", (64,), keys, {READ: _row(0, keys), STEP: [(0, 2)]}),
        ),
        f"One head. A turn takes {keys_at_once} keys and their values; the scores live in matrices, not in memory.",
        "Causal, the loop ends with the tile of the last query: here after the second tile of keys.",
    )


def transpose() -> str:
    """A tile through local memory."""
    m, n = blocks(3), blocks(4)
    return access(
        f"transpose: work-group (1, 2) moves {_per_group('transpose')} elements",
        (
            Operand("A, M x N", m, n, {READ: [(1, 2)]}),
            Operand("local", (WHOLE,), (WHOLE,), {WRITTEN: [(0, 0)]}, "→"),
            Operand("B, N x M", n, m, {WRITTEN: [(2, 1)]}, "→"),
        ),
        "Neighbouring work-items read neighbours of A and write neighbours of B; the turn happens in local memory.",
    )


def scan() -> str:
    """The second launch: a block, and the sums of the blocks before it."""
    n = (46, 46, 46, 46, 14)
    return access(
        f"scan, second launch: work-group 2 takes {_per_group('scan')} elements",
        (
            Operand("X", (22,), n, {READ: [(0, 2)]}),
            Operand("T", (22,), (22,) * 5, {READ: [(0, 0), (0, 1)]}),
            Operand("Y", (22,), n, {WRITTEN: [(0, 2)]}),
        ),
        "T has the sum of each block, from the first launch; those of the blocks before are added up.",
    )


def histogram() -> str:
    """A piece of X, and all counters."""
    n, bins = (46, 46, 46, 46, 14), (20,) * 8
    return access(
        f"histogram: work-group 2 takes {_per_group('histogram')} elements",
        (
            Operand("X", (22,), n, {READ: [(0, 2)]}),
            Operand("H, a counter for each number", (22,), bins, {WRITTEN: _row(0, bins)}),
        ),
        "All work-groups add to the same counters, hence atomic updates.",
    )


def stencil() -> str:
    """A piece of a layer, and the rim around it."""
    rows, columns = (28, 12, 64, 12, 28), (36, 12, 34, 12, 36)
    star = [(2, 2), (1, 2), (3, 2), (2, 1), (2, 3)]
    return access(
        f"stencil: work-group (1, 1, k) computes {_per_group('stencil')} elements of layer k",
        (
            Operand("V, layer k", (46, 64, 34), (48, 34, 62), {WRITTEN: [(1, 1)]}),
            Operand("U, layer k + 4", rows, columns, {READ: star}, ":="),
            Operand("U, four layers to each side", rows, columns, {READ: [(2, 2)]}, "+"),
        ),
        "The rim is four elements wide. A star has no corners: those elements are not read.",
    )


def small_matrices(name: str, *others: str) -> str:
    """One matrix of many, a row for each lane."""
    p, rows = (36,) * 4, (20,) * 4
    dealt = {(row, 0): str(row) for row in range(4)}
    return access(
        f"{name}: work-group 2 takes matrix 2",
        (
            Operand(f"{others[0]}, like A", (36,), p, {WRITTEN: [(0, 2)]}),
            *(Operand(other, (22,), p, {WRITTEN: [(0, 2)]}) for other in others[1:]),
            Operand("A, n x n x matrices", (36,), p, {READ: [(0, 2)]}, ":="),
            Operand("matrix 2", rows, (80,), {READ: _column(0, rows)}, "", dealt),
        ),
        "The third mode counts matrices; a matrix is a block here.",
        "The numbers are lanes: each has a row of the matrix.",
    )


def top_k() -> str:
    """A column, and what was found in it."""
    n = (18,) * 6
    return access(
        "top_k: work-group 3 takes column 3",
        (
            Operand("V, k x columns", (40,), n, {WRITTEN: [(0, 3)]}),
            Operand("I, the same", (40,), n, {WRITTEN: [(0, 3)]}),
            Operand("A, N x columns", (120,), n, {READ: [(0, 3)]}, ":="),
            Operand("column 3, lying", (26,), (30,) * 8, {READ: _row(0, (30,) * 8), STEP: [(0, 2)]}),
        ),
        "A turn of the loop takes 32 elements, and keeps those that may be among the k largest.",
    )


def cross_entropy() -> str:
    """A column of logits and its class."""
    n = (18,) * 6
    return access(
        "cross_entropy: work-group 3 takes column 3",
        (
            Operand("L, one a column", (16,), n, {WRITTEN: [(0, 3)]}),
            Operand("A, classes x columns", (120,), n, {READ: [(0, 3)]}, ":="),
            Operand("T, one a column", (16,), n, {READ: [(0, 3)]}),
        ),
        "The gradient reads and writes the same column, and reads its factor.",
    )


def rotary() -> str:
    """The halves of some vectors of a head."""
    n = (46,) * 4
    return access(
        f"rotary: work-group (2, head) takes {parts('rotary')[0][1]} vectors",
        (
            Operand("Y, size x places", (40, 40), n, {WRITTEN: [(0, 2), (1, 2)]}),
            Operand("X, the same", (40, 40), n, {READ: [(0, 2), (1, 2)]}, ":="),
            Operand("C, S, size / 2 x places", (40,), n, {READ: [(0, 2)]}),
        ),
        "One head. An element of the upper half is turned with one of the lower half.",
        "Interleaved, it is turned with its neighbour.",
    )


def transposed_load() -> str:
    """The load of a tile at the edge, through the view that swaps the dimensions."""
    layout = TensorLayout(2, "constant").set_dimension(5, 7).slice((4, 4), (4, 4))
    swapped = TensorView(2, permutation=(1, 0))
    return draw.svg(layout, view=swapped, rows=4, columns=4, panels=("tile", "tensor"))


def patches() -> str:
    """The load of a patch of 2 x 2 pixels with three channels that hangs over the edge."""
    layout = TensorLayout(3, "constant").set_dimension(4, 5, 3).slice((2, 2), (4, 2), (0, 3))
    turned = TensorView(3, permutation=(1, 2, 0))
    return draw.svg(layout, view=turned, rows=6, columns=2, panels=("tile", "memory"), memory_columns=15)


def space_to_depth() -> str:
    """The load of the upper pixels of four squares, two channels."""
    layout = TensorLayout(5, "constant").set_dimension(2, 2, 4, 2, 2).slice((1, 1), (0, 1), (0, 4), (0, 2), (0, 2))
    pairs = TensorView(5, permutation=(3, 4, 0, 1, 2))
    return draw.svg(layout, view=pairs, rows=4, columns=4, panels=("tile", "memory"), memory_columns=16)


def convolution() -> str:
    """The load for one tap: six output pixels of stride 2 read every second pixel of a row, two channels."""
    layout = TensorLayout(4, "constant").set_dimension(1, 3, 9, 2).slice((0, 1), (1, 1), (-1, 12), (0, 2))
    view = TensorView(4, has_dimensions=True, permutation=(3, 0, 1, 2)).set_dimension(1, 1, 6, 2)
    strided = view.set_stride(24, 24, 4, 1)
    return draw.svg(layout, view=strided, rows=2, columns=6, panels=("tile", "memory"), memory_columns=18)


def blocked_interleaved() -> str:
    """Four rows of f32 in two blocks, interleaved."""
    return draw.svg(BlockedInterleaved("row", 4, 8, 4, 2))


def copy_boxes() -> str:
    """A box through local memory."""
    m, n = blocks(3), blocks(4)
    return access(
        "copy_boxes: work-group (2, 1) copies a box",
        (
            Operand("A", m, n, {READ: [(1, 2)]}),
            Operand("local", (WHOLE,), (WHOLE,), {WRITTEN: [(0, 0)]}, "→"),
            Operand("B", m, n, {WRITTEN: [(1, 2)]}, "→"),
        ),
        "A row of the picture is a row of the map: dimension 0 lies from left to right.",
        "In local memory the box is swizzled, if the maps say so.",
    )


def gather_rows() -> str:
    """Four rows at a time, from anywhere in a table."""
    table, columns = (14,) * 9, (WHOLE,) * 3
    numbers = (2, 7, 3, 0)
    return access(
        "gather_rows: work-group (1, 0) fetches boxes of 32 rows, here 4",
        (
            Operand("I", (14,) * 4, (22,), {READ: [(row, 0) for row in range(4)]}, "",
                    {(row, 0): str(number) for row, number in enumerate(numbers)}),
            Operand("A, rows by number", table, columns, {READ: [(number, 1) for number in sorted(numbers)]}),
            Operand("B", (14,) * 4, columns, {WRITTEN: [(row, 1) for row in range(4)]}, "→"),
        ),
        "One copy fetches four rows; one store writes all 32.",
    )  # fmt: skip


def sum_layers() -> str:
    """A box of every second row of a layer, added to a sum."""
    taken = [(row, 1) for row in range(4, 8, 2)]
    return access(
        "sum_layers, stride 2: work-group (1, 1, layer) adds a box to S",
        (
            Operand("S", (20,) * 5, (WHOLE,) * 3, {WRITTEN: [(2, 1), (3, 1)]}),
            Operand("A, one layer", (10,) * 10, (WHOLE,) * 3, {READ: taken}, "+="),
        ),
        "Other work-groups add other layers to the same box of S, in any order.",
    )


def convolution_im2col() -> str:
    """The column for one tap: six output pixels of stride 2 read every second pixel of some rows, eight channels."""
    plan = plan_convolution(dtype="f32", global_dim=(8, 7, 5, 2), filter=(3, 3), padding=(1, 1), stride=(2, 2),
                            channels_per_pixel=8, pixels_per_column=6)  # fmt: skip
    return draw.svg(plan.tensor_map, coordinates=plan.coordinates(0), offsets=plan.offsets((0, 1)),
                    panels=("tensor", "shared"))  # fmt: skip


def unpack_4_bits() -> str:
    """A box of 128 numbers in two rows, as a copy spreads it."""
    given = TensorMap.tiled(dtype="b4x16_p64", global_dim=(128, 4), global_strides=(64,), box_dim=(128, 2),
                            architecture="sm_100a")  # fmt: skip
    return draw.svg(given, coordinates=(0, 1), panels=("shared",))


PICTURES: dict[str, Callable[[], str]] = {
    **{name: partial(product, name) for name in ("gemm", "gemm_mixed")},
    "gemm_work_group": product_of_work_group,
    **{
        name: partial(quantized_product, name)
        for name in (
            "gemm_q4_0",
            "gemm_q4_0_work_group",
            "gemm_q8_0",
            "gemm_q8_0_work_group",
        )
    },
    **{name: partial(quantized_vector, name) for name in ("gemv_q4_0", "gemv_q8_0")},
    **{name: partial(vector_of_blocks, name) for name in ("gemv_q4_0_q8_0", "gemv_q8_0_q8_0")},
    **{name: partial(columns, name, "Y, N x columns", "X") for name in ("layernorm", "rms_norm")},
    "argmax": partial(columns, "argmax", "I, one a column", "A"),
    "axpby": partial(vectors, "axpby", "y is also read, unless beta is 0.", "y", "x"),
    "hadamard": partial(vectors, "hadamard", "z is also read, unless beta is 0.", "z", "x", "y"),
    "softmax": partial(columns, "softmax", "B, N x columns", "A"),
    "cholesky": partial(small_matrices, "cholesky", "L", "I"),
    "inverse": partial(small_matrices, "inverse", "B", "I"),
    "lu": partial(small_matrices, "lu", "F", "P", "I"),
    "attention": partial(attention, "attention", 32),
    "attention_work_group": partial(attention, "attention_work_group", 32),
    "blocked_interleaved": blocked_interleaved,
    "convolution": convolution,
    "convolution_im2col": convolution_im2col,
    "copy_boxes": copy_boxes,
    "gather_rows": gather_rows,
    "sum_layers": sum_layers,
    "unpack_4_bits": unpack_4_bits,
    "gemm_batched": gemm_batched,
    "gemm_collective": gemm_collective,
    "gemm_epilogue": gemm_epilogue,
    "gemm_tall_skinny": gemm_tall_skinny,
    "gemv": gemv,
    "cross_entropy": cross_entropy,
    "ger": ger,
    "histogram": histogram,
    "patches": patches,
    "rotary": rotary,
    "scan": scan,
    "space_to_depth": space_to_depth,
    "stencil": stencil,
    "top_k": top_k,
    "transpose": transpose,
    "transposed_load": transposed_load,
}
"""The pictures by kernel."""


def pictures() -> dict[str, str]:
    """The text of every picture by its path in the repository."""
    return {f"docs/pictures/kernels/{name}.svg": drawn() for name, drawn in PICTURES.items()}
