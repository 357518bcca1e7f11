"""`girih.functions` on tensors of torch on the host: held against torch, in its types and layouts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import girih
from girih import functions

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed: make test-torch")
F: Any = torch.nn.functional

SHAPE = (4, 6, 40)
CASES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "softmax": (lambda x: functions.softmax(x, 1), lambda x: torch.softmax(x, 1)),
    "layernorm": (lambda x: functions.layernorm(x, x[0, 0], x[1, 0]),
                  lambda x: F.layer_norm(x, (40,), x[0, 0], x[1, 0])),
    "rms_norm": (lambda x: functions.rms_norm(x, x[0, 0]), lambda x: F.rms_norm(x, (40,), x[0, 0])),
    "gelu": (functions.gelu, F.gelu),
    "gelu by tanh": (lambda x: functions.gelu(x, approximate="tanh"), lambda x: F.gelu(x, approximate="tanh")),
    "scan": (lambda x: functions.scan(x, 0), lambda x: torch.cumsum(x, 0)),
    "matmul": (lambda x: functions.matmul(x, x.mT), lambda x: torch.matmul(x, x.mT)),
    "attention": (lambda x: functions.attention(x, x, x, causal=True),
                  lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True)),
    "cross_entropy": (lambda x: functions.cross_entropy(x, x.argmin(-1), reduction="none"),
                      lambda x: F.cross_entropy(x.float().mT, x.argmin(-1), reduction="none")),
    "topk": (lambda x: functions.topk(x, 5)[0], lambda x: torch.topk(x, 5)[0]),
    "conv2d": (lambda x: functions.conv2d(x[None], x.reshape(10, 4, 4, 6), padding=3, stride=2),
               lambda x: F.conv2d(x[None], x.reshape(10, 4, 4, 6), padding=3, stride=2)),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", CASES)
def test_as_torch(name: str, dtype: str) -> None:
    ours, theirs = CASES[name]
    x = torch.randn(SHAPE, generator=torch.Generator().manual_seed(0)).to(getattr(torch, dtype))
    found, wanted = ours(x), theirs(x)
    assert isinstance(found, torch.Tensor)
    assert found.dtype == wanted.dtype or name == "cross_entropy"
    close = 1e-4 if dtype == "float32" else 3e-2 if dtype == "float16" else 2e-1
    torch.testing.assert_close(found.float(), wanted.float(), rtol=close, atol=close)


def test_results_that_are_given() -> None:
    x = torch.randn(5, 9).to(torch.bfloat16)
    out = torch.empty_like(x)
    assert functions.softmax(x, out=out) is out
    torch.testing.assert_close(out, torch.softmax(x, -1), rtol=2e-2, atol=2e-2)
    assert functions.softmax(x, out=x) is x
    torch.testing.assert_close(out, x)
    given = torch.empty(5, 2, dtype=torch.bfloat16), torch.empty(5, 2, dtype=torch.int64)
    made = functions.topk(x, 2, out=given)
    assert made[0] is given[0]
    assert made[1] is given[1]
    torch.testing.assert_close(given[0], torch.topk(x, 2)[0])


def test_tensors_of_channels_last() -> None:
    x, weight = torch.randn(2, 3, 8, 9).to(memory_format=torch.channels_last), torch.randn(5, 3, 3, 3)
    y = functions.conv2d(x, weight, torch.randn(5) * 0, padding=1)
    assert y.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(y, F.conv2d(x, weight, padding=1), rtol=1e-4, atol=1e-4)


def test_what_is_refused() -> None:
    x = torch.randn(3, 4, requires_grad=True)
    with pytest.raises(girih.LaunchError, match=r"it requires a gradient[^.]*\n  hint: pass its .detach\(\)"):
        functions.softmax(x)
    with pytest.raises(girih.LaunchError, match="conjugated or negated"):
        functions.matmul(torch.zeros(2, 2, dtype=torch.complex64).conj(), x.detach())
    with pytest.raises(girih.LaunchError, match="x has elements of bool"):
        functions.softmax(torch.zeros(3, dtype=torch.bool))
