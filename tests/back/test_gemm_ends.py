"""Products that differ in beta alone, in the two sides of an `if`: they are computed once, and end in two ways."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import girih
from girih.back.llvm.cpu.compile import lower
from tests.back.harness import TARGET, compare, compiled
from tests.cases import one_in

Array = NDArray[np.float32]


def kernel(m: object = 18, n: object = 7, k: object = 5, *, second: str = "%A, %B, %beta, %C", way: str = "n.n") -> str:
    """A kernel with a choice between two products; a transposed factor is square."""
    return f"""
func @f(%alpha: f32, %A: memref<f32x{m}x{k}>, %B: memref<f32x{k}x{n}>, %beta: f32, %C: memref<f32x{m}x{n}>) {{
    %no = constant 0 : i8
    %never = constant 0.0 : f32
    %overwrites = equal %beta, %never : bool
    if %overwrites {{
        gemm.{way} %alpha, %A, %B, %no, %C
    }} else {{
        gemm.{way} %alpha, {second}
    }}
}}"""


def numbers(*shape: int, seed: int = 0) -> Array:
    return np.asfortranarray(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


@pytest.mark.parametrize(
    ("m", "n", "k"), one_in(2, [(18, 7, 5), (16, 16, 16), (40, 3, 9), (70, 5, 130), (5, 5, 5), (9, 9, 9), (1, 4, 3)])
)
@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_both_ends_are_right(m: int, n: int, k: int, beta: float) -> None:
    a, b, c = numbers(m, k), numbers(k, n, seed=1), numbers(m, n, seed=2)
    compare(kernel(m, n, k), (1, 1, 1), 0.75, a, b, beta, c, tolerance=1e-4)
    if m == n == k:
        compare(kernel(m, n, k, way="t.t"), (1, 1, 1), 0.75, a, b, beta, c, tolerance=1e-4)


def test_a_target_that_is_overwritten_is_not_read() -> None:
    a, b, c = numbers(18, 5), numbers(5, 7), np.full((18, 7), np.nan, np.float32, order="F")
    compiled(kernel())((1, 1, 1), 1.0, a, b, 0.0, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-5)
    compiled(kernel())((1, 1, 1), 1.0, a, b, 0.5, c := np.full_like(c, np.nan))
    assert np.isnan(c).all()


def test_the_product_is_written_once() -> None:
    apart = "%A, %B, %beta, %C\n%last = size %C[0] : index"
    once, twice = (
        lower(girih.parse(text).functions[0], TARGET, checks=False).text.count("@llvm.fma.v16f32(<16 x float> %")
        for text in (kernel(16, 16, 16), kernel(16, 16, 16, second=apart))
    )
    assert 0 < 2 * once == twice


@pytest.mark.parametrize("missing", [True, False])
def test_a_finding_is_at_the_product_that_would_have_been_executed(missing: bool) -> None:
    text, a = kernel(16, 16, 16), numbers(16, 16)
    # Either a factor without memory, or one that is the target, too.
    first, target = (None, a) if missing else (a, a)
    places = set()
    for beta in (0.0, 0.5):
        found = []
        for name in ("interpreter", "cpu"):
            with pytest.raises(girih.KernelError) as caught:
                girih.loads(text, target=name)["f"][1](1.0, first, numbers(16, 16), beta, target)
            finding = caught.value.findings[0]
            found.append((finding.code, finding.message, str(finding.span)))
        assert found[0] == found[1]
        places.add(found[0])
    assert len(places) == 2
