"""What functions of arrays compute, in NumPy and in the widest type; arrays of all kinds of layouts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import erf
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

TARGETS = ("cpu", "interpreter")
DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
TOLERANCE = {"f16": 4e-3, "bf16": 3e-2, "f32": 2e-5, "f64": 1e-12}


def drawn(type_: str, *shape: int, seed: int = 0) -> Any:
    """Numbers of a type from a normal distribution."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(DTYPES[type_])


def wide(array: Array) -> Any:
    return np.asarray(array).astype(np.float64)


def near(found: Any, wanted: Array, type_: str = "f32") -> None:
    """Both have one shape, and are equal up to what the type rounds off."""
    assert np.shape(found) == wanted.shape
    np.testing.assert_allclose(wide(found), wide(wanted), rtol=TOLERANCE[type_], atol=TOLERANCE[type_])


def laid_out(array: Array) -> Iterator[tuple[str, Array]]:
    """The same elements in layouts that kernels take as they are."""
    yield "C", np.ascontiguousarray(array)
    yield "F", np.asfortranarray(array)
    if array.ndim > 2:
        swapped = (1, 0, *range(2, array.ndim))
        yield "first axes swapped", np.ascontiguousarray(array.transpose(swapped)).transpose(swapped)
    padded = np.zeros([*array.shape[:-1], array.shape[-1] + 3], array.dtype)
    padded[..., : array.shape[-1]] = array
    yield "rows with gaps", padded[..., : array.shape[-1]]


def softmax(x: Array, axis: int) -> Any:
    e = np.exp(wide(x) - wide(x).max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def layernorm(x: Array, weight: Array, bias: Array, axis: int, eps: float) -> Any:
    centred = wide(x) - wide(x).mean(axis, keepdims=True)
    normal = centred / np.sqrt((centred**2).mean(axis, keepdims=True) + eps)
    return normal * along(weight, x, axis) + along(bias, x, axis)


def rms_norm(x: Array, weight: Array, axis: int, eps: float) -> Any:
    return wide(x) / np.sqrt((wide(x) ** 2).mean(axis, keepdims=True) + eps) * along(weight, x, axis)


def along(vector: Array, x: Array, axis: int) -> Any:
    """A vector with as many axes as x, along one of them."""
    return wide(vector).reshape([-1 if own == axis % x.ndim else 1 for own in range(x.ndim)])


def gelu(x: Array, approximate: str) -> Any:
    if approximate == "tanh":
        return 0.5 * wide(x) * (1 + np.tanh(np.sqrt(2 / np.pi) * (wide(x) + 0.044715 * wide(x) ** 3)))
    error: Callable[[Array], Array] = np.vectorize(erf, otypes=[np.float64])
    return 0.5 * wide(x) * (1 + error(wide(x) / np.sqrt(2)))


def attention(q: Array, k: Array, v: Array, *, causal: bool, scale: float) -> Any:
    sharing = q.shape[-3] // k.shape[-3]
    keys, values = (np.repeat(wide(one), sharing, axis=-3) for one in (k, v))
    scores = wide(q) @ keys.swapaxes(-1, -2) * scale
    if causal:
        seen = np.arange(keys.shape[-2]) <= np.arange(q.shape[-2])[:, None]
        scores = np.where(seen, scores, -np.inf)
    return softmax(scores, -1) @ values


def conv2d(x: Array, weight: Array, bias: Array | None, stride: int, padding: int, dilation: int) -> Any:
    padded = np.pad(wide(x), [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    rows, columns = weight.shape[2:]
    down = (padded.shape[2] - dilation * (rows - 1) - 1) // stride + 1
    across = (padded.shape[3] - dilation * (columns - 1) - 1) // stride + 1
    y = np.zeros((x.shape[0], weight.shape[0], down, across))
    for r in range(rows):
        for s in range(columns):
            part = padded[:, :, r * dilation :, s * dilation :][
                :, :, : down * stride : stride, : across * stride : stride
            ]
            y += np.einsum("nchw,kc->nkhw", part[:, :, :down, :across], wide(weight[:, :, r, s]))
    return y if bias is None else y + wide(bias)[:, None, None]


def cross_entropy(logits: Array, targets: Array, ignored: int) -> Any:
    x = wide(logits)
    highest = x.max(-1, keepdims=True)
    total = np.log(np.exp(x - highest).sum(-1))
    chosen = np.take_along_axis(x, np.where(targets == ignored, 0, targets)[..., None], -1)[..., 0]
    return np.where(targets == ignored, 0, total + (highest[..., 0] - chosen))
