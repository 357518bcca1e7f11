"""Every kernel of the library computes the same from arrays of both orders of axes, and its page says what that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import girih
from girih import kernels
from girih.addressing import BoundTensorMap, TensorMap, plan_convolution
from girih.kernels.table import ROW_MAJOR, TABLE
from tests.cases import long
from tests.kernels.arrays import Array, random, zeros


@dataclass(frozen=True)
class Call:
    """A call of a kernel: its arguments, the sizes that its grid follows from, and what replaces definitions."""

    arguments: Sequence[Any]
    sizes: Sequence[int]
    definitions: Mapping[str, object] = field(default_factory=dict)
    function: str = ""


def of(*shape: int, seed: int = 0, type_: str = "f32") -> Array:
    return random(type_, *shape, seed=seed)


def indices(*values: int, type_: type[np.integer[Any]] = np.int64) -> Array:
    return np.array(values, type_)


def blocks(format: str, *shape: int) -> Array:
    """Blocks of weights, with modes in the order of the language."""
    return kernels.quantize(of(*shape).astype(np.float32), format)


def symmetric(n: int, count: int) -> Array:
    a = of(n, n, count)
    return np.asfortranarray(np.einsum("ikm,jkm->ijm", a, a) + np.eye(n, dtype=np.float32)[:, :, None])


def mapped(array: Array, *box: int, **options: Any) -> BoundTensorMap:
    """A map of an array whose first mode is dimension 0."""
    return TensorMap.of(array.T, box, **options).bind(array.T)


def packed(rows: int, count: int) -> BoundTensorMap:
    """A map of rows of numbers of 4 bits."""
    room = np.arange(rows * count // 2 + 32, dtype=np.uint8)
    bytes_ = room[-room.ctypes.data % 32 :][: rows * count // 2]
    sizes: Any = {"global_dim": (count, rows), "global_strides": (count // 2,), "box_dim": (128, 16)}
    return TensorMap.tiled(dtype="b4x16_p64", architecture="sm_100a", **sizes).bind(bytes_)


def images() -> BoundTensorMap:
    """A map of images of 6 x 7 pixels, from which columns for a filter of 3 x 3 are taken."""
    array = of(8, 6, 7, 2).T
    plan = plan_convolution(dtype="f32", global_dim=(8, 6, 7, 2), filter=(3, 3), padding=(1, 1), channels_per_pixel=8,
                            pixels_per_column=32)  # fmt: skip
    return plan.tensor_map.bind(array)


GEMM = Call((2.0, of(35, 20), of(20, 33), 1.0, of(35, 33)), (35, 33))
VECTOR = np.asfortranarray(blocks("q8_0", 1, 64)[:, :, 0])
INFO = zeros("i32", 5)

CALLS: dict[str, Sequence[Call]] = {
    "ader_dg": [Call((0.5, of(4, 4, 3), of(9, 9, 3, 2), of(4, 9, 2), of(4, 9, 2)), (2,), {"convergence_order": 2})],
    "argmax": [Call((of(40, 3), indices(0, 0, 0)), (3,))],
    "attention": [Call((of(16, 33, 2), of(16, 40, 1), of(16, 40, 1), of(16, 33, 2), 0.25), (33, 2), {"headdim": 16})],
    "attention_work_group": [
        Call(
            (*(of(16, n, heads, type_="f16") for n, heads in ((33, 2), (40, 1), (40, 1), (33, 2))), 0.25),
            (33, 2),
            {"headdim": 16, "queries": 64, "keys": 16},
        )
    ],
    "axpby": [Call((2.0, of(30), 1.0, of(30)), (30,))],
    "blocked_interleaved": [
        Call((of(8, 12), of(96)), (12,), function="pack_rows"),
        Call((of(96), of(8, 12)), (12,), function="unpack_columns"),
    ],
    "cholesky": [
        Call((symmetric(5, 5), of(5, 5, 5), INFO), (5,), {"n": 5}),
        Call((symmetric(5, 5), of(5, 5, 5), INFO), (5,), {"n": 5, "upper": True}, "cholesky_small"),
    ],
    "convolution": [Call((1, of(2, 6, 7, 2), of(3, 2, 3, 3), of(3, 6, 7, 2)), (3, 6, 14), {"depth": 2})],
    "convolution_im2col": [Call((1, images(), of(3, 8, 3, 3), of(3, 6, 7, 2)), (3, 84), {"depth": 8})],
    "copy_boxes": [Call((mapped(of(40, 9), 32, 64), mapped(of(40, 9, seed=1), 32, 64)), (2, 1))],
    "cross_entropy": [
        Call((of(40, 3), indices(3, -100, 39), of(3)), (3,)),
        Call((of(40, 3), indices(3, -100, 39), of(3), of(40, 3)), (3,), function="cross_entropy_gradient"),
    ],
    "gather_rows": [
        Call(
            (mapped(of(40, 9), 64, 1, architecture="sm_100a"), indices(3, 8, -1, 0, 3), mapped(of(40, 5), 64, 32)),
            (1, 5),
        ),
    ],
    "gemm": [GEMM],
    "gemm_batched": [
        Call((2.0, of(3, 5, 4), of(5, 2, 4), 1.0, of(3, 2, 4)), (4,), {"M": 3, "N": 2, "K": 5}, "gemm_batched_nn")
    ],
    "gemm_batched_group": [
        Call((2.0, [of(3, 5), of(2, 4)], [of(5, 2), of(4, 6)], 1.0, [of(3, 2), of(2, 6)]), (2,)),
    ],
    "gemm_collective": [GEMM],
    "gemm_epilogue": [
        Call(
            (of(35, 20), of(20, 33), of(35), of(35, 33), of(35, 33)),
            (35, 33),
            {"bias_of_rows": True, "silu": True, "residual": True},
        ),
    ],
    "gemm_mixed": [Call((of(35, 20, type_="i8"), of(20, 33, type_="i8"), zeros("i32", 35, 33)), (35, 33))],
    "gemm_q4_0": [Call((blocks("q4_0", 35, 64), of(64, 3), of(35, 3)), (35, 3))],
    "gemm_q4_0_work_group": [
        Call((blocks("q4_0", 35, 64), of(64, 3, type_="f16"), of(35, 3)), (35, 3), {"columns": 256, "depth": 32})
    ],
    "gemm_q8_0": [Call((blocks("q8_0", 35, 64), of(64, 3), of(35, 3)), (35, 3))],
    "gemm_q8_0_work_group": [
        Call((blocks("q8_0", 35, 64), of(64, 3, type_="f16"), of(35, 3)), (35, 3), {"columns": 256, "depth": 32})
    ],
    "gemm_tall_skinny": [Call((2.0, of(40, 5), of(5, 4), 1.0, of(40, 4)), (40,), {"N": 4, "K": 5})],
    "gemm_work_group": [
        Call((of(35, 20, type_="f16"), of(20, 33, type_="f16"), zeros("f16", 35, 33)), (35, 33), {"depth": 16})
    ],
    "gemv": [Call((2.0, of(35, 20), of(20), 1.0, of(35)), (35,))],
    "gemv_q4_0": [Call((blocks("q4_0", 35, 64), of(64), of(35)), (35,))],
    "gemv_q4_0_q8_0": [Call((blocks("q4_0", 35, 64), VECTOR, of(35)), (35,))],
    "gemv_q8_0": [Call((blocks("q8_0", 35, 64), of(64), of(35)), (35,))],
    "gemv_q8_0_q8_0": [Call((blocks("q8_0", 35, 64), VECTOR, of(35)), (35,))],
    "ger": [Call((2.0, of(35), of(33), 1.0, of(35, 33)), (35, 33))],
    "hadamard": [Call((2.0, of(30), of(30), 1.0, of(30)), (30,))],
    "histogram": [Call((indices(1, 5, 5, 255, type_=np.int32), zeros("i32", 256)), (4,))],
    "inverse": [Call((of(5, 5, 5), of(5, 5, 5), INFO), (5,), {"n": 5})],
    "layernorm": [Call((of(40, 3), of(40), of(40), 1e-5, of(40, 3)), (3,))],
    "lu": [
        Call((of(5, 5, 5), of(5, 5, 5), zeros("i32", 5, 5), INFO), (5,), {"n": 5, "transpose": transpose})
        for transpose in (False, True)
    ],
    "patches": [Call((of(3, 9, 17), of(3, 8, 8, 6)), (3, 2))],
    "rms_norm": [Call((of(40, 3), of(40), 1e-5, of(40, 3)), (3,))],
    "rotary": [Call((of(8, 17, 2), of(4, 17), of(4, 17), of(8, 17, 2)), (17, 2))],
    "scan": [
        Call((of(1500), of(2)), (1500,), function="scan_totals"),
        Call((of(1500), of(2), of(1500)), (1500,)),
    ],
    "softmax": [Call((of(40, 3), of(40, 3)), (3,))],
    "space_to_depth": [Call((of(3, 6, 8), of(12, 3, 4)), (4,))],
    "stencil": [Call((of(5), of(41, 17, 10), of(33, 9, 2)), (33, 9, 2))],
    "sum_layers": [Call((mapped(of(40, 9, 2), 32, 16, 1), mapped(of(40, 9), 32, 16)), (40, 9, 2))],
    "top_k": [Call((of(40, 3), of(3, 3), np.zeros((3, 3), np.int64, order="F")), (3,), {"k": 3})],
    "transpose": [Call((of(35, 33), of(33, 35)), (35, 33))],
    "transposed_load": [Call((of(35, 33), of(33, 35)), (35, 33))],
    "unpack_4_bits": [Call((packed(3, 128), zeros("i8", 120, 3)), (120, 3))],
}
"""Small calls of each kernel, with sizes that have remainders."""


def copied(argument: Any, order: str) -> Any:
    """An argument for a kernel whose parameters have this order: where it is C, an ordinary array of the transpose.

    A tensor map has no order; it is bound to a copy of its array.
    """
    if isinstance(argument, BoundTensorMap):
        array = argument.array
        room = np.zeros(array.nbytes + 32, np.uint8)
        copy = room[-room.ctypes.data % 32 :][: array.nbytes].view(array.dtype).reshape(array.shape)
        copy[...] = array
        return argument.tensor_map.bind(copy)
    if isinstance(argument, list):
        return [copied(member, order) for member in argument]
    if not isinstance(argument, np.ndarray):
        return argument
    return argument.copy(order="F") if order == "F" else argument.T.copy(order="C")


def arrays(arguments: Sequence[Any]) -> list[Array]:
    """All arrays among arguments and in groups."""
    members = [a if isinstance(a, list) else [a] for a in arguments]
    return [array for group in members for array in group if isinstance(array, np.ndarray)]


@pytest.mark.interpreter
@pytest.mark.parametrize("name", TABLE)
def test_ordinary_arrays_give_the_transposes(name: str) -> None:
    launch_in_both_orders(name)


@pytest.mark.parametrize("name", ["cross_entropy", "gemm_batched_group", *long(TABLE)])
def test_ordinary_arrays_give_the_transposes_wherever_kernels_run(name: str) -> None:
    launch_in_both_orders(name)


def launch_in_both_orders(name: str) -> None:
    """Launch the calls of a kernel in both orders, and hold the results against each other."""
    for call in CALLS[name]:
        grid = kernels.grid_for(name, *call.sizes)
        results, maps = [], []
        for order in ("F", "C"):
            program = girih.load(kernels.path(name), definitions=call.definitions, order=order)
            given = [copied(argument, order) for argument in call.arguments]
            program[call.function or name][grid](*given)
            results.append(arrays(given))
            maps.append([argument.array for argument in given if isinstance(argument, BoundTensorMap)])
        before = [*arrays(call.arguments), *(a.array for a in call.arguments if isinstance(a, BoundTensorMap))]
        after = [*results[0], *maps[0]]
        assert any((a != b).any() for a, b in zip(after, before, strict=True)), "something is written"
        for ours, theirs in zip(*maps, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        for column_major, row_major in zip(*results, strict=True):
            assert row_major.flags.c_contiguous
            np.testing.assert_array_equal(row_major, column_major.T)


@pytest.mark.interpreter
def test_every_page_says_what_ordinary_arrays_mean(repository: Path) -> None:
    assert set(ROW_MAJOR) == set(TABLE)
    for name in TABLE:
        page = (repository / "docs" / "kernels" / f"{name}.md").read_text(encoding="utf-8")
        assert " ".join(ROW_MAJOR[name].split()) in " ".join(page.split())
