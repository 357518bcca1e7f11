"""Collective matrix products by the matrices of a device: what they compute, and what goes by loops instead."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import girih
from girih.back.llvm.lower.one_lane.linalg import products
from girih.back.spirv.machine.compile import compile_kernel, recorded_kernel
from girih.back.spirv.profiles.hopper import HOPPER
from girih.back.spirv.profiles.table import profile_named
from girih.ir.core import Function
from tests.back.spirv.circle import CircleKernel, assert_valid
from tests.cases import every_case, long

DTYPES = {"f16": np.float16, "f32": np.float32, "bf16": ml_dtypes.bfloat16, "i8": np.int8, "i32": np.int32}


@dataclass(frozen=True)
class Case:
    """A kernel with one `gemm`; alpha and beta of None are parameters, an M of the memory beyond that of C is `gap`."""

    factor: str
    result: str
    m: int = 37
    n: int = 21
    k: int = 50
    transposes: str = "n.n"
    alpha: float | None = None
    beta: float | None = None
    open: bool = False
    gap: int | None = None
    items: int = 32
    checks: bool = False
    profile: str = "nvidia-hopper"
    promised: str = ""

    @property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        a, b = (self.m, self.k), (self.k, self.n)
        return (a[::-1] if self.transposes[0] == "t" else a, b[::-1] if self.transposes[2] == "t" else b,
                (self.m, self.n))  # fmt: skip

    @property
    def text(self) -> str:
        layout = "" if self.gap is None else ", strided<1, ?>"
        types = (self.factor, self.factor, self.result)
        memrefs = [
            f"%{name}: memref<{type}x{'x'.join('?' if self.open else str(n) for n in shape)}{layout}>{self.promised}"
            for name, type, shape in zip("ABC", types, self.shapes, strict=True)
        ]
        numbers = [("alpha", self.factor, self.alpha), ("beta", self.result, self.beta)]
        passed = [f"%{name}: {type}" for name, type, value in numbers if value is None]
        made = [f"%{name} = constant {value} : {type}" for name, type, value in numbers if value is not None]
        return "\n".join([
            f"func @product({', '.join([*passed, *memrefs])}) attributes{{work_group_size=[{self.items},1]}} {{",
            *made, f"gemm.{self.transposes} %alpha, %A, %B, %beta, %C", "}",
        ])  # fmt: skip

    @property
    def function(self) -> Function:
        function = girih.parse(self.text).function("product")
        assert function is not None
        return function

    def arguments(self) -> list[Any]:
        """Small whole numbers, of which all sums are exact; a C that is not read holds nothing of use."""
        rng = np.random.default_rng(0)
        whole = self.result[0] == "i"
        made: list[Any] = [2 if whole else 0.5] if self.alpha is None else []
        made += [3 if whole else 1.5] if self.beta is None else []
        for type, (rows, columns) in zip((self.factor, self.factor, self.result), self.shapes, strict=True):
            memory = np.zeros((rows + (self.gap or 0), columns), DTYPES[type], order="F")
            memory[:rows] = rng.integers(-4, 5, (rows, columns))
            made.append(memory[:rows])
        if self.beta == 0:
            made[-1][:] = 77 if whole else np.nan
        return made


@pytest.fixture
def no_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the loops that compute a product, its result is right only if matrices computed it."""
    monkeypatch.setattr(products, "matrix_product", lambda *ignored: None)


def hold(case: Case) -> None:
    """Hold a valid module against the meaning of its kernel."""
    expected, found = case.arguments(), case.arguments()
    girih.loads(case.text, target="interpreter")["product"][1](*expected)
    kernel = CircleKernel(case.function, profile_named(case.profile), checks=case.checks)
    assert_valid(kernel.emitted)
    kernel((1, 1, 1), *found)
    assert np.array_equal(expected[-1], found[-1])


def told(function: Function, profile: str = "nvidia-hopper") -> str:
    """Why a product goes by loops; nothing if it does not."""
    remarks = compile_kernel(function, profile_named(profile)).remarks
    return " ".join(one.message for one in remarks if one.code == "vulkan.gemm")


TRANSPOSES = ("n.n", "n.t", "t.n", "t.t")
CASES = (
    Case("f16", "f32", 32, 32, 64, alpha=1.0, beta=0.0),
    Case("f16", "f16", open=True),
    Case("bf16", "f32", 70, 67, 80, "t.n", beta=0.0, open=True, gap=2, items=64),
    Case("bf16", "bf16", transposes="n.t", alpha=-2.0),
    Case("i8", "i32", transposes="t.t", open=True, gap=11),
    # No matrices of work-groups of this size.
    Case("f16", "f32", 70, 33, 40, items=96, beta=1.0),
    # Matrices of subgroups as wholes; a promise of strides that only a launch knows.
    Case("f16", "f16", 32, 64, 48, "t.n", gap=8, items=128, profile="khr", promised=" {stride_gcd=[1, 8]}"),
    Case("i8", "i32", 48, 16, 32, beta=0, items=128, profile="khr"),
)


@pytest.mark.usefixtures("no_loops")
def test_products_by_matrices_mean_the_same() -> None:
    with every_case() as case:
        for one in CASES:
            with case(str(one)):
                hold(one)


TYPES = (("f16", "f32"), ("f16", "f16"), ("bf16", "f32"), ("bf16", "bf16"), ("i8", "i32"), ("i8", "i8"))
FACTORS = ((None, None), (1.0, 0.0), (None, 0.0), (-2.0, 1.0))
SIZES = ((37, 21, 50, None), (64, 128, 96, None), (48, 72, 56, 8), (0, 5, 7, None), (33, 40, 0, None), (1, 70, 33, 3))


@pytest.mark.usefixtures("no_loops")
@pytest.mark.parametrize(("types", "transposes", "checks"), long(product(TYPES, TRANSPOSES, (False, True))))
def test_products_of_all_kinds_by_matrices(types: tuple[str, str], transposes: str, checks: bool) -> None:
    with every_case() as case:
        # Each size with one pair of factors, another one for each way of transposing.
        for number, (m, n, k, gap) in enumerate(SIZES, TRANSPOSES.index(transposes)):
            alpha, beta = FACTORS[number % len(FACTORS)]
            if types[1][0] == "i":
                alpha, beta = (value if value is None else int(value) for value in (alpha, beta))
            one = Case(*types, m, n, k, transposes, alpha, beta, open=True, gap=gap, items=64, checks=checks)
            for each in (one, replace(one, open=False)) if m and k else (one,):
                with case(str(each)):
                    if each.open or not told(each.function):
                        hold(each)


KHR_TYPES = (("f16", "f32"), ("f16", "f16"), ("i8", "i32"))


@pytest.mark.usefixtures("no_loops")
@pytest.mark.parametrize(("types", "transposes", "checks"), long(product(KHR_TYPES, TRANSPOSES, (False, True))))
def test_products_by_matrices_of_subgroups(types: tuple[str, str], transposes: str, checks: bool) -> None:
    with every_case() as case:
        for (alpha, beta), (m, n, k) in product(FACTORS, ((16, 16, 16), (64, 48, 32))):
            gap = None if alpha is None else 16
            if types[1][0] == "i":
                alpha, beta = (value if value is None else int(value) for value in (alpha, beta))
            promised = "" if gap is None else " {stride_gcd=[1, 16]}"
            one = Case(*types, m, n, k, transposes, alpha, beta, False, gap, 256, checks, "khr", promised)
            with case(str(one)):
                assert not told(one.function, "khr")
                hold(one)


def test_what_is_known_is_not_asked_when_the_kernel_runs() -> None:
    code = recorded_kernel(CASES[0].function, HOPPER).code
    assert all(getattr(one, "op", "") not in ("layout_slice", "load", "sle") for one in code.body.walk())


SUBVIEW = """
func @misplaced(%A: memref<f16x64x32>, %B: memref<f16x32x32>, %C: memref<f32x64x32>, %at: index) {
    %one = constant 1.0 : f16
    %zero = constant 0.0 : f32
    %begin = constant 0 : index
    %a = subview %A[%at:40, %begin:32] : memref<f16x40x32, strided<1, 64>>
    %c = subview %C[%at:40, %begin:32] : memref<f32x40x32, strided<1, 64>>
    gemm.n.n %one, %a, %B, %zero, %c
}
"""


def test_tiles_that_begin_elsewhere_than_at_16_bytes_go_by_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    function = girih.parse(SUBVIEW).function("misplaced")
    assert function is not None
    rng = np.random.default_rng(0)
    a, b = (np.asfortranarray(rng.integers(-4, 5, shape).astype(np.float16)) for shape in ((64, 32), (32, 32)))
    for at, by_loops in ((8, False), (3, True)):
        with monkeypatch.context() as without:
            if not by_loops:
                without.setattr(products, "matrix_product", lambda *ignored: None)
            kernel = CircleKernel(function, HOPPER, checks=False)
        c = np.zeros((64, 32), np.float32, order="F")
        kernel((1, 1, 1), a, b, c, at)
        assert np.array_equal(c[at : at + 40], (a.astype(np.float32) @ b.astype(np.float32))[at : at + 40])


LOOPS = {
    "nvidia-hopper has no product of f32 and f32 with sums of f32": Case("f32", "f32"),
    "a product of 3x4x5 fills too little of a tile": Case("f16", "f32", 4, 3, 5),
    "khr has no product of bf16 and bf16": Case("bf16", "f32", 32, 32, 32, profile="khr"),
    "the sizes of the product are not known": Case("f16", "f32", open=True, profile="khr"),
    "a product of 37x21x50 is no multiple of what khr has": Case("f16", "f32", profile="khr"),
    "lines of `A` are not known to begin": Case("f16", "f32", 32, 32, 32, gap=8, profile="khr"),
    "no functions of elements, which would round sums of i32 to i8": Case("i8", "i8", 32, 32, 32, profile="khr"),
}


def test_products_by_loops_are_told_with_the_reason() -> None:
    for reason, one in LOOPS.items():
        assert reason in told(one.function, one.profile)
    text = CASES[1].text
    for old, new, reason in (
        ("gemm.n.n", "gemm.atomic.n.n", "updated one by one"),
        ("%A: memref<f16x?x?>", "%A: memref<f16x?x?, strided<?, ?>>", "no elements of `a` are known to be neighbours"),
        ("%B: memref<f16x?x?>", "%B: memref<f32x?x?>", "elements of two types"),
    ):
        changed = text.replace(old, new).replace("%C: memref<f16", "%C: memref<f32").replace("beta: f16", "beta: f32")
        function = girih.parse(changed).function("product")
        assert function is not None
        assert reason in told(function)
