"""Kernels in Python on arrays of an NVIDIA GPU: launched there without a target, in the order that they have."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

import girih

pytestmark = pytest.mark.cuda
EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples" / "python"


def kernel(module: str, name: str) -> girih.PythonKernel:
    spec = importlib.util.spec_from_file_location(f"cuda_{module}", EXAMPLES / f"{module}.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    found = getattr(made, name)
    assert isinstance(found, girih.PythonKernel)
    return found


@pytest.fixture
def torch() -> Any:
    found = pytest.importorskip("torch")
    if not found.cuda.is_available():
        pytest.skip("torch has no GPU here")
    return found


def test_tensors_decide_for_their_device(torch: Any) -> None:
    softmax = kernel("rows", "softmax")
    drawn = torch.randn(37, 100, device="cuda")
    for x in (drawn, drawn.T.contiguous().T, drawn[:, ::2]):
        for _ in range(20):
            y = softmax.out(x)
            softmax(x, y)
        softmax.synchronize()
        assert y.device == x.device
        assert torch.allclose(y, torch.softmax(x, 1), atol=1e-6)
    assert {variant.kernel.target for variant in softmax.variants.values()} == {"cuda"}


def test_attention_agrees_with_torch(torch: Any) -> None:
    attention = kernel("products", "attention")
    q, k, v = (torch.randn(3, 70, 64, device="cuda") for _ in range(3))
    o = attention.out(q, k, v, 0.125, causal=True)
    attention(q, k, v, o, 0.125, causal=True)
    attention.synchronize()
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.125)
    assert torch.allclose(o, expected, atol=1e-4)


def test_arrays_of_the_host_are_refused_beside_those_of_the_device(torch: Any) -> None:
    softmax = kernel("rows", "softmax")
    with pytest.raises(girih.LaunchError, match="B: it is on cuda:0, and A is on the host"):
        softmax(torch.zeros(3, 4), torch.zeros(3, 4, device="cuda"))
