"""Functions on arrays of a CUDA device: tensors of torch, arrays of CuPy and JAX, held against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import girih
from girih import functions
from tests.functions import references
from tests.functions.references import drawn, near, wide

pytestmark = [pytest.mark.cuda, pytest.mark.filterwarnings("ignore::girih.functions.CopyWarning")]

LIBRARIES = ("torch", "cupy", "jax")


def there(library: str, array: Any) -> Any:
    """An array on the device, with its strides where the library has such."""
    module: Any = pytest.importorskip(library)
    if library == "jax":
        return module.device_put(array, module.devices("cuda")[0])
    order = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    inverse = sorted(range(array.ndim), key=lambda place: order[place])
    packed = np.ascontiguousarray(array.transpose(order))
    if library == "cupy":
        return module.asarray(packed).transpose(inverse)
    return module.from_numpy(packed).cuda().permute(inverse)


def here(array: Any) -> Any:
    """The array on the host."""
    if hasattr(array, "cpu"):
        return array.float().cpu().numpy() if str(array.dtype) == "torch.bfloat16" else array.cpu().numpy()
    return array.get() if hasattr(array, "get") else np.asarray(array)


def same_kind(found: Any, library: str) -> None:
    assert type(found).__module__.partition(".")[0] in (library, f"{library}lib")


CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "softmax": (functions.softmax, lambda x: references.softmax(x, -1)),
    "softmax of another axis": (lambda x: functions.softmax(x, 1), lambda x: references.softmax(x, 1)),
    "layernorm": (functions.layernorm, lambda x: references.layernorm(x, np.ones(96), np.zeros(96), -1, 1e-5)),
    "rms_norm": (lambda x: functions.rms_norm(x, axis=0, eps=1e-3),
                 lambda x: references.rms_norm(x, np.ones(x.shape[0]), 0, 1e-3)),
    "gelu": (functions.gelu, lambda x: references.gelu(x, "none")),
    "scan": (functions.scan, lambda x: wide(x).cumsum(-1)),
    "scan of another axis": (lambda x: functions.scan(x, 0), lambda x: wide(x).cumsum(0)),
    "topk": (lambda x: functions.topk(x, 5)[0], lambda x: -np.sort(-wide(x), -1)[..., :5]),
    "topk of another axis": (lambda x: functions.topk(x, 5, 1)[1], lambda x: np.argsort(-wide(x), 1)[:, :5]),
    "attention": (lambda x: functions.attention(x, x, x, causal=True),
                  lambda x: references.attention(x, x, x, causal=True, scale=96**-0.5)),
    "matmul": (lambda x: functions.matmul(x, x.swapaxes(-1, -2)), lambda x: wide(x) @ wide(x).swapaxes(-1, -2)),
    "matmul of a vector": (lambda x: functions.matmul(x, x[0, 0]), lambda x: wide(x) @ wide(x)[0, 0]),
    "product": (lambda x: functions.matmul(x.reshape(-1, 96), x[0].T),
                lambda x: wide(x).reshape(-1, 96) @ wide(x)[0].T),
    "conv2d": (lambda x: functions.conv2d(x[None], x.reshape(8, 4, 9, -1)[..., :9], padding=4),
               lambda x: references.conv2d(x[None], x.reshape(8, 4, 9, -1)[..., :9], None, 1, 4, 1)),
    "cross_entropy": (lambda x: functions.cross_entropy(x, x.argmin(-1), reduction="none"),
                      lambda x: references.cross_entropy(x, x.argmin(-1), -100)),
}  # fmt: skip
TYPES = {"attention": ("f16", "bf16", "f32"), "conv2d": ("f32",)}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", CASES)
def test_on_a_device(name: str, library: str) -> None:
    ours, theirs = CASES[name]
    for type_ in TYPES.get(name, ("f32", "f16", "f64")):
        if type_ == "f64" and library == "jax":
            continue  # It has none unless it is asked to.
        if type_ == "bf16" and library != "jax":
            continue
        x = drawn(type_, 4, 72, 96)
        for one in (x, np.asfortranarray(x)) if library != "jax" else (x,):
            found = ours(there(library, one))
            same_kind(found, library)
            close = 1e-9 if type_ == "f64" else 2e-3 if type_ == "f32" else 8e-2
            if name == "topk of another axis" and type_ != "f32":
                continue  # Of equal numbers another may come first.
            np.testing.assert_allclose(wide(here(found)), theirs(x), rtol=close, atol=close)


def test_bf16_of_torch() -> None:
    torch: Any = pytest.importorskip("torch")
    a, b = (torch.randn(300, 200, device="cuda", generator=torch.Generator("cuda").manual_seed(s)).bfloat16()
            for s in (0, 1))  # fmt: skip
    torch.testing.assert_close(functions.matmul(a, b.T), a @ b.T, rtol=2e-2, atol=2e-1)
    torch.testing.assert_close(functions.matmul(a.T, b), a.T @ b, rtol=2e-2, atol=2e-1)
    wide_out = torch.empty(300, 300, device="cuda")
    torch.testing.assert_close(functions.matmul(a, b.T, out=wide_out), a.float() @ b.float().T, rtol=1e-2, atol=1e-2)
    assert wide_out[0, 0] != 0


@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_results_that_are_given(library: str) -> None:
    x = drawn("f32", 6, 40)
    one = there(library, x)
    out = there(library, np.zeros_like(x))
    assert functions.softmax(one, out=out) is out
    near(here(out), references.softmax(x, -1))
    assert functions.softmax(one, out=one) is one
    near(here(one), references.softmax(x, -1))
    turned = there(library, np.zeros((40, 6), np.float32)).T
    functions.gelu(there(library, x), out=turned)
    near(here(turned), references.gelu(x, "none"))
    part = there(library, x)[:, 1:]
    near(here(functions.softmax(part)), references.softmax(x[:, 1:], -1))


def test_long_vectors() -> None:
    torch: Any = pytest.importorskip("torch")
    x = torch.rand(200_001, device="cuda", dtype=torch.float64)
    torch.testing.assert_close(functions.scan(x), torch.cumsum(x, 0))


def test_arrays_in_two_places() -> None:
    x = drawn("f32", 6, 40)
    with pytest.raises(
        girih.LaunchError, match="a lies on cuda:0, as a tensor of torch, and b in the memory of the host"
    ):
        functions.matmul(there("torch", x), x.T)
    with pytest.raises(girih.LaunchError, match="must be writeable"):
        functions.softmax(there("jax", x), out=there("jax", x))
    near(functions.softmax(x, target="cuda"), references.softmax(x, -1))
