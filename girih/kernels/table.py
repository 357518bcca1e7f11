"""The kernels of the library as a table: what each computes, its definitions, its functions and its grid.

The texts are beside this file, `NAME.tl`; their header comments say more, and give each definition its default.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import TypeGuard

from girih.lazy_dataclass import dataclass

Choice = tuple[str, ...] | tuple[bool, ...] | tuple[int, ...] | range
"""The values that a definition may have: some values, or the whole numbers of a range."""

FLOATING = ("f16", "bf16", "f32", "f64")
INTEGER = ("i8", "i16", "i32", "i64")
COMPLEX = ("c32", "c64")
EVERY = (*INTEGER, *FLOATING, *COMPLEX)
PIXEL = ("i8", "i16", *FLOATING)
TRUTH = (False, True)
SIZE = range(1, 2**31)
SMALL = range(1, 65)
"""The rows of matrices that a work-group of one subgroup has, one for each work-item at most."""
ROWS_OF_A_WORK_ITEM = 8
"""The rows up to which a work-item takes a whole matrix."""

TILE = (16, 32, 64, 128, 256)
"""The rows and columns of matrices of a work-group; a device lists which of them it has."""
WORK_ITEMS = (64, 128, 256, 512)
"""The work-items that have such matrices together; mostly a device lists 128 and 256."""

BLOCK_COLUMNS = {"i8": 16, "i32": 4, "f16": 8, "bf16": 8, "f32": 4, "f64": 2}
"""The columns of an interleaved block, 16 bytes, by type (002 "Cooperative Matrix Layout")."""

MAPPED = ("i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64")
"""The types that the elements of a tensor map may have."""

BOX_COLUMNS = (16, 32, 64, 128, 256)
"""The columns of boxes of tensor maps; they take a multiple of 16 bytes in every type."""

PADDING = {"zero": "constant", "edge": "clamp_to_edge", "mirror": "mirror_repeat"}
"""The clamp mode of a tensor layout (001 4.1.X) by the word for what is outside of an image."""

ACTIVATIONS = {"gelu": "gelu", "gelu_tanh": "gelu_tanh", "silu": "silu", "relu": "relu"}
"""The definition of `gemm_epilogue` by the function of elements that the product ends with."""

BIASES = {"rows": "bias_of_rows", "columns": "bias_of_columns"}
"""The definition of `gemm_epilogue` by what has an element of the bias."""

WIDER = {
    "i8": ("i32", "i64"),
    "i16": ("i32", "i64"),
    "i32": ("i32", "i64"),
    "i64": ("i64",),
    "f16": ("f32", "f16"),
    "bf16": ("f32", "bf16"),
    "f32": ("f32", "f64"),
    "f64": ("f64",),
    "c32": ("c32", "c64"),
    "c64": ("c64",),
}
"""The types in which products of a type may be summed, the preferred one first."""


@dataclass(frozen=True, slots=True)
class LibraryEntry:
    """A kernel: a line that describes it, the choices of its definitions, its grid, and its functions."""

    says: str
    definitions: Mapping[str, Choice]
    grid: tuple[tuple[str, int | str], ...]
    """For each mode of the grid, the size that it follows from, and how much of that a work-group takes.

    A word is the definition that says so.
    """
    functions: tuple[str, ...] = ()
    """The functions of the text; empty stands for one with the name of the kernel."""


_TYPED = {"type": EVERY}
_SUMMED = {"type": EVERY, "accumulator": ("i32", "i64", "f16", "bf16", "f32", "f64", "c32", "c64")}
_COLUMN = {"type": FLOATING, "accumulator": ("f32", "f64")}
_TRANSPOSED = {"transpose_a": TRUTH, "transpose_b": TRUTH}
_ACTIVATIONS = {"type": ("f32", "bf16")}
_HALF = ("f16", "bf16")
_TILES_OF_PRODUCTS = {"rows": TILE, "columns": TILE, "depth": TILE, "items": WORK_ITEMS}
_TILES = {"rows": range(32, 1025, 32), "columns": range(1, 1025), "depth": range(1, 1025)}
_GRID_OF_TILES = (("rows of the result", "rows"), ("columns of the result", "columns"))
_COLUMNS = (("columns", 1),)
_MATRICES = (("matrices", 1),)
_PRODUCTS = (("products", 1),)


def _tiles(size: int) -> tuple[tuple[str, int], ...]:
    return (("rows of the result", size), ("columns of the result", size))


def _padded(dim: int) -> tuple[str, ...]:
    """The types of tensor layouts of `dim` dimensions whose clamp modes pad."""
    return tuple(f"tensor_layout<{dim},{mode}>" for mode in PADDING.values())


TABLE: dict[str, LibraryEntry] = {
    "ader_dg": LibraryEntry(
        "a chain of small products fused in one kernel: the predictor of an ADER-DG scheme",
        {"type": ("f32", "f64"), "convergence_order": range(2, 8)},
        (("elements", 1),),
    ),
    "argmax": LibraryEntry(
        "where each column has its largest element, by subgroup reductions",
        {"type": (*INTEGER, *FLOATING)},
        _COLUMNS,
    ),
    "attention": LibraryEntry(
        "flash attention, forward, with a causal mask and grouped heads",
        {
            "type": ("f16", "bf16", "f32"),
            "headdim": range(1, 1025),
            "causal": TRUTH,
            "fast": TRUTH,
            "queries": TILE[1:],
            "keys": TILE,
        },
        (("queries", "queries"), ("heads", 1)),
    ),
    "attention_work_group": LibraryEntry(
        "flash attention with matrices of the work-group, for GPUs with tensor cores",
        {
            "type": _HALF,
            "headdim": range(16, 513, 16),
            "causal": TRUTH,
            "fast": TRUTH,
            "queries": TILE,
            "keys": TILE,
            "items": WORK_ITEMS,
        },
        (("queries", "queries"), ("heads", 1)),
    ),
    "axpby": LibraryEntry("y := alpha x + beta y", _TYPED, (("elements", 1024),)),
    "blocked_interleaved": LibraryEntry(
        "a matrix in interleaved blocks of 4 rows of 16 bytes, and back",
        {"type": tuple(BLOCK_COLUMNS), "block": (2, 4, 8, 16), "stride": (1, 2, 4)},
        (("rows", 16),),
        ("pack_rows", "unpack_rows", "pack_columns", "unpack_columns"),
    ),
    "cholesky": LibraryEntry(
        "the Cholesky factorizations of many small matrices",
        {"type": ("f32", "f64"), "n": SMALL, "upper": TRUTH},
        _MATRICES,
        ("cholesky", "cholesky_small"),
    ),
    "convolution": LibraryEntry(
        "images convolved with filters: strides, dilation, and padding of zeros, of the nearest pixel, or mirrored",
        {
            "type": PIXEL,
            "accumulator": ("i32", "i64", "f32", "f64"),
            "stride": range(1, 65),
            "dilation": range(1, 65536),
            "layout": _padded(4),
            "depth": range(1, 129),
        },
        (("output channels", 64), ("columns of the result", 28), ("rows of all results", 1)),
    ),
    "convolution_im2col": LibraryEntry(
        "images convolved with filters through an im2col tensor map: strides, dilation, and padding of zeros",
        {
            "type": ("f16", "bf16", "f32"),
            "accumulator": ("f32", "f64"),
            "stride": range(1, 9),
            "dilation": range(1, 256),
            "depth": (8, 16, 32, 64, 128),
        },
        (("output channels", 64), ("pixels of all results", 32)),
    ),
    "copy_boxes": LibraryEntry(
        "a matrix copied box by box through tensor maps, swizzled or not",
        {"type": MAPPED, "columns": BOX_COLUMNS, "rows": range(1, 257)},
        (("columns of boxes", 1), ("rows of boxes", 1)),
    ),
    "cross_entropy": LibraryEntry(
        "the cross entropy of columns of logits and their classes, and its gradient",
        {**_COLUMN, "index": ("i64", "i32"), "ignore_index": range(-(2**31), 2**31)},
        _COLUMNS,
        ("cross_entropy", "cross_entropy_gradient"),
    ),
    "gather_rows": LibraryEntry(
        "rows of a table by their numbers, four at a time through a tensor map, as for embeddings",
        {"type": MAPPED, "index": ("i64", "i32"), "columns": BOX_COLUMNS[1:]},
        (("columns of boxes", 1), ("rows of the result", 32)),
    ),
    "gemm": LibraryEntry(
        "C := alpha op(A) op(B) + beta C for matrices of any size, with cooperative matrices",
        {**_SUMMED, **_TRANSPOSED, **_TILES},
        _GRID_OF_TILES,
    ),
    "gemm_batched": LibraryEntry(
        "many small products of one size, side by side along the third mode",
        {**_TYPED, "M": SIZE, "N": SIZE, "K": SIZE},
        _PRODUCTS,
        ("gemm_batched_nn", "gemm_batched_nt", "gemm_batched_tn", "gemm_batched_tt"),
    ),
    "gemm_batched_group": LibraryEntry(
        "many small products whose matrices lie anywhere and may differ in size",
        {**_TYPED, **_TRANSPOSED},
        _PRODUCTS,
    ),
    "gemm_collective": LibraryEntry(
        "C := alpha op(A) op(B) + beta C for matrices of any size, with the collective instruction",
        {**_TYPED, **_TRANSPOSED},
        _tiles(128),
    ),
    "gemm_epilogue": LibraryEntry(
        "C := f(op(A) op(B) + bias) + R: a product with bias, activation and residual",
        {
            **_COLUMN,
            **_TRANSPOSED,
            **dict.fromkeys(BIASES.values(), TRUTH),
            **dict.fromkeys(ACTIVATIONS.values(), TRUTH),
            "residual": TRUTH,
            **_TILES,
        },
        _GRID_OF_TILES,
    ),
    "gemm_mixed": LibraryEntry(
        "C := A B with products of narrow and sums of wide numbers",
        {"type": ("i8", "i16", "f16", "bf16"), "accumulator": ("i32", "i64", "f32"), **_TILES},
        _GRID_OF_TILES,
    ),
    "gemm_q4_0": LibraryEntry(
        "C := W X with 4-bit weights in blocks of 32 with a common scale",
        _ACTIVATIONS,
        (("rows of the result", 64), ("columns of the result", 32)),
    ),
    "gemm_q4_0_work_group": LibraryEntry(
        "C := W X with 4-bit weights and matrices of the work-group, for GPUs with tensor cores",
        {"type": _HALF, **_TILES_OF_PRODUCTS, "depth": TILE[1:]},
        _GRID_OF_TILES,
    ),
    "gemm_q8_0": LibraryEntry(
        "C := W X with 8-bit weights in blocks of 32 with a common scale",
        _ACTIVATIONS,
        (("rows of the result", 64), ("columns of the result", 32)),
    ),
    "gemm_q8_0_work_group": LibraryEntry(
        "C := W X with 8-bit weights and matrices of the work-group, for GPUs with tensor cores",
        {"type": _HALF, **_TILES_OF_PRODUCTS, "depth": TILE[1:]},
        _GRID_OF_TILES,
    ),
    "gemm_tall_skinny": LibraryEntry(
        "C := alpha A B + beta C for a tall A with few columns",
        {**_TYPED, "N": SIZE, "K": SIZE},
        (("rows of the result", 128),),
    ),
    "gemm_work_group": LibraryEntry(
        "C := A B for f16 or bf16 with matrices of the work-group, for GPUs with tensor cores",
        {"type": _HALF, "result": ("f16", "bf16", "f32"), **_TILES_OF_PRODUCTS},
        _GRID_OF_TILES,
    ),
    "gemv": LibraryEntry(
        "y := alpha op(A) x + beta y",
        {**_TYPED, "transpose_a": TRUTH, "rows": SIZE},
        (("elements of the result", "rows"),),
    ),
    "gemv_q4_0": LibraryEntry(
        "y := W x with 4-bit weights in blocks of 32 with a common scale",
        _ACTIVATIONS,
        (("elements of the result", 64),),
    ),
    "gemv_q4_0_q8_0": LibraryEntry(
        "y := W x with 4-bit weights and a vector of 8-bit numbers, both in blocks of 32 with a common scale",
        _ACTIVATIONS,
        (("elements of the result", 64),),
    ),
    "gemv_q8_0": LibraryEntry(
        "y := W x with 8-bit weights in blocks of 32 with a common scale",
        _ACTIVATIONS,
        (("elements of the result", 64),),
    ),
    "gemv_q8_0_q8_0": LibraryEntry(
        "y := W x with 8-bit weights and a vector of 8-bit numbers, both in blocks of 32 with a common scale",
        _ACTIVATIONS,
        (("elements of the result", 64),),
    ),
    "ger": LibraryEntry("C := alpha x y^T + beta C", _TYPED, _tiles(64)),
    "hadamard": LibraryEntry("z := alpha x * y + beta z, element by element", _TYPED, (("elements", 1024),)),
    "histogram": LibraryEntry(
        "how often each number occurs, with atomic updates",
        {"type": INTEGER, "bins": range(1, 16385)},
        (("elements", 4096),),
    ),
    "inverse": LibraryEntry(
        "the inverses of many small matrices, with partial pivoting",
        {"type": ("f32", "f64"), "n": SMALL},
        _MATRICES,
    ),
    "layernorm": LibraryEntry("LayerNorm of each column", _COLUMN, _COLUMNS),
    "lu": LibraryEntry(
        "the LU factorizations of many small matrices, with partial pivoting",
        {"type": ("f32", "f64"), "n": SMALL, "transpose": TRUTH},
        _MATRICES,
    ),
    "patches": LibraryEntry(
        "an image cut into square patches",
        {"type": PIXEL, "size": range(1, 33), "channels": range(1, 65), "layout": _padded(3)},
        (("rows of patches", 1), ("columns of patches", 32)),
    ),
    "rms_norm": LibraryEntry("RMSNorm of each column", _COLUMN, _COLUMNS),
    "rotary": LibraryEntry(
        "rotary embedding: pairs of elements turned by angles of their places",
        {**_COLUMN, "interleaved": TRUTH},
        (("places", 16), ("heads", 1)),
    ),
    "scan": LibraryEntry(
        "the inclusive scan of a long vector, in two launches",
        {"type": (*INTEGER, *FLOATING)},
        (("elements", 1024),),
        ("scan_totals", "scan"),
    ),
    "softmax": LibraryEntry("softmax of each column", _COLUMN, _COLUMNS),
    "space_to_depth": LibraryEntry(
        "squares of 2 x 2 pixels become pixels with four times as many channels",
        {"type": PIXEL, "channels": range(1, 257)},
        (("rows of the result", 1),),
    ),
    "stencil": LibraryEntry(
        "a star-shaped stencil in three dimensions, of order 8",
        {"type": ("f32", "f64")},
        (("elements along x", 32), ("elements along y", 8), ("elements along z", 16)),
    ),
    "sum_layers": LibraryEntry(
        "the sum of layers of matrices, or of every so many rows of them, by reductions through a tensor map",
        {"type": ("i32", "i64", "f16", "bf16", "f32"), "stride": range(1, 9)},
        (("columns", 32), ("rows of the result", 16), ("layers", 1)),
    ),
    "top_k": LibraryEntry(
        "the k largest elements of each column, in order, and where they are",
        {"type": (*INTEGER, *FLOATING), "k": range(1, 1025)},
        _COLUMNS,
    ),
    "transpose": LibraryEntry(
        "the transpose of a matrix through local memory",
        _TYPED,
        (("rows of A", 32), ("columns of A", 32)),
    ),
    "transposed_load": LibraryEntry(
        "the transpose of a matrix through a view that swaps its dimensions",
        _TYPED,
        (("rows of A", 32), ("columns of A", 32)),
    ),
    "unpack_4_bits": LibraryEntry(
        "numbers of 4 bits, which a tensor map spreads, as numbers of a wider type",
        {"type": ("i8", "i16", "i32", *FLOATING), "zero": range(16)},
        (("rows", 128), ("columns", 16)),
    ),
}


ROW_MAJOR: dict[str, str] = {
    "ader_dg": (
        "Arrays are 3 x P x P, elements x 3 x 9 x 9 and elements x 9 x P, and each matrix is stored as its transpose."
    ),
    "argmax": "A is rows x N: I[j] is where row A[j, :] has its largest element.",
    "attention": (
        "Q and O are heads x queries x headdim, K and V are key heads x keys x headdim: for each head h, O[h] "
        "= softmax(scale Q[h] K[h]^T) V[h]."
    ),
    "attention_work_group": (
        "Q and O are heads x queries x headdim, K and V are key heads x keys x headdim: for each head h, O[h] "
        "= softmax(scale Q[h] K[h]^T) V[h]."
    ),
    "axpby": "Vectors are the same in both orders.",
    "blocked_interleaved": "A is M x N, a matrix of M rows one below the other.",
    "cholesky": (
        "Matrices are A[m], and their upper triangles are read and written: A[m] = U[m]^T U[m]. With `upper` "
        "the lower ones are, as `np.linalg.cholesky` does: A[m] = L[m] L[m]^T."
    ),
    "convolution": ("X is N x H x W x C, F is R x S x C x K, and Y is N x P x Q x K: channels come last."),
    "convolution_im2col": (
        "X is a map of N x H x W x C, as in the other order; F is R x S x C x K, and Y is N x P x Q x K: channels come "
        "last."
    ),
    "copy_boxes": "Maps are the same in both orders.",
    "cross_entropy": "A and G are rows x classes, and T and L have an element for each row.",
    "gather_rows": "Maps and vectors are the same in both orders.",
    "gemm": ("C := alpha op(B) op(A) + beta C: the left factor of a product is passed as B, the right one as A."),
    "gemm_batched": (
        "C[b] := alpha op(B[b]) op(A[b]) + beta C[b]: the left factors are passed as B, the right ones as A."
    ),
    "gemm_batched_group": (
        "C_b := alpha op(B_b) op(A_b) + beta C_b: the left factors are passed as B, the right ones as A."
    ),
    "gemm_collective": (
        "C := alpha op(B) op(A) + beta C: the left factor of a product is passed as B, the right one as A."
    ),
    "gemm_epilogue": (
        "C := f(op(B) op(A) + bias) + R: the left factor, such as the activations of a layer, is passed as B, "
        "the weights as A. A bias of rows has an element for each column of the array C."
    ),
    "gemm_mixed": "C := B A: the left factor is passed as B, the right one as A.",
    "gemm_q4_0": (
        "W is M x K / 32 blocks x 18 bytes, as the transpose of what `quantize` gives; X is N x K, and C := X "
        "W^T is N x M."
    ),
    "gemm_q4_0_work_group": (
        "W is M x K / 32 blocks x 18 bytes, as the transpose of what `quantize` gives; X is N x K, and C := X "
        "W^T is N x M."
    ),
    "gemm_q8_0": (
        "W is M x K / 32 blocks x 34 bytes, as the transpose of what `quantize` gives; X is N x K, and C := X "
        "W^T is N x M."
    ),
    "gemm_q8_0_work_group": (
        "W is M x K / 32 blocks x 34 bytes, as the transpose of what `quantize` gives; X is N x K, and C := X "
        "W^T is N x M."
    ),
    "gemm_tall_skinny": ("C := alpha B A + beta C for a wide A with few rows: A is K x M, B is N x K, C is N x M."),
    "gemm_work_group": "C := B A: the left factor of a product is passed as B, the right one as A.",
    "gemv": ("y := alpha op(A)^T x + beta y: `transpose_a` is for the product of A itself with a vector."),
    "gemv_q4_0": "W is M x K / 32 blocks x 18 bytes, as the transpose of what `quantize` gives.",
    "gemv_q4_0_q8_0": (
        "W is M x K / 32 blocks x 18 bytes, x is K / 32 blocks x 34 bytes, as the transposes of what `quantize` gives."
    ),
    "gemv_q8_0": "W is M x K / 32 blocks x 34 bytes, as the transpose of what `quantize` gives.",
    "gemv_q8_0_q8_0": (
        "W is M x K / 32 blocks x 34 bytes, x is K / 32 blocks x 34 bytes, as the transposes of what `quantize` gives."
    ),
    "ger": "C := alpha y x^T + beta C.",
    "hadamard": "Vectors are the same in both orders.",
    "histogram": "Vectors are the same in both orders.",
    "inverse": "Matrices are A[m] and B[m], and B[m] is the inverse of A[m].",
    "layernorm": "X and Y are rows x N: LayerNorm of each row.",
    "lu": (
        "Matrices are A[m] and F[m], and P is matrices x n. With `transpose` A[m] is factorized, P[m] "
        "swapping its rows; without it, its transpose."
    ),
    "patches": "A is H x W x C, and P is patches x S x S x C, a patch being S rows of S pixels.",
    "rms_norm": "X and Y are rows x N: RMSNorm of each row.",
    "rotary": "X and Y are heads x places x size, C and S are places x size / 2.",
    "scan": "Vectors are the same in both orders.",
    "softmax": "A and B are rows x N: softmax of each row.",
    "space_to_depth": "A is H x W x C, and B is H / 2 x W / 2 x 4 C: channels come last.",
    "stencil": "U and V have the axes z, y, x; the stencil is the same along all of them.",
    "sum_layers": "Maps are the same in both orders.",
    "top_k": "A is rows x N, V and I are rows x k: the k largest elements of each row.",
    "transpose": "B := A^T, as in the other order.",
    "transposed_load": "B := A^T, as in the other order.",
    "unpack_4_bits": "B is N x K, and A a map of bytes N x K / 2, as in the other order.",
}
"""What each kernel computes where it is loaded with `order="C"`, and the last axis of an array is its first mode."""


def entry(name: str) -> LibraryEntry:
    """The row of a kernel. Raises `KeyError` for a name that is not in the table."""
    if name not in TABLE:
        raise KeyError(f"there is no kernel {name!r}; there are {', '.join(TABLE)}")
    return TABLE[name]


def choices(allowed: Choice) -> str:
    """The choices of a definition, in words."""
    if not isinstance(allowed, range):
        return "one of " + ", ".join(spelled(value) for value in allowed)
    if allowed == SIZE:
        return "a whole number from 1"
    numbers = "a whole number" if allowed.step == 1 else f"a multiple of {allowed.step}"
    return f"{numbers} from {allowed.start} to {allowed[-1]}"


def spelled(value: object) -> str:
    """The value as the language writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def checked(name: str, definitions: Mapping[str, object]) -> dict[str, object]:
    """The definitions of a kernel as `girih.load` takes them; whole numbers of NumPy become Python's.

    Raises `ValueError`, with the choices, for a value that is not allowed.
    """
    allowed = entry(name).definitions
    for key, value in definitions.items():
        if not _is_allowed(value, allowed[key]):
            raise ValueError(f"{name}: {key} is {value!r}; it must be {choices(allowed[key])}")
    return {key: int(value) if is_whole(value) else value for key, value in definitions.items()}


def is_whole(value: object) -> TypeGuard[Integral]:
    """Whether a value is a whole number, of Python or of NumPy; a truth value is not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_allowed(value: object, allowed: Choice) -> bool:
    if isinstance(allowed, range) or is_whole(allowed[0]):
        return is_whole(value) and int(value) in allowed
    return any(value == known and isinstance(value, type(known)) for known in allowed)


def accumulator_of(name: str, type_: str, accumulator: str | None) -> str:
    """The type of sums of products of a type: the given one, or the preferred one where none is given.

    Raises `ValueError`, with the choices, for one that does not suit the products.
    """
    checked(name, {"type": type_})
    known = [t for t in WIDER[type_] if t in entry(name).definitions["accumulator"]]
    if accumulator is None:
        return known[0]
    if accumulator not in known:
        raise ValueError(f"{name}: accumulator is {accumulator!r}; for type {type_!r} it must be "
                         f"{choices(tuple(known))}")  # fmt: skip
    return accumulator


def layout_of(name: str, dim: int, padding: str) -> str:
    """The type of the layout of an image with `dim` dimensions. Raises `ValueError` for an unknown padding."""
    return f"tensor_layout<{dim},{one_of(name, 'padding', padding, PADDING)}>"


def one_of(name: str, option: str, value: str, known: Mapping[str, str]) -> str:
    """What stands for a value of an option of a kernel. Raises `ValueError`, with the choices, for an unknown value."""
    if value not in known:
        raise ValueError(f"{name}: {option} is {value!r}; it must be {choices(tuple(known))}")
    return known[value]
