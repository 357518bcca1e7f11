"""What is open about matrices of shaders: the precision of products, and who holds which component."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import girih
from girih.api import compile_module
from girih.ir.core import Module
from tests.front.spirv.shaders import translated
from tests.front.spirv.test_matrices import COMPONENTS, SUBGROUP, element

Array = NDArray[Any]

PRODUCT = (
    SUBGROUP
    + element("a_at", "input", 0)
    + element("b_at", "input", 64)
    + element("to", "output", 0)
    + """
%a = OpCooperativeMatrixLoadKHR %matrix_half_8x16_a %a_at %uint_0 %uint_8
%b = OpCooperativeMatrixLoadKHR %matrix_half_16x8_b %b_at %uint_0 %uint_4
%one = OpConstantComposite %matrix_half_8x8_c %half_1
%product = OpCooperativeMatrixMulAddKHR %matrix_half_8x8_c %a %b %one
OpCooperativeMatrixStoreKHR %to %product %uint_0 %uint_4
"""
)


def runner(text: str, given: Array, count: int) -> Any:
    """What makes of choices the words that a shader then writes."""
    kernel = compile_module(Module((translated(text).function,)), "interpreter")["main"]

    def run(choices: girih.Choices | None = None) -> Array:
        written = np.zeros(count, np.uint32)
        kernel.options(choices=choices)[1](given.view(np.int8), written.view(np.int8))
        return written

    return run


def test_products_of_matrices_have_an_internal_precision() -> None:
    random = np.random.default_rng(5)
    a, b = (random.uniform(-9, 9, shape).astype(np.float16) for shape in ((8, 16), (16, 8)))
    run = runner(PRODUCT, np.concatenate([a.ravel(), b.ravel()]).view(np.uint32), 32)

    def product(way: str | None) -> Array:
        written: Array = run(girih.Choices(accumulation=way) if way else None).view(np.float16).reshape(8, 8)
        return written

    exact = a.astype(np.float64) @ b + 1
    narrow = np.ones((8, 8), np.float16)
    for k in range(16):
        narrow = (narrow.astype(np.float64) + a[:, k : k + 1].astype(np.float64) * b[k]).astype(np.float16)
    assert (product("exact") == exact.astype(np.float16)).all()
    assert (product("narrow") == narrow).all()
    assert (product("wide") == product(None)).all()
    assert (narrow != exact.astype(np.float16)).any()
    # Each sum that is cut is nearer to zero than what was added up, so that errors do not cancel.
    assert np.absolute(product("truncated") - exact).sum() > np.absolute(narrow - exact).sum()
    seen = {run(girih.Choices(seed, vary=["accumulation"])).tobytes() for seed in range(8)}
    assert len(seen) > 2


def test_which_components_a_work_item_holds_is_open_but_the_same_throughout_a_launch() -> None:
    given = np.append(np.arange(128), 1).astype(np.uint32)
    run = runner(COMPONENTS, given, 128)
    usual, shuffled = run(), run(girih.Choices(1, vary=["order"], components="shuffled"))
    # Of the four components of each of 32 work-items one becomes 77 and one 5, wherever these are.
    for written in (usual, shuffled):
        values, counts = np.unique(written[written != np.arange(128)], return_counts=True)
        assert values.tolist() == [5, 77] and all(32 - 1 <= count <= 32 for count in counts)
    assert (usual != shuffled).any()
    again = run(girih.Choices(1, vary=["order"], components="shuffled"))
    assert (again == shuffled).all()
