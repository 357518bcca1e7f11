"""The kernels of the library on the one-lane machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import girih
from girih import kernels
from girih.kernels import texts
from girih.kernels.table import TABLE
from tests.back.harness import copy_of, same
from tests.back.one_lane.kernels_with_maps import WITH_MAPS
from tests.back.one_lane.launch import OneLaneKernel
from tests.back.one_lane.machine import LOWERINGS
from tests.cases import one_in

RANDOM = np.random.default_rng(3)


def numbers(*shape: int) -> Any:
    """Random floats, the first mode fastest, as memrefs lie."""
    return np.asfortranarray(RANDOM.normal(size=shape).astype(np.float32))


def zeros(*shape: int) -> Any:
    return np.zeros(shape, np.float32, order="F")


def matrices(count: int) -> Any:
    """Positive definite matrices."""
    a = numbers(4, 4, count)
    return np.asfortranarray(np.einsum("ikm,jkm->ijm", a, a) + np.eye(4, dtype=np.float32)[:, :, None])


def integers(*shape: int, type: Any = np.int32) -> Any:
    return np.zeros(shape, type, order="F")


def halves(*shape: int) -> Any:
    """Random floats of 16 bits."""
    return numbers(*shape).astype(np.float16)


def small(*shape: int) -> Any:
    """Random integers that take a byte."""
    return np.asfortranarray(RANDOM.integers(-9, 10, shape).astype(np.int8))


LAUNCHES: dict[tuple[str, str], tuple[tuple[int, int, int], list[Any]]] = {
    ("ader_dg", "ader_dg"): (
        (2, 1, 1),
        [0.1, 0.1 * numbers(20, 20, 3), numbers(9, 9, 3, 2), numbers(20, 9, 2), zeros(20, 9, 2)],
    ),
    ("argmax", "argmax"): ((3, 1, 1), [numbers(70, 3), np.zeros(3, np.int64)]),
    ("attention", "attention"): (
        (2, 2, 1),
        [numbers(64, 40, 2), numbers(64, 33, 1), numbers(64, 33, 1), zeros(64, 40, 2), 0.125],
    ),
    ("attention_work_group", "attention_work_group"): (
        (1, 2, 1),
        [halves(64, 40, 2), halves(64, 33, 1), halves(64, 33, 1), np.zeros((64, 40, 2), np.float16, order="F"), 0.125],
    ),
    ("axpby", "axpby"): ((2, 1, 1), [0.5, numbers(1100), 2.0, numbers(1100)]),
    **{
        ("blocked_interleaved", f"{name}"): ((1, 1, 1), [numbers(*a), zeros(*b)])
        for name, a, b in (
            ("pack_rows", (8, 12), (96,)),
            ("unpack_rows", (96,), (8, 12)),
            ("pack_columns", (8, 12), (96,)),
            ("unpack_columns", (96,), (8, 12)),
        )
    },
    ("cholesky", "cholesky"): ((3, 1, 1), [matrices(3), zeros(4, 4, 3), integers(3)]),
    ("cholesky", "cholesky_small"): ((1, 1, 1), [matrices(3), zeros(4, 4, 3), integers(3)]),
    ("convolution", "convolution"): (
        (1, 1, 14),
        [1, numbers(2, 6, 7, 2), numbers(3, 2, 3, 3), zeros(3, 6, 7, 2)],
    ),
    ("cross_entropy", "cross_entropy"): ((3, 1, 1), [numbers(70, 3), np.array([0, 69, 7]), zeros(3)]),
    ("cross_entropy", "cross_entropy_gradient"): (
        (3, 1, 1),
        [numbers(70, 3), np.array([0, 69, 7]), numbers(3), zeros(70, 3)],
    ),
    **{
        ("gemm_batched", f"gemm_batched_{kind}"): (
            (2, 1, 1),
            [0.5, numbers(16, 16, 2), numbers(16, 16, 2), 2.0, numbers(16, 16, 2)],
        )
        for kind in ("nn", "nt", "tn", "tt")
    },
    ("gemm_batched_group", "gemm_batched_group"): (
        (2, 1, 1),
        [
            0.5,
            *([numbers(*a), numbers(*b)] for a, b in (((5, 7), (3, 1)), ((7, 6), (1, 9)))),
            2.0,
            [numbers(5, 6), numbers(3, 9)],
        ],
    ),
    ("gemm_collective", "gemm_collective"): (
        (2, 1, 1),
        [0.5, numbers(130, 9), numbers(9, 11), 2.0, numbers(130, 11)],
    ),
    **{
        (f"gemm_{name}", f"gemm_{name}"): (
            (1, 1, 1),
            [kernels.quantize(numbers(35, 64), name), numbers(64, 3), zeros(35, 3)],
        )
        for name in ("q4_0", "q8_0")
    },
    **{
        (f"gemv_{name}", f"gemv_{name}"): ((1, 1, 1), [kernels.quantize(numbers(35, 64), name), numbers(64), zeros(35)])
        for name in ("q4_0", "q8_0")
    },
    **{
        (f"gemv_{name}_q8_0", f"gemv_{name}_q8_0"): (
            (1, 1, 1),
            [kernels.quantize(numbers(35, 64), name), kernels.quantize(numbers(1, 64), "q8_0")[:, :, 0], zeros(35)],
        )
        for name in ("q4_0", "q8_0")
    },
    ("gemm_tall_skinny", "gemm_tall_skinny"): (
        (2, 1, 1),
        [0.5, numbers(130, 16), numbers(16, 16), 2.0, numbers(130, 16)],
    ),
    ("gemv", "gemv"): ((2, 1, 1), [0.5, numbers(520, 9), numbers(9), 2.0, numbers(520)]),
    ("ger", "ger"): ((2, 2, 1), [0.5, numbers(70), numbers(66), 2.0, numbers(70, 66)]),
    ("hadamard", "hadamard"): ((2, 1, 1), [0.5, numbers(1100), numbers(1100), 2.0, numbers(1100)]),
    ("gemm", "gemm"): ((2, 1, 1), [1.5, numbers(40, 33), numbers(33, 5), 0.5, numbers(40, 5)]),
    ("gemm_epilogue", "gemm_epilogue"): (
        (2, 1, 1),
        [numbers(40, 33), numbers(33, 5), numbers(40), numbers(40, 5), zeros(40, 5)],
    ),
    ("gemm_mixed", "gemm_mixed"): (
        (1, 2, 1),
        [small(20, 40), small(40, 33), integers(20, 33)],
    ),
    ("gemm_work_group", "gemm_work_group"): (
        (1, 1, 1),
        [halves(40, 33), halves(33, 24), np.zeros((40, 24), np.float16, order="F")],
    ),
    **{
        (f"gemm_{name}_work_group", f"gemm_{name}_work_group"): (
            (1, 1, 1),
            [kernels.quantize(numbers(35, 64), name), halves(64, 3), zeros(35, 3)],
        )
        for name in ("q4_0", "q8_0")
    },
    ("histogram", "histogram"): ((2, 1, 1), [RANDOM.integers(-9, 300, 5000).astype(np.int32), np.zeros(256, np.int32)]),
    ("inverse", "inverse"): ((3, 1, 1), [matrices(3), zeros(4, 4, 3), integers(3)]),
    ("layernorm", "layernorm"): ((3, 1, 1), [numbers(70, 3), numbers(70), numbers(70), 1e-5, zeros(70, 3)]),
    ("lu", "lu"): ((3, 1, 1), [matrices(3), zeros(4, 4, 3), integers(4, 3), integers(3)]),
    ("patches", "patches"): ((2, 1, 1), [numbers(3, 9, 17), zeros(3, 8, 8, 6)]),
    ("rms_norm", "rms_norm"): ((3, 1, 1), [numbers(70, 3), numbers(70), 1e-5, zeros(70, 3)]),
    ("rotary", "rotary"): ((1, 2, 1), [numbers(8, 5, 2), numbers(4, 5), numbers(4, 5), zeros(8, 5, 2)]),
    ("scan", "scan_totals"): ((2, 1, 1), [numbers(1100), zeros(2)]),
    ("scan", "scan"): ((2, 1, 1), [numbers(1100), numbers(2), zeros(1100)]),
    ("softmax", "softmax"): ((3, 1, 1), [numbers(70, 3), zeros(70, 3)]),
    ("space_to_depth", "space_to_depth"): ((4, 1, 1), [numbers(3, 6, 8), zeros(12, 3, 4)]),
    ("stencil", "stencil"): ((2, 1, 2), [numbers(5), numbers(48, 14, 10), zeros(40, 6, 2)]),
    ("top_k", "top_k"): ((3, 1, 1), [numbers(70, 3), zeros(8, 3), integers(8, 3, type=np.int64)]),
    ("transpose", "transpose"): ((2, 2, 1), [numbers(40, 35), zeros(35, 40)]),
    ("transposed_load", "transposed_load"): ((2, 2, 1), [numbers(35, 33), zeros(33, 35)]),
}
"""A grid and arguments for each function."""


@pytest.mark.parametrize(("name", "function"), one_in(4, LAUNCHES))
def test_kernels_run_as_on_the_interpreter(name: str, function: str) -> None:
    grid, arguments = LAUNCHES[name, function]
    kernel = girih.loads(texts.path(name).read_text(encoding="utf-8"), target="interpreter")[function]
    expected, found = [copy_of(one) for one in arguments], [copy_of(one) for one in arguments]
    kernel[grid](*expected)
    OneLaneKernel(kernel.ir)(grid, *found)
    for mine, wanted in zip(found, expected, strict=True):
        half = isinstance(wanted, np.ndarray) and wanted.dtype == np.float16
        same(mine, wanted, 2e-3 if half else 1e-5)


@pytest.mark.parametrize("name", WITH_MAPS)
def test_kernels_with_tensor_maps_run_as_on_the_interpreter(name: str) -> None:
    grid, make = WITH_MAPS[name]
    kernel = girih.loads(texts.path(name).read_text(encoding="utf-8"), target="interpreter")[name]
    expected, found = make(), make()
    kernel[grid](*expected)
    OneLaneKernel(kernel.ir)(grid, *found)
    same(found, expected, 1e-5)


def test_no_kernel_is_refused() -> None:
    taken = set()
    for name in TABLE:
        for function in girih.parse(texts.path(name).read_text(encoding="utf-8")).functions:
            assert not list(LOWERINGS.refusals(function))
            taken.add((name, function.name))
    assert taken == {*LAUNCHES, *((name, name) for name in WITH_MAPS)}
